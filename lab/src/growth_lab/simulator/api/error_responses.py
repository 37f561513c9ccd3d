"""What the API server says when it says no: the codes, reasons and sentences of Kubernetes 1.36."""

from collections.abc import Sequence
from typing import Any, Final

import msgspec

from growth.kube.transport import Response
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import Resource


class Cause(msgspec.Struct, frozen=True):
    """One thing that is wrong with one field."""

    reason: str
    message: str
    field: str

    def __str__(self) -> str:
        return f"{self.field}: {self.message}"


class Refusal(Exception):
    """An answer that is no success. ``retry_after`` becomes the header of that name."""

    def __init__(
        self, code: int, reason: str, message: str, details: Json | None = None, *, retry_after: int | None = None
    ) -> None:
        super().__init__(message)
        self.code = code
        self.reason = reason
        self.message = message
        self.details = details
        self.retry_after = retry_after

    @property
    def status(self) -> Json:
        """The body."""
        failure: Json = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Failure"}
        failure["message"] = self.message
        if self.reason:
            failure["reason"] = self.reason
        if self.details is not None:
            failure["details"] = self.details
        return {**failure, "code": self.code}


NO_SUCH_PATH: Final = "the server could not find the requested resource"


def success(resource: Resource, name: str, uid: str) -> Json:
    """What a deletion answers that left nothing to show."""
    details = {"name": name, **_group(resource), "kind": resource.plural, "uid": uid}
    return {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "details": details}


def no_such_path() -> Refusal:
    """Nothing is served there."""
    return Refusal(404, "NotFound", NO_SUCH_PATH, {})


def no_such_method() -> Refusal:
    """Something is served there, but not this way."""
    message = "the server does not allow this method on the requested resource"
    return Refusal(405, "MethodNotAllowed", message, {})


def not_found(resource: Resource, name: str) -> Refusal:
    """No such object."""
    return Refusal(404, "NotFound", f'{resource} "{name}" not found', _about(resource, name))


def already_exists(resource: Resource, name: str) -> Refusal:
    """The name is taken."""
    return Refusal(409, "AlreadyExists", f'{resource} "{name}" already exists', _about(resource, name))


def modified(resource: Resource, name: str) -> Refusal:
    """The version that was meant is not the one that is there."""
    why = "the object has been modified; please apply your changes to the latest version and try again"
    return conflict(resource, name, why)


def conflict(resource: Resource, name: str, why: str) -> Refusal:
    """A precondition failed."""
    return Refusal(
        409, "Conflict", f'Operation cannot be fulfilled on {resource} "{name}": {why}', _about(resource, name)
    )


def precondition_failed(resource: Resource, name: str, why: str) -> Refusal:
    """A deletion was meant for something else; here the kind is named instead of the resource."""
    message = f'Operation cannot be fulfilled on {resource.kind} "{name}": {why}'
    return Refusal(409, "Conflict", message, {"name": name, "kind": resource.kind})


def bad_request(message: str) -> Refusal:
    """The request makes no sense."""
    return Refusal(400, "BadRequest", message)


def forbidden(resource: Resource, name: str, why: str, causes: Sequence[Cause] = ()) -> Refusal:
    """Admission says no."""
    about = _about(resource, name)
    if causes:
        about["causes"] = _causes(causes)
    return Refusal(403, "Forbidden", f'{resource} "{name}" is forbidden: {why}', about)


def invalid(group: str, kind: str, name: str, causes: Sequence[Cause]) -> Refusal:
    """The object, or the options of a request, break rules."""
    shown = list(dict.fromkeys(map(str, causes)))
    text = shown[0] if len(shown) == 1 else f"[{', '.join(shown)}]"
    full = f"{kind}.{group}" if group else kind
    details: Json = {"name": name, "group": group, "kind": kind, "causes": _causes(causes)}
    details = {key: value for key, value in details.items() if value}
    return Refusal(422, "Invalid", f'{full} "{name}" is invalid: {text}', details)


def expired(message: str) -> Refusal:
    """History does not reach back so far."""
    return Refusal(410, "Expired", message)


def too_large_version(wanted: int, current: int) -> Refusal:
    """The version is one that this server does not know yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    message = f"Timeout: Too large resource version: {wanted}, current: {current}"
    return Refusal(504, "Timeout", message, {"causes": [cause], "retryAfterSeconds": 1}, retry_after=1)


def internal(message: str) -> Refusal:
    """What the real server answers to what nobody foresaw; it gives no reason then."""
    return Refusal(500, "", message)


def _about(resource: Resource, name: str) -> Json:
    return {"name": name, **_group(resource), "kind": resource.plural}


def _group(resource: Resource) -> Json:
    return {"group": resource.group} if resource.group else {}


def _causes(causes: Sequence[Cause]) -> list[dict[str, Any]]:
    return [{"reason": cause.reason, "message": cause.message, "field": cause.field} for cause in causes]


def wrong(field: str, value: object, why: str) -> Cause:
    """A value that breaks a rule."""
    return Cause("FieldValueInvalid", f"Invalid value: {shown(value)}: {why}", field)


def not_allowed(field: str, why: str) -> Cause:
    """A field that must not be set, or not be changed."""
    return Cause("FieldValueForbidden", f"Forbidden: {why}", field)


def required(field: str, why: str = "") -> Cause:
    """A field that is missing."""
    return Cause("FieldValueRequired", f"Required value: {why}" if why else "Required value", field)


def unsupported(field: str, value: object, supported: Sequence[str]) -> Cause:
    """A word that is not one of those that are known."""
    words = ", ".join(f'"{word}"' for word in supported)
    return Cause("FieldValueNotSupported", f"Unsupported value: {shown(value)}: supported values: {words}", field)


def shown(value: object) -> str:
    """A value as it stands in a message."""
    return "null" if value is None else msgspec.json.encode(value).decode()


def refused(refusal: Refusal) -> Response:
    """A refusal on the wire."""
    headers = {"content-type": "application/json"}
    if refusal.retry_after is not None:
        headers["retry-after"] = str(refusal.retry_after)
    is_text = not refusal.reason and refusal.code == 404
    return Response(refusal.code, refusal.message.encode() if is_text else msgspec.json.encode(refusal.status), headers)
