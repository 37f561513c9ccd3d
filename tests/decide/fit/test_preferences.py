"""Wishes: how much of what a pod would rather have is not met at a node."""

from typing import Any

import msgspec
import pytest

from growth.api.taints import closed, key_to
from growth.decide.fit import fits_anywhere, grief
from tests.decide.stages import a_node, a_pod, a_stage

Json = dict[str, Any]
NODES = [
    a_node("a", labels={"zone": "a", "disk": "ssd"}),
    a_node("b", labels={"zone": "b"}, taints=[{"key": "old", "effect": "PreferNoSchedule"}]),
]
TERM = {"topologyKey": "zone", "labelSelector": {"matchLabels": {"app": "web"}}}


def wishing(kind: str, weight: int, **preference: object) -> Json:
    return {"affinity": {kind: {"preferredDuringSchedulingIgnoredDuringExecution": [{"weight": weight, **preference}]}}}


SPREAD = {**TERM, "maxSkew": 1, "whenUnsatisfiable": "ScheduleAnyway"}
SSD = {"matchExpressions": [{"key": "disk", "operator": "In", "values": ["ssd"]}]}


@pytest.mark.parametrize(
    ("spec", "griefs"),
    [
        pytest.param({}, (0, 100), id="a node that would rather be left alone"),
        pytest.param({"tolerations": [{"key": "old", "operator": "Exists"}]}, (0, 0), id="for who does not mind"),
        pytest.param(wishing("nodeAffinity", 30, preference=SSD), (0, 130), id="a node with a label"),
        pytest.param(wishing("podAffinity", 30, podAffinityTerm=TERM), (0, 130), id="near pods that are there"),
        pytest.param(wishing("podAntiAffinity", 30, podAffinityTerm=TERM), (30, 100), id="far from them"),
        pytest.param({"topologySpreadConstraints": [SPREAD]}, (100, 100), id="evenly, which one more here breaks"),
        pytest.param({"topologySpreadConstraints": [{**SPREAD, "maxSkew": 2}]}, (0, 100), id="evenly enough"),
        pytest.param({"topologySpreadConstraints": [{**SPREAD, "topologyKey": "disk"}]}, (0, 200), id="in a domain"),
    ],
)
def test_grief_is_the_weight_of_what_is_not_met(spec: Json, griefs: tuple[int, int]) -> None:
    stage = a_stage(NODES, [a_pod(node="a", labels={"app": "web"})])
    pod = a_pod(labels={"app": "web"}, **spec)
    assert (grief(stage, pod, "a"), grief(stage, pod, "b")) == griefs
    assert fits_anywhere(stage, pod).nodes == ("a", "b")  # whatever it wishes for


def test_wishes_follow_the_stage() -> None:
    stage = a_stage(NODES)
    pod = a_pod(**wishing("podAffinity", 30, podAffinityTerm=TERM))
    assert grief(stage, pod, "a") == 30
    stage.place(a_pod(labels={"app": "web"}), "a")
    assert grief(stage, pod, "a") == 0


def test_a_closed_node_is_a_domain_for_who_holds_its_key() -> None:
    starting = a_node("c", labels={"zone": "c"}, taints=[msgspec.to_builtins(closed("c"))])
    stage = a_stage([NODES[0], starting], [a_pod(node="a", labels={"app": "web"})])
    honouring: Json = {"labels": {"app": "web"}, "topologySpreadConstraints": [{**SPREAD, "nodeTaintsPolicy": "Honor"}]}
    stranger = a_pod(**honouring)
    holder = a_pod(**honouring, tolerations=[msgspec.to_builtins(key_to("c"))])
    assert (grief(stage, stranger, "a"), grief(stage, holder, "a")) == (0, 100)
