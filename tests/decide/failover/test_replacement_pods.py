"""Who loses a machine and will be made anew elsewhere: nobody else, not for ever, and only if Growth acts."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import EditObject, FenceMachine, Outcome, Result, key_of
from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES, PODS
from growth.api.machine import Machine, Power
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.out_of_service import PROOF, SHUTDOWN, Proof
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.settings.model import FailoverSettings, Settings
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.context import reference
from growth.decide.failover.decider import CAPABILITY
from growth.decide.failover.evidence import NodeCase, PowerAnswers
from growth.observe.cache import ClusterCache
from tests.decide.passes import Given, deciding
from tests.decide.stages import NOW, a_pod

decide = deciding(CAPABILITY)

SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
NAMES = ("n1", "n2")
SILENT_SINCE = NOW - 30 * SECOND


def owned_by(kind: str) -> dict[str, Any]:
    return {"apiVersion": "v1", "kind": kind, "name": "db", "uid": f"of-{kind}", "controller": True}


def a_proof(*, at: Any = NOW - SECOND, provider_id: str = "kwok://n1", forced: bool = False) -> Proof:  # noqa: ANN401
    return Proof(at, provider_id, SILENT_SINCE, Power.OFF, NOW - 20 * SECOND, NOW - SECOND, 3, is_forced=forced)


def a_node(name: str = "n1", *, proof: Proof | None = None, tainted: bool = False, ready: bool = False) -> Node:
    notes = {PROOF: msgspec.json.encode(proof).decode()} if proof is not None else {}
    return Node(
        ObjectMeta(name, uid=name, annotations=notes),
        NodeSpec(provider_id=f"kwok://{name}", taints=(SHUTDOWN,) if tainted else ()),
        NodeStatus(conditions=(Condition("Ready", "True" if ready else "Unknown"),)),
    )


def a_case(power: Power = Power.OFF) -> NodeCase:
    is_dead = power is not Power.ON
    first_at, last_at = NOW - 20 * SECOND, NOW - SECOND
    answers = PowerAnswers(power, is_dead, is_changing=False, first_at=first_at, last_at=last_at, count=3)
    return NodeCase("n1", "n1", "kwok://n1", SILENT_SINCE, SILENT_SINCE, answers)


def displaced(
    node: Node, *pods: Pod, case: NodeCase | None = None, outcome: Outcome | None = None, **terms: Any  # noqa: ANN401
) -> list[str]:  # fmt: skip
    """The names of those that are noted after one pass over two nodes, of which the second works."""
    world = ClusterCache()
    hear = world.listeners()
    hear[NODES]([Change(ChangeType.ADDED, one, None) for one in (node, a_node("n2", ready=True))])
    hear[PODS]([Change(ChangeType.ADDED, pod, None) for pod in pods])
    power = case.answers.power if case is not None and case.answers is not None else Power.OFF
    machines = tuple(
        Machine(name, f"kwok://{name}", name, "small", "default", NOW - MINUTE, how, NOW - SECOND)
        for name, how in zip(NAMES, (power, Power.ON), strict=True)
    )
    world.hear_of_cloud(ProviderState("kwok", (), machines, NOW - SECOND))
    stated: dict[str, Any] = {"mode": "act", "foreign_nodes": True, **terms}
    settings = Settings(failover=FailoverSettings(**stated))
    memory = FailoverCarry(cases={"n1": case} if case is not None else {})
    outcomes = {key_of(outcome.action): outcome} if outcome is not None else {}
    snapshot = world.snapshot(NOW)
    decision = decide(snapshot, Given(outcomes, carry=memory), settings)
    said = decision.said
    if case is not None and settings.failover.mode == "act" and node.spec.taints == ():
        assert any(isinstance(one, EditObject | FenceMachine) for one in said), "the test's own case is wrong"
    found = [one for one in decision.facts if isinstance(one, ReplacementPods)]
    return [one.virtual_pod.metadata.name for fact in found for one in fact.pods.values()]


DATABASE = a_pod("db-0", node="n1", owner=owned_by("StatefulSet"))
OUT = a_node(proof=a_proof(), tainted=True)


def test_it_begins_in_the_pass_in_which_the_taint_is_said() -> None:
    assert displaced(a_node(), DATABASE, case=a_case()) == ["db-0"]


def test_it_goes_on_until_the_pods_are_gone() -> None:
    leaving = a_pod("db-0", node="n1", owner=owned_by("StatefulSet"), terminating=True)
    assert displaced(OUT, leaving) == ["db-0"]
    assert displaced(OUT) == []


@pytest.mark.parametrize("mode", ["observe", "off"])
@pytest.mark.parametrize("node", [a_node(), OUT], ids=["before the taint", "after it"])
def test_where_growth_does_not_act_nobody_is_noted(mode: str, node: Node) -> None:
    assert displaced(node, DATABASE, case=a_case(), mode=mode) == []


ANYWHERE = [{"operator": "Exists"}]


@pytest.mark.parametrize(
    ("pod", "is_noted"),
    [
        pytest.param(a_pod("a", node="n1", owner=owned_by("ReplicaSet")), True, id="a ReplicaSet makes another"),
        pytest.param(a_pod("a", node="n1", owner=owned_by("Job")), True, id="so does a Job"),
        pytest.param(a_pod("a", node="n1", owner=owned_by("ReplicaSet"), terminating=True), False,
                     id="as soon as one is asked to go: then that one waits itself"),
        pytest.param(a_pod("a", node="n1"), False, id="nobody makes another of one without an owner"),
        pytest.param(a_pod("a", node="n1", owner=owned_by("DaemonSet")), False, id="a DaemonSet stays on its node"),
        pytest.param(a_pod("a", node="n1", owner=owned_by("Node")), False, id="so does a static pod"),
        pytest.param(a_pod("a", node="n1", owner=owned_by("StatefulSet"), tolerations=ANYWHERE), False,
                     id="and one that tolerates the taint"),
        pytest.param(a_pod("a", node="n1", owner=owned_by("StatefulSet"), status={"phase": "Failed"}), False,
                     id="one that has ended is no more"),
        pytest.param(a_pod("a", node="n2", owner=owned_by("StatefulSet")), False, id="others are left alone"),
    ],
)  # fmt: skip
def test_who_is_made_anew_elsewhere(pod: Pod, is_noted: bool) -> None:  # noqa: FBT001
    assert bool(displaced(OUT, pod)) == is_noted


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_node(tainted=True), id="a person's taint is no proof"),
        pytest.param(a_node(proof=a_proof(forced=True), tainted=True), id="nor is a forced one"),
        pytest.param(a_node(proof=a_proof(provider_id="kwok://old"), tainted=True), id="nor is another machine's"),
        pytest.param(a_node(proof=a_proof()), id="who takes the taint off ends it"),
        pytest.param(a_node(proof=a_proof(at=NOW - 5 * MINUTE), tainted=True),
                     id="no machine stands empty for ever for pods that do not go"),
        pytest.param(a_node(proof=a_proof(at=NOW + MINUTE), tainted=True), id="nor because of a wrong clock"),
    ],
)  # fmt: skip
def test_which_nodes_do_not_count(node: Node) -> None:
    assert displaced(node, DATABASE) == []


def test_a_node_that_is_powered_off_is_not_proven_dead_yet() -> None:
    assert displaced(a_node(), DATABASE, case=a_case(Power.ON), fence=True) == []


def test_a_taint_that_the_server_refuses_moves_nobody() -> None:
    edit = EditObject(subject=reference(a_node()), why="", operations=())
    refused = Outcome(action=edit, result=Result.REFUSED, at=NOW - SECOND, error="Forbidden")
    assert displaced(a_node(), DATABASE, case=a_case(), outcome=refused) == []
