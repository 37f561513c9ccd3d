"""Which nodes may go, and what is said of those that stay."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.machine import Power
from growth.api.node import Node
from growth.api.out_of_service import MAINTENANCE, SHUTDOWN
from growth.api.taints import LEAVES, SCALE_DOWN_AT, closed
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.consolidation.problem import Candidate
from tests.decide.consolidation.seen import (
    HOUR,
    MINUTE,
    NOW,
    OWNER,
    SOLD,
    a_cloud,
    a_pod,
    chosen,
)
from tests.decide.marketplace import a_machine, a_node, a_pool, a_removal, a_request


def annotated(annotation: str, text: str = "") -> Node:
    node = a_node("a")
    metadata = msgspec.structs.replace(node.metadata, annotations={annotation: text})
    return msgspec.structs.replace(node, metadata=metadata)


def a_cordoned_node() -> Node:
    node = a_node("a")
    return msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=True))


def test_a_node_with_pods_that_may_move_may_go() -> None:
    found = chosen(a_node("a"), a_pod("web", node="a"), a_node("b"))
    launched = PoolUsage.of("default", SOLD[0])
    assert found.candidates == (Candidate("a", launched), Candidate("b", launched))
    assert (dict(found.staying), found.others) == ({}, ())


STAYS: dict[str, tuple[tuple[object, ...], str]] = {
    "no pool": ((a_node("a", pool=""),), "it belongs to no pool"),
    "a pool that is gone": ((a_node("a", pool="old"),), "its pool old does not exist"),
    "a pool that goes": (
        (a_pool(deleted_at=NOW), a_node("a")),
        "its pool default is being deleted",
    ),
    "out of service": ((a_node("a", taints=[SHUTDOWN]),), "it is out of service"),
    "on its way out": ((a_node("a"), a_removal("a")), "it is being removed already"),
    "marked": ((a_node("a", taints=[LEAVES]),), "it is marked to go already"),
    "half marked": ((annotated(SCALE_DOWN_AT, "soon"),), "it is marked to go already"),
    "unready": ((a_node("a", ready=False),), "it is not ready"),
    "not open yet": ((a_node("a", taints=[closed("a")]),), "it is being prepared"),
    "of somebody else": ((a_cloud("b"), a_node("a")), "its provider does not list its machine"),
    "nobody knows": ((a_cloud("a", problem="503"), a_node("a")), "its provider does not list its machine"),
    "a pool that gives nothing back": (
        (a_pool(scaleDown={"enabled": False}), a_node("a")),
        "scaleDown.enabled is false in pool default",
    ),
    "a wish": (
        (annotated("growth.dev/do-not-disrupt", "true"),),
        "it bears growth.dev/do-not-disrupt",
    ),
    "somebody works on it": (
        (annotated(MAINTENANCE),),
        "it bears growth.dev/maintenance",
    ),
    "cordoned": ((a_cordoned_node(),), "it is cordoned, so somebody has plans for it"),
    "expected": (
        (a_node("a"), a_pod("waits", node="", status={"phase": "Pending", "nominatedNodeName": "a"})),
        "pods that wait are expected on it",
    ),
    "on its way": ((a_node("a"), a_request("a", "Provisioning")), "it is being prepared"),
    "not sold any more": (
        (a_node("a", offering="kwok-tiny-fsn1"),),
        "nobody says what it costs: its offering is not sold any more",
    ),
    "a pod stays": (
        (a_node("a"), a_pod("web", node="a"), a_pod("alone", node="a", owner=None)),
        "pod default/alone on it must stay: it has no controller that would make it anew",
    ),
    "pods stay": (
        (a_node("a"), a_pod("two", node="a", owner=None), a_pod("one", node="a", owner=None)),
        "pod default/one on it must stay (and 1 more): it has no controller that would make it anew",
    ),
    "min": (
        (a_pool(types=[{"name": "SMALL", "min": 1}]), a_node("a")),
        "pool default keeps 1 of SMALL ready",
    ),
}


@pytest.mark.parametrize(("things", "why"), STAYS.values(), ids=STAYS.keys())
def test_stays(things: tuple[Any, ...], why: str) -> None:
    found = chosen(*things)
    assert (found.candidates, dict(found.staying)) == ((), {"a": why})


def test_who_is_too_young_stays() -> None:
    assert chosen(a_node("a", born=NOW - HOUR), min_age=HOUR).candidates
    young = chosen(a_node("a", born=NOW - 59 * MINUTE), min_age=HOUR)
    assert dict(young.staying) == {"a": "it is younger than 1h"}


def test_machines_that_stay_are_counted_whatever_they_are() -> None:
    """What is coming, what leaves, and what only its provider knows of uses up limits, too."""
    found = chosen(
        a_cloud("a", "b", "lost"), a_node("a"), a_node("b"), a_removal("b"), a_request("coming", "Provisioning")
    )
    assert [one.name for one in found.candidates] == ["a"]
    assert found.others == (PoolUsage.of("default", SOLD[0]),) * 3


def test_a_machine_that_is_off_is_left_to_others() -> None:
    machine = msgspec.structs.replace(a_machine("a"), power=Power.OFF)
    cloud = msgspec.structs.replace(a_cloud("a"), machines=(machine,))
    assert dict(chosen(cloud, a_node("a")).staying) == {"a": "its machine is off"}


def test_of_those_that_min_needs_the_fullest_stay() -> None:
    pool = a_pool(types=[{"name": "small", "min": 2}, "large"])
    nodes = [a_node(name) for name in "abcd"]
    pods = [a_pod(f"p{number}", node=node) for number, node in enumerate("abbd")]
    found = chosen(pool, *nodes, *pods)
    assert [one.name for one in found.candidates] == ["a", "c"]
    assert set(found.staying) == {"b", "d"}


@given(
    least=st.integers(0, 6),
    kinds=st.lists(st.sampled_from(["free", "busy", "kept", "marked", "unready", "closed"]), max_size=6),
)
def test_if_all_candidates_went_min_would_stand(least: int, kinds: list[str]) -> None:
    """As far as it stood before. Each node is a candidate, or has a reason."""
    nodes: list[Node] = []
    pods: list[Any] = []
    for number, kind in enumerate(kinds):
        name = f"n{number}"
        taints = {"marked": [LEAVES], "closed": [closed(name)]}.get(kind, [])
        nodes.append(a_node(name, ready=kind != "unready", taints=taints))
        if kind in ("busy", "kept"):
            pods.append(a_pod(f"p{number}", node=name, owner=None if kind == "kept" else OWNER))
    found = chosen(a_pool(types=[{"name": "small", "min": least}]), *nodes, *pods)
    going = {one.name for one in found.candidates}
    standing = {f"n{number}" for number, kind in enumerate(kinds) if kind in ("free", "busy", "kept")}
    assert len(standing - going) >= min(least, len(standing))
    assert going <= standing - {f"n{number}" for number, kind in enumerate(kinds) if kind == "kept"}
    assert len(going) == max(0, min(len(standing) - least, len(standing) - kinds.count("kept")))
    assert going | found.staying.keys() == {one.metadata.name for one in nodes}
    assert going.isdisjoint(found.staying)
