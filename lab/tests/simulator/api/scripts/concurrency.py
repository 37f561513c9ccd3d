"""Preconditions, finalizers, and what a deletion leaves."""

from lab.tests.simulator.api.scripts.player import Script, delete, get, merge, post, put
from lab.tests.simulator.api.scripts.reading import MAPS, a_map
from lab.tests.simulator.api.scripts.writing import applied

HELD = {**a_map("one"), "metadata": {"name": "one", "finalizers": ["example.org/hold"]}}
OTHER_UID = "00000000-0000-4000-a000-000000000000"


def options(**fields: object) -> dict[str, object]:
    return {"apiVersion": "v1", "kind": "DeleteOptions", **fields}


SCRIPTS: dict[str, Script] = {
    "a replacement of an old version": (
        post(MAPS, a_map("one", x="1")),
        merge(f"{MAPS}/one", {"data": {"x": "2"}}),
        put(
            f"{MAPS}/one",
            {**applied(x="3"), "metadata": {"name": "one", "resourceVersion": "{0:metadata.resourceVersion}"}},
        ),
        put(
            f"{MAPS}/one",
            {**applied(x="3"), "metadata": {"name": "one", "resourceVersion": "{1:metadata.resourceVersion}"}},
        ),
    ),
    "a merge patch of an old version": (
        post(MAPS, a_map("one", x="1")),
        merge(f"{MAPS}/one", {"data": {"x": "2"}}),
        merge(f"{MAPS}/one", {"metadata": {"resourceVersion": "{0:metadata.resourceVersion}"}, "data": {"x": "3"}}),
        merge(f"{MAPS}/one", {"metadata": {"resourceVersion": "{1:metadata.resourceVersion}"}, "data": {"x": "3"}}),
        merge(f"{MAPS}/one", {"metadata": {"resourceVersion": "{1:metadata.resourceVersion}"}, "data": {"x": "3"}}),
    ),
    "a merge patch of another object of the name": (
        post(MAPS, a_map("one", x="1")),
        merge(f"{MAPS}/one", {"metadata": {"uid": OTHER_UID}, "data": {"x": "3"}}),
        merge(f"{MAPS}/one", {"metadata": {"uid": "{0:metadata.uid}"}, "data": {"x": "3"}}),
    ),
    "a replacement of another object of the name": (
        post(MAPS, a_map("one", x="1")),
        put(f"{MAPS}/one", {**applied(x="3"), "metadata": {"name": "one", "uid": OTHER_UID}}),
    ),
    "a deletion of another object of the name": (
        post(MAPS, a_map("one")),
        delete(f"{MAPS}/one", options(preconditions={"uid": OTHER_UID})),
        delete(f"{MAPS}/one", options(preconditions={"resourceVersion": "1"}), hides=("message",)),
        delete(f"{MAPS}/one", options(preconditions={"uid": "{0:metadata.uid}"})),
        get(f"{MAPS}/one"),
        delete(f"{MAPS}/one"),
    ),
    "an object that is held goes with its last finalizer": (
        post(MAPS, HELD),
        delete(f"{MAPS}/one"),
        delete(f"{MAPS}/one"),
        merge(f"{MAPS}/one", {"metadata": {"finalizers": ["example.org/hold", "example.org/more"]}}),
        merge(f"{MAPS}/one", {"data": {"late": "yes"}}),
        merge(f"{MAPS}/one", {"metadata": {"finalizers": None}}),
        get(f"{MAPS}/one"),
    ),
    "a finalizer that is none": (
        post(MAPS, {**a_map("one"), "metadata": {"name": "one", "finalizers": ["hold"]}}),
        post(MAPS, {**a_map("one"), "metadata": {"name": "one", "finalizers": ["a b/c"]}}, hides=("message",)),
    ),
    "a deletion that leaves the dependents alone": (
        post(MAPS, a_map("one")),
        delete(f"{MAPS}/one", options(propagationPolicy="Orphan")),
        get(f"{MAPS}/one"),
    ),
    "a deletion that takes the dependents first": (
        post(MAPS, a_map("one")),
        delete(f"{MAPS}/one", options(propagationPolicy="Foreground")),
        get(f"{MAPS}/one"),
    ),
    "a deletion in a way that nobody knows": (
        post(MAPS, a_map("one")),
        delete(f"{MAPS}/one", options(propagationPolicy="Wonder")),
    ),
    "what the server sets cannot be set": (
        post(
            MAPS,
            {
                **a_map("one"),
                "metadata": {"name": "one", "uid": OTHER_UID, "deletionTimestamp": "2026-03-02T09:00:00Z"},
            },
        ),
        merge(f"{MAPS}/one", {"metadata": {"creationTimestamp": "2020-03-02T09:00:00Z"}}),
        merge(f"{MAPS}/one", {"metadata": {"deletionTimestamp": "2020-03-02T09:00:00Z"}}),
    ),
}
