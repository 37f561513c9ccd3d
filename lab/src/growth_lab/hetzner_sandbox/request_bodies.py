"""Reading the bodies of requests: into typed structs, or into the refusal that names the field."""

import re
from typing import Any, Final, TypeVar

import msgspec

from growth.api.labels import is_label_key, is_label_value
from growth_lab.hetzner_sandbox.api_errors import Refusal, invalid_field
from growth_lab.hetzner_sandbox.messages import Request

T = TypeVar("T")

# How msgspec says where it was.
_PLACE: Final = re.compile(r"(?P<problem>.*?)(?: - at `\$\.?(?P<path>[^`]*)`)?")
_MISSING: Final = re.compile(r"Object missing required field `(?P<name>[^`]+)`")
_RESERVED_PREFIX: Final = "hetzner.cloud/"


class Body(msgspec.Struct, frozen=True):
    """What a call may carry; fields that we do not know are skipped, as the API does."""


def read_body(request: Request, body_type: type[T]) -> T:
    """The body, or ``json_error``, or ``invalid_input`` with the field."""
    if not request.body:
        return _converted({}, body_type)
    try:
        content: Any = msgspec.json.decode(request.body)
    except msgspec.DecodeError as error:
        raise Refusal("json_error", f"the body is no JSON: {error}") from error
    return _converted(content, body_type)


def _converted(content: object, body_type: type[T]) -> T:
    try:
        return msgspec.convert(content, body_type)
    except msgspec.ValidationError as error:
        found = _PLACE.fullmatch(str(error))
        problem, path = (found["problem"], found["path"] or "") if found else (str(error), "")
        if missing := _MISSING.fullmatch(problem):
            path, problem = f"{path}.{missing['name']}".lstrip("."), "is required"
        raise invalid_field(path or "body", problem) from error


def check_labels(labels: dict[str, str]) -> None:
    """Keys and values have the shape of Kubernetes' own, and one prefix is Hetzner's."""
    for key, value in labels.items():
        if not is_label_key(key) or key.startswith(_RESERVED_PREFIX) or not is_label_value(value):
            raise invalid_field("labels", f"{key!r}: {value!r} is not a label that can be set")
