"""From a typed class to the structural OpenAPI schema that the API server enforces for it.

The class is the only place where a field is described: its type, its bounds, its default and the sentences that say
what is wrong. Bounds are not decoration. The API server estimates the cost of every CEL rule from them and refuses a
definition whose lists and texts have no end.

Rules that fields of several classes share, with the one sentence that people know them by.
"""

from collections.abc import Mapping
from typing import Any, ClassVar, Final, Protocol, cast

import msgspec
from msgspec import inspect

from growth.api.meta import ObjectMeta

Schema = dict[str, Any]

# In a status only these get a default: a phase always has a beginning, but a count that nobody has taken is unknown
# and must not be shown as zero.
_STATUS_DEFAULTS: Final = (inspect.LiteralType,)


class Rule(msgspec.Struct, frozen=True):
    """A CEL rule and the sentence that a person reads when it does not hold."""

    rule: str
    message: str


class Ruled(Protocol):
    """A struct with rules about itself as a whole."""

    rules: ClassVar[tuple[Rule, ...]]


def about(
    description: str,
    *rules: Rule,
    ge: int | None = None,
    le: int | None = None,
    max_length: int | None = None,
    server_only: Mapping[str, object] | None = None,
) -> msgspec.Meta:
    """What one field means, its rules and its bounds; ``server_only`` bounds are not checked again when we decode."""
    extra: Schema = dict(server_only or {})
    if rules:
        extra["x-kubernetes-validations"] = _validations(rules)
    bounds: dict[str, Any] = {"ge": ge, "le": le, "max_length": max_length}
    return msgspec.Meta(description=description, extra_json_schema=extra, **bounds)


def schema_of(kind: type[msgspec.Struct]) -> Schema:
    """The schema of a whole object: metadata is the API server's business, the status gets no invented values."""
    shape = cast("inspect.StructType", inspect.type_info(kind))
    schema = _struct(shape, in_status=False)
    for field in shape.fields:
        if field.encode_name == "status":
            status = _schema(field.type, in_status=True)
            if _has_default(status):
                status["default"] = {}
            schema["properties"]["status"] = status
    return {"description": schema.pop("description"), **schema}


def _schema(shape: inspect.Type, *, in_status: bool) -> Schema:
    match shape:
        case inspect.Metadata():
            extra: Schema = cast("Any", shape).extra_json_schema or {}
            return _schema(shape.type, in_status=in_status) | extra
        case inspect.StructType():
            return {"type": "object"} if shape.cls is ObjectMeta else _struct(shape, in_status=in_status)
        case inspect.UnionType():
            return _union(shape, in_status=in_status)
        case inspect.VarTupleType():
            bounds = _bounds(minItems=shape.min_length, maxItems=shape.max_length)
            return {"type": "array", "items": _schema(shape.item_type, in_status=in_status), **bounds}
        case inspect.DictType():
            bounds = _bounds(minProperties=shape.min_length, maxProperties=shape.max_length)
            values = _schema(shape.value_type, in_status=in_status)
            return {"type": "object", "additionalProperties": values, **bounds}
        case inspect.StrType():
            return {"type": "string", **_bounds(minLength=shape.min_length, maxLength=shape.max_length)}
        case inspect.IntType():
            return {"type": "integer", "format": "int64", **_bounds(minimum=shape.ge, maximum=shape.le)}
        case inspect.RawType():
            return {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
        case inspect.BoolType():
            return {"type": "boolean"}
        case inspect.LiteralType():
            return {"type": "string", "enum": list(shape.values)}
        case inspect.DateTimeType():
            return {"type": "string", "format": "date-time"}
        case _:
            raise TypeError(f"{shape} has no place in a custom resource: expected a type that api/schema.py translates")


def _struct(shape: inspect.StructType, *, in_status: bool) -> Schema:
    properties: Schema = {}
    for field in shape.fields:
        schema = _schema(field.type, in_status=in_status)
        default = _default(field, schema)
        bare = field.type.type if isinstance(field.type, inspect.Metadata) else field.type
        if default is not None and (not in_status or isinstance(bare, _STATUS_DEFAULTS)):
            schema["default"] = default
        properties[field.encode_name] = schema
    required = [field.encode_name for field in shape.fields if field.required and field.encode_name != "metadata"]
    schema: Schema = {"type": "object", "description": _first_paragraph(shape.cls), "properties": properties}
    if required:
        schema["required"] = required
    rules = cast("Ruled", shape.cls).rules if hasattr(shape.cls, "rules") else ()
    if rules:
        schema["x-kubernetes-validations"] = _validations(rules)
    return schema


def _union(shape: inspect.UnionType, *, in_status: bool) -> Schema:
    members = [member for member in shape.types if not isinstance(member, inspect.NoneType)]
    if len(members) == 1:
        return _schema(members[0], in_status=in_status)
    if {type(member) for member in members} == {inspect.IntType, inspect.StrType}:
        return {"x-kubernetes-int-or-string": True}
    raise TypeError(f"{shape} has no place in a custom resource: of unions only int | str and X | None do")


def _default(field: inspect.Field, schema: Schema) -> object:
    """What the API server fills in; None, and whatever is empty anyway, stays out of people's manifests."""
    if field.default_factory is not msgspec.NODEFAULT or field.default is msgspec.NODEFAULT:
        return None
    if isinstance(field.default, msgspec.Struct):
        return {} if _has_default(schema) else None
    return None if field.default in ("", (), None) else msgspec.to_builtins(field.default)


def _has_default(schema: Schema) -> bool:
    return any("default" in property_ for property_ in schema.get("properties", {}).values())


def _bounds(**bounds: float | None) -> Mapping[str, float]:
    return {name: bound for name, bound in bounds.items() if bound is not None}


def _validations(rules: tuple[Rule, ...]) -> list[Schema]:
    return [{"rule": rule.rule, "message": rule.message} for rule in rules]


def _first_paragraph(cls: type) -> str:
    return " ".join((cls.__doc__ or "").split("\n\n")[0].split())


DURATION: Final = Rule(
    "self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$')", "must be a duration such as 90s, 10m or 1h30m"
)
NUMBER_OR_SHARE: Final = Rule(
    "string(self).matches('^([0-9]+|[0-9]{1,2}%|100%)$')", "must be a number such as 2 or a share such as 10%"
)
