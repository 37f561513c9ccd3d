"""Which objects a list or a watch is about: labels, fields and a namespace."""

import re
from collections.abc import Callable, Mapping
from typing import Any, Final

from growth.api.selectors import LabelSelector, SelectorError, parse_selector
from growth_lab.simulator.api.error_responses import bad_request
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import EVENTS, JOBS, NAMESPACES, NODES, PODS, REPLICA_SETS, SECRETS, Resource

Matches = Callable[[Json], bool]

# What can be selected by besides metadata.name and metadata.namespace, per kind.
_FIELDS: Final[Mapping[Resource, tuple[str, ...]]] = {
    PODS: (
        "spec.nodeName",
        "spec.restartPolicy",
        "spec.schedulerName",
        "spec.serviceAccountName",
        "spec.hostNetwork",
        "status.phase",
        "status.podIP",
        "status.nominatedNodeName",
    ),
    NODES: ("spec.unschedulable",),
    NAMESPACES: ("status.phase",),
    SECRETS: ("type",),
    JOBS: ("status.successful",),
    REPLICA_SETS: ("status.replicas",),
    EVENTS: ("regarding.kind", "regarding.namespace", "regarding.name", "regarding.uid", "reason", "type"),
}
_TERM: Final = re.compile(r"([^=!]+)(==|=|!=)(.*)")


class Selection:
    """Answers for one object whether it is meant."""

    def __init__(self, resource: Resource, namespace: str, query: Mapping[str, str]) -> None:
        self._namespace = namespace
        self._labels = _labels(query.get("labelSelector", ""))
        self._fields = _fields(resource, query.get("fieldSelector", ""))
        self.is_everything = not namespace and self._labels is None and not self._fields

    def matches(self, thing: Json) -> bool:
        """Whether the object, in this state, belongs to it."""
        meta = thing["metadata"]
        if self._namespace and meta.get("namespace") != self._namespace:
            return False
        if self._labels is not None and not self._labels.matches(meta.get("labels") or {}):
            return False
        return all((_field(thing, path) == value) is is_equal for path, value, is_equal in self._fields)


def _labels(text: str) -> LabelSelector | None:
    if not text:
        return None
    try:
        return parse_selector(text)
    except SelectorError as error:
        raise bad_request(f"unable to parse requirement: {error}") from None


def _fields(resource: Resource, text: str) -> list[tuple[tuple[str, ...], str, bool]]:
    known = ("metadata.name", *(("metadata.namespace",) if resource.is_namespaced else ()))
    found: list[tuple[tuple[str, ...], str, bool]] = []
    for term in text.split(",") if text else ():
        parts = _TERM.fullmatch(term)
        if parts is None:
            raise bad_request(f"invalid selector: '{text}'; can't understand '{term}'")
        if parts[1] not in known and parts[1] not in _FIELDS.get(resource, ()):
            words = ", ".join(f'"{name}"' for name in known)
            raise bad_request(f'"{parts[1]}" is not a known field selector: only {words}')
        found.append((tuple(parts[1].split(".")), parts[3], parts[2] != "!="))
    return found


def _field(thing: Json, path: tuple[str, ...]) -> str:
    value: Any = thing
    for name in path:
        value = value.get(name) if isinstance(value, dict) else None  # pyright: ignore[reportUnknownVariableType, reportUnknownMemberType]
    if value is None:
        return "false" if path[-1] in ("unschedulable", "hostNetwork") else ""
    return str(value).lower() if isinstance(value, bool) else str(value)  # pyright: ignore[reportUnknownArgumentType]
