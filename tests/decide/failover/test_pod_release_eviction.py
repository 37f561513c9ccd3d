"""Kubernetes evicts by name when a node is tainted: who ends a pod before that gets the next one evicted instead."""

from datetime import datetime, timedelta
from typing import Any

import msgspec

from growth.api.actions import ReleasePod
from growth.api.change import Change, ChangeType
from growth.api.kinds import PODS
from growth.api.machine import Power
from growth.api.meta import ObjectMeta
from growth.api.pod import Pod, PodSpec
from growth.decide.contract import Decision
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.decider import CAPABILITY
from growth.decide.failover.evidence import NodeCase, PowerAnswers
from tests.decide.failover.test_out_of_service_by_hand import NOW, PROVIDER_ID, SECOND, SETTINGS, a_proof, a_world
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)


def tainted_ago(ago: timedelta, *, evicted_at: datetime | None) -> Decision[Any]:
    proof = msgspec.structs.replace(a_proof(by=""), tainted_at=NOW - ago)
    world = a_world(proof, power=Power.OFF, ready=False)
    meta = ObjectMeta("db-0", "shop", "db-0", deletion_timestamp=evicted_at)
    world.listeners()[PODS]([Change(ChangeType.ADDED, Pod(meta, PodSpec(), node_name="n1"), None)])
    answers = PowerAnswers(Power.OFF, is_dead=True, is_changing=False, first_at=NOW - 12 * SECOND, last_at=NOW, count=3)
    case = NodeCase("n1", "n1", PROVIDER_ID, NOW - 40 * SECOND, NOW - 20 * SECOND, answers)
    return decide(world.snapshot(NOW), Given(carry=FailoverCarry(cases={"n1": case})), SETTINGS)


def released(decision: Decision[Any]) -> list[str]:
    return [said.subject.name for said in decision.said if isinstance(said, ReleasePod)]


def test_a_pod_that_is_not_evicted_yet_is_not_ended_yet() -> None:
    decision = tainted_ago(SECOND, evicted_at=None)
    assert released(decision) == []
    assert decision.requeue_at is not None
    assert decision.requeue_at <= NOW + 4 * SECOND


def test_a_pod_that_is_evicted_is_ended_at_once() -> None:
    assert released(tainted_ago(SECOND, evicted_at=NOW)) == ["db-0"]


def test_nobody_waits_for_an_eviction_that_does_not_come() -> None:
    assert released(tainted_ago(5 * SECOND, evicted_at=None)) == ["db-0"]
