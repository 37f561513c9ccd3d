"""What the API server checks in Events of ``events.k8s.io/v1``, and that only their series may change.

The server calls fields by the names of its own type: the note is ``message``, what it regards ``involvedObject``. It
checks the deprecated fields, too; here they are not, since no component of the virtual cluster writes them.
"""

from typing import Any, Final, cast

from growth.api.labels import is_label_key
from growth_lab.simulator.api.error_responses import Cause, required, wrong
from growth_lab.simulator.api.object_rules import NOT_A_KEY
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json

_LONGEST_NOTE: Final = 1024
_LONGEST_WORD: Final = 128
_TYPES: Final = ("Normal", "Warning")
_OF_CLUSTER_OBJECTS: Final = ("default", "kube-system")
_FEWEST_IN_A_SERIES: Final = 2
_IMMUTABLE: Final = (
    ("regarding", "involvedObject"),
    ("related", "related"),
    ("reason", "reason"),
    ("note", "message"),
    ("type", "type"),
    ("eventTime", "eventTime"),
    ("action", "action"),
    ("reportingController", "reportingController"),
    ("reportingInstance", "reportingInstance"),
)
_REFERENCE: Final = {
    "Kind": "kind",
    "Namespace": "namespace",
    "Name": "name",
    "UID": "uid",
    "APIVersion": "apiVersion",
    "ResourceVersion": "resourceVersion",
    "FieldPath": "fieldPath",
}


def errors_of_event(event: Json) -> list[Cause]:
    """What is wrong with an Event."""
    found: list[Cause] = []
    if not part(event, "regarding").get("namespace") and event["metadata"]["namespace"] not in _OF_CLUSTER_OBJECTS:
        found.append(wrong("involvedObject.namespace", "", "does not match event.namespace"))
    if not event.get("eventTime"):
        found.append(required("eventTime"))
    found += _errors_of_controller(event.get("reportingController", ""))
    for field in ("reportingInstance", "action", "reason"):
        if not event.get(field):
            found.append(required(field))
        found += _too_long(field, event.get(field, ""), _LONGEST_WORD)
    found += _too_long("message", event.get("note", ""), _LONGEST_NOTE)
    if event.get("type") not in _TYPES:
        found.append(wrong("type", "", f"has invalid value: {event.get('type', '')}"))
    if "series" in event:
        series = part(event, "series")
        if series.get("count", 0) < _FEWEST_IN_A_SERIES:
            found.append(wrong("series.count", "", f"should be at least {_FEWEST_IN_A_SERIES}"))
        if not series.get("lastObservedTime"):
            found.append(required("series.lastObservedTime"))
    return found


def errors_of_event_change(before: Json, after: Json) -> list[Cause]:
    """What may not be changed: all but the series and the metadata."""
    return [
        wrong(name, _as_the_server_has_it(after.get(field, "")), "field is immutable")
        for field, name in _IMMUTABLE
        if after.get(field) != before.get(field)
    ]


def _errors_of_controller(name: str) -> list[Cause]:
    field = "reportingController"
    found = [required(field), wrong(field, name, "name part must be non-empty")] if not name else []
    return found if is_label_key(name) else [*found, wrong(field, name, NOT_A_KEY)]


def _as_the_server_has_it(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """References are printed as Go prints its own type."""
    if not isinstance(value, dict):
        return value
    reference = cast("Json", value)
    return {shown: reference.get(field, "") for shown, field in _REFERENCE.items()}


def _too_long(field: str, text: str, longest: int) -> list[Cause]:
    is_too_long = len(text.encode()) > longest
    return [wrong(field, "", f"can have at most {longest} characters")] if is_too_long else []
