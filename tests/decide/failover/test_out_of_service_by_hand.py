"""A node that a person took out of service: what is theirs stays theirs, and what was not proven is not believed."""

from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec

from growth.api.actions import EditObject, Hold, ReleasePod
from growth.api.change import Change, ChangeType
from growth.api.kinds import NODES, PODS
from growth.api.machine import Machine, Power
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.out_of_service import PROOF, SHUTDOWN, Proof
from growth.api.pod import Pod, PodSpec
from growth.api.provider_state import ProviderState
from growth.api.settings.model import FailoverSettings, Settings
from growth.decide.contract import Decision
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.decider import CAPABILITY
from growth.decide.failover.evidence import NodeCase, PowerAnswers
from growth.observe.cache import ClusterCache
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
SETTINGS = Settings(failover=FailoverSettings(mode="act", foreign_nodes=True))
PROVIDER_ID = "kwok://n1"


def a_proof(*, by: str = "anna@desk", forced: bool = False) -> Proof:
    told = (NOW - 70 * SECOND, NOW - 60 * SECOND)
    return Proof(NOW - 60 * SECOND, PROVIDER_ID, NOW - 90 * SECOND, Power.OFF, *told, 3, by=by, is_forced=forced)


def a_world(proof: Proof, *, power: Power, ready: bool) -> ClusterCache:
    world = ClusterCache()
    ready_words = Condition("Ready", "True" if ready else "Unknown")
    node = Node(
        ObjectMeta("n1", uid="n1", annotations={PROOF: msgspec.json.encode(proof).decode()}),
        NodeSpec(provider_id=PROVIDER_ID, taints=(SHUTDOWN,)),
        NodeStatus(conditions=(ready_words,)),
    )
    machine = Machine("n1", PROVIDER_ID, "n1", "small", "default", NOW - 900 * SECOND, power, NOW - SECOND)
    world.listeners()[NODES]([Change(ChangeType.ADDED, node, None)])
    world.hear_of_cloud(ProviderState("kwok", (), (machine,), NOW - SECOND))
    return world


def add_pod(world: ClusterCache) -> None:
    pod = Pod(ObjectMeta("db-0", "shop", "db-0"), PodSpec(), node_name="n1")
    world.listeners()[PODS]([Change(ChangeType.ADDED, pod, None)])


def decided(world: ClusterCache, case: NodeCase | None = None) -> Decision[Any]:
    memory = FailoverCarry(cases={"n1": case} if case else {}, well_since={"n1": NOW - timedelta(hours=1)})
    return decide(world.snapshot(NOW), Given(carry=memory), SETTINGS)


def told(decision: Decision[Any]) -> list[str]:
    memory = decision.carry
    assert isinstance(memory, FailoverCarry)
    return [entry.words for entry in memory.timelines["n1"].entries]


def test_what_growth_took_out_it_takes_back() -> None:
    world = a_world(a_proof(by=""), power=Power.ON, ready=True)
    assert [type(said) for said in decided(world).said if isinstance(said, EditObject)] == [EditObject]


def test_what_a_person_took_out_is_theirs_to_take_back() -> None:
    decision = decided(a_world(a_proof(), power=Power.ON, ready=True))
    assert [said for said in decision.said if isinstance(said, EditObject)] == []
    assert "it is back; anna@desk took it out of service: growth node in-service n1" in told(decision)


def test_a_person_is_warned_while_the_machine_runs() -> None:
    decision = decided(a_world(a_proof(forced=True), power=Power.ON, ready=True))
    held = {said.reason: said.why for said in decision.said if isinstance(said, Hold)}
    assert held["OutOfServiceRunning"].startswith("anna@desk took it out of service, but its machine runs")


def silent_and_off_once() -> NodeCase:
    answers = PowerAnswers(Power.OFF, is_dead=True, is_changing=False, first_at=NOW - SECOND, last_at=NOW - SECOND)
    return NodeCase("n1", "n1", PROVIDER_ID, NOW - 90 * SECOND, NOW - 60 * SECOND, answers)


def released(*, forced: bool) -> list[str]:
    world = a_world(a_proof(forced=forced), power=Power.OFF, ready=False)
    add_pod(world)
    decision = decided(world, silent_and_off_once())
    return [said.subject.name for said in decision.said if isinstance(said, ReleasePod)]


def test_a_proof_that_a_person_wrote_is_as_good_as_ours() -> None:
    assert released(forced=False) == ["db-0"]


def test_what_was_forced_is_no_proof() -> None:
    assert released(forced=True) == []
