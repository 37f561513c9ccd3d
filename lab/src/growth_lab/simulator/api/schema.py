"""Objects of our own kinds against their definitions: unknown fields go, defaults come, the rest is checked.

All in the order and the words of the API server (Kubernetes 1.36), for the parts of a schema that ``growth.api.schema``
writes.
"""

import re
from collections.abc import Iterator
from typing import Any, Final, cast

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.queue.kinds import QUEUE_KINDS
from growth_lab.simulator.api.cel_rules import CHECKS, is_about_a_change
from growth_lab.simulator.api.error_responses import Cause, required, shown, unsupported, wrong
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import OURS, Resource

_BY_KIND: Final[dict[str, Json]] = {
    definition["spec"]["names"]["kind"]: definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    for definition in definitions((*OWN_KINDS, *QUEUE_KINDS))
}
SCHEMAS: Final[dict[Resource, Json]] = {resource: _BY_KIND[resource.kind] for resource in OURS}

# After one of these the rules are not asked, because they could not even be read with such an object.
_BLOCKING: Final = (
    "FieldValueTypeInvalid",
    "FieldValueRequired",
    "FieldValueNotSupported",
    "FieldValueTooLong",
    "FieldValueTooMany",
)
_NOT_ASKED: Final = Cause(
    "FieldValueInvalid",
    "Invalid value: null: some validation rules were not checked because the object was invalid; "
    "correct the existing errors to complete validation",
    "<nil>",
)
_DATE_TIME: Final = re.compile(r"\d{4}-\d\d-\d\d[Tt]\d\d:\d\d:\d\d(\.\d+)?([Zz]|[+-]\d\d:\d\d)")


def fitted(schema: Json, value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The value without what the schema does not know, and with what it fills in."""
    if isinstance(value, list):
        items = schema.get("items", {})
        return [fitted(items, item) for item in cast("list[Any]", value)]
    if not isinstance(value, dict):
        return value
    known: Json = cast("Json", value)
    if "additionalProperties" in schema:
        return {key: fitted(schema["additionalProperties"], item) for key, item in known.items()}
    properties: Json | None = schema.get("properties")
    if properties is None:
        return known
    full: Json = {}
    for name, inner in properties.items():
        item = known.get(name)
        if item is None and "default" in inner:
            item = inner["default"]
        if item is not None:
            full[name] = fitted(inner, item)
    return full


def errors_in(schema: Json, value: Json, before: Json | None, *, is_status: bool) -> list[Cause]:
    """Everything that the object is refused for; ``before`` is the state that it would replace."""
    found = list(_errors(schema, value, "", "status." if is_status else ""))
    if any(cause.reason in _BLOCKING for cause in found):
        return [*found, _NOT_ASKED]
    return [*found, *_broken_rules(schema, value, before, "")]


def _errors(schema: Json, value: Any, path: str, hidden: str) -> Iterator[Cause]:  # noqa: ANN401 - any JSON
    """``hidden`` is the beginning of a path that messages leave out."""
    name = path.removeprefix(hidden)
    expected = ("integer", "string") if schema.get("x-kubernetes-int-or-string") else (schema.get("type", ""),)
    actual = _type_of(value)
    if actual not in expected and not (expected == ("number",) and actual == "integer") and expected != ("",):
        words = ",".join(expected)
        message = f'Invalid value: "{actual}": {name} in body must be of type {words}: "{actual}"'
        yield Cause("FieldValueTypeInvalid", message, path)
    elif isinstance(value, str):
        yield from _text_errors(schema, value, path, name)
    elif isinstance(value, list):
        items = cast("list[Any]", value)
        yield from _size_errors(schema.get("maxItems"), len(items), path)
        for index, item in enumerate(items):
            yield from _errors(schema.get("items", {}), item, f"{path}[{index}]", hidden)
    elif isinstance(value, dict):
        yield from _mapping_errors(schema, cast("Json", value), path, hidden)
    elif not isinstance(value, bool):
        if (least := schema.get("minimum")) is not None and value < least:
            yield wrong(path, value, f"{name} in body should be greater than or equal to {least}")
        if (most := schema.get("maximum")) is not None and value > most:
            yield wrong(path, value, f"{name} in body should be less than or equal to {most}")


def _text_errors(schema: Json, text: str, path: str, name: str) -> Iterator[Cause]:
    if (most := schema.get("maxLength")) is not None and len(text) > most:
        yield Cause("FieldValueTooLong", f"Too long: may not be more than {most} bytes", path)
    if (least := schema.get("minLength")) is not None and len(text) < least:
        yield wrong(path, text, f"{name} in body should be at least {least} chars long")
    if (words := schema.get("enum")) is not None and text not in words:
        yield unsupported(path, text, sorted(words))
    if schema.get("format") == "date-time" and not _DATE_TIME.fullmatch(text):
        message = f"Invalid value: {shown(text)}: {name} in body must be of type date-time: {shown(text)}"
        yield Cause("FieldValueTypeInvalid", message, path)


def _mapping_errors(schema: Json, value: Json, path: str, hidden: str) -> Iterator[Cause]:
    if "additionalProperties" in schema:
        yield from _size_errors(schema.get("maxProperties"), len(value), path)
        for key, item in value.items():
            yield from _errors(schema["additionalProperties"], item, f"{path}.{key}", hidden)
        return
    for name in schema.get("required", ()):
        if name not in value:
            yield required(_below(path, name))
    for name, inner in schema.get("properties", {}).items():
        if name in value:
            yield from _errors(inner, value[name], _below(path, name), hidden)


def _size_errors(most: int | None, count: int, path: str) -> Iterator[Cause]:
    if most is not None and count > most:
        yield Cause("FieldValueTooMany", f"Too many: {count}: must have at most {most} items", path)


def _broken_rules(schema: Json, value: Any, before: Any, path: str) -> Iterator[Cause]:  # noqa: ANN401 - any JSON
    for rule in schema.get("x-kubernetes-validations", ()):
        if is_about_a_change(rule["rule"]) and before is None:
            continue
        if not CHECKS[rule["rule"]](value, before):
            is_plain = not isinstance(value, (dict, list))
            what = f"{shown(value)}: " if is_plain else ""
            yield Cause("FieldValueInvalid", f"Invalid value: {what}{rule['message']}", path or "<nil>")
    if isinstance(value, list):
        for index, item in enumerate(cast("list[Any]", value)):
            yield from _broken_rules(schema.get("items", {}), item, None, f"{path}[{index}]")
    elif isinstance(value, dict):
        old: Json = cast("Json", before) if isinstance(before, dict) else {}
        for name, inner in _inner_schemas(schema, cast("Json", value)):
            yield from _broken_rules(inner, value[name], old.get(name), _below(path, name))


def _inner_schemas(schema: Json, value: Json) -> Iterator[tuple[str, Json]]:
    if "additionalProperties" in schema:
        yield from ((name, schema["additionalProperties"]) for name in value)
    else:
        yield from ((name, inner) for name, inner in schema.get("properties", {}).items() if name in value)


def _below(path: str, name: str) -> str:
    return f"{path}.{name}" if path else name


def _type_of(value: object) -> str:
    match value:
        case bool():
            return "boolean"
        case int():
            return "integer"
        case float():
            return "integer" if value.is_integer() else "number"
        case str():
            return "string"
        case list():
            return "array"
        case dict():
            return "object"
        case _:
            return "null"
