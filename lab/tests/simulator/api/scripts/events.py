"""Events: what the server demands of new ones, and that only their series may change."""

from typing import Any

from lab.tests.simulator.api.scripts.kinds import HAPPENING
from lab.tests.simulator.api.scripts.player import Script, json_patch, merge, post

EVENTS = "/apis/events.k8s.io/v1/namespaces/{ns}/events"
ONE = f"{EVENTS}/one"
SEEN = "2026-03-02T09:00:01.000001Z"


def event(name: str = "one", **fields: object) -> dict[str, Any]:
    return {"metadata": {"name": name}, **HAPPENING, "note": "on one", **fields}


SCRIPTS: dict[str, Script] = {
    "an event keeps its note and all else but its series": (
        post(EVENTS, event()),
        merge(ONE, {"note": "on two"}),
        merge(ONE, {"note": "on two", "reason": "Other"}),
        merge(ONE, {"type": "Warning"}),
        merge(ONE, {"action": "Other"}),
        merge(ONE, {"reportingController": "example.org/b"}),
        merge(ONE, {"reportingInstance": "a-1"}),
        merge(ONE, {"eventTime": SEEN}),
        merge(ONE, {"regarding": {"uid": "x"}}),
        merge(ONE, {"related": {"kind": "Node", "name": "x"}}),
        json_patch(ONE, {"op": "replace", "path": "/note", "value": "on two"}),
    ),
    "an event's series": (
        post(EVENTS, event()),
        merge(ONE, {"series": {"count": 1, "lastObservedTime": SEEN}}),
        merge(ONE, {"series": {"count": 5}}),
        merge(ONE, {"series": {"count": 5, "lastObservedTime": SEEN}}),
        merge(ONE, {"series": {"count": 4, "lastObservedTime": SEEN}}),
        merge(ONE, {}),
        merge(ONE, {"series": {"count": 6}, "note": "on two"}),
    ),
    "events that lack something or say too much": (
        *(post(EVENTS, event(**{field: ""})) for field in ("reason", "action", "type", "reportingInstance")),
        post(EVENTS, event(reportingController="")),
        post(EVENTS, event(reportingController="a b")),
        post(EVENTS, event(eventTime=None)),
        post(EVENTS, event(note="ä" * 513)),
        post(EVENTS, event(note="ä" * 512)),
        *(post(EVENTS, event("two", **{field: "x" * 129})) for field in ("reason", "action", "reportingInstance")),
        post(EVENTS, event("two", type="Odd")),
        post(EVENTS, event("two", series={"count": 1, "lastObservedTime": SEEN})),
        post(EVENTS, event("two", regarding={"kind": "Node", "name": "x"})),
        post(EVENTS, event("two", regarding={"kind": "Pod", "name": "x", "namespace": "other"})),
        post("/apis/events.k8s.io/v1/namespaces/default/events", event("{id}", regarding={"kind": "Node"})),
        post("/apis/events.k8s.io/v1/namespaces/kube-system/events", event("{id}", regarding={"kind": "Node"})),
    ),
}
