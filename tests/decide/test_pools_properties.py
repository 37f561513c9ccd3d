"""Whatever the cluster and the clocks look like: pools come to rest, and nobody else's things are touched."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from growth.api.actions import Hold, PatchObject, RecordEvent
from growth.api.node import Node
from growth.api.node_pool import NodePool, NodePoolStatus, OfferingStatus
from growth.api.node_request import NodeRequest
from growth.api.phases import RequestPhase
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.decide.capacity.offering_history import MOST_ENTRIES
from growth.decide.capacity.pool_validation import FINALIZER
from growth.decide.contract import Decision
from growth.decide.pool_status.decider import CAPABILITY
from tests.decide.marketplace import (
    HOUR,
    NOW,
    Thing,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    an_entry,
    an_offering,
)
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

OFFERINGS = ["kwok-small-fsn1", "kwok-small-nbg1", "kwok"]
# Some lie ahead: clocks are set back.
INSTANTS = st.integers(-15_000, 15_000).map(lambda seconds: NOW + timedelta(seconds=seconds))
NAMES = st.sampled_from(["default-1", "default-2", "default-3"])
PHASES: list[RequestPhase] = ["Pending", "Provisioning", "Ready", "Unmet", "Deprovisioning"]
REASONS = st.sampled_from(["OutOfStock", "QuotaExceeded", "NeverReady", "PoolGone"])


@st.composite
def entries(draw: st.DrawFn) -> OfferingStatus:
    return an_entry(
        draw(st.sampled_from(OFFERINGS)),
        level=draw(st.integers(0, 4)),
        since=draw(INSTANTS | st.none()),
        until=draw(INSTANTS | st.none()),
        reason=draw(REASONS),
        available_since=draw(INSTANTS | st.none()),
        surprises=draw(st.integers(0, 2)),
        lacks=draw(st.sampled_from([{}, {"cpu": "1"}, {"memory": "1Gi"}])),
    )


@st.composite
def pools(draw: st.DrawFn) -> NodePool:
    return a_pool(
        types=draw(st.sampled_from([["small"], ["large"], ["small", "large"]])),
        learnt=draw(st.lists(entries(), max_size=3, unique_by=lambda one: one.offering)),
        finalizers=draw(st.sampled_from([[], [FINALIZER], ["other/one", FINALIZER]])),
        deleted_at=draw(st.none() | INSTANTS),
    )


@st.composite
def requests(draw: st.DrawFn) -> NodeRequest:
    phase = draw(st.sampled_from(PHASES))
    reason = draw(REASONS) if phase in ("Unmet", "Deprovisioning") else ""
    offering = draw(st.sampled_from(["kwok-small-fsn1", "kwok-small-nbg1", "kwok-small", "kwok-gone-fsn1"]))
    return a_request(
        draw(NAMES), phase, offering=offering, since=draw(INSTANTS), asked_at=draw(INSTANTS), reason=reason
    )


@st.composite
def nodes(draw: st.DrawFn) -> Node:
    has = draw(st.sampled_from([{}, {"cpu": "1"}, {"cpu": "500m"}, {"memory": "3Gi"}]))
    pool = draw(st.sampled_from(["default", "default", "gpu", ""]))
    return a_node(draw(NAMES), has=has, ready=draw(st.booleans()), born=draw(INSTANTS), pool=pool)


@st.composite
def clouds(draw: st.DrawFn) -> ProviderState:
    stock = draw(st.sampled_from([None, 0, 3]))
    machines = [a_machine(name) for name in draw(st.sets(NAMES))]
    offered = (an_offering(stock=stock), an_offering(location="nbg1"))
    return a_cloud(
        *offered, machines=machines, read_at=draw(INSTANTS | st.none()), problem=draw(st.sampled_from(["", "no"]))
    )


@st.composite
def worlds(draw: st.DrawFn) -> list[Thing]:
    """A pool, and others' things beside it."""
    things: list[Thing] = [draw(pools())]
    things += draw(st.lists(clouds(), max_size=1))
    things += draw(st.lists(requests(), max_size=3, unique_by=lambda one: one.metadata.name))
    things += draw(st.lists(nodes(), max_size=3, unique_by=lambda one: one.metadata.name))
    things += [a_removal(name) for name in draw(st.sets(NAMES, max_size=1))]
    return things


def decided(things: list[Thing], memory: object = None, now: datetime = NOW) -> Decision[Any]:
    return decide(a_snapshot(*things, now=now), Given(carry=memory), Settings())


def carried_out(things: list[Thing], decision: Decision[Any]) -> list[Thing]:
    """The same world after what was decided is written, through JSON as in real life."""
    (pool,) = (one for one in things if isinstance(one, NodePool))
    rest = [one for one in things if one is not pool]
    for patch in (said for said in decision.said if isinstance(said, PatchObject)):
        body = msgspec.json.decode(msgspec.json.encode(patch.body))
        if patch.subresource:
            pool = msgspec.structs.replace(pool, status=msgspec.convert(body["status"], NodePoolStatus))
        else:
            held = tuple(body["metadata"]["finalizers"])
            pool = msgspec.structs.replace(pool, metadata=msgspec.structs.replace(pool.metadata, finalizers=held))
        newer = msgspec.structs.replace(pool.metadata, resource_version=pool.metadata.resource_version + 1)
        pool = msgspec.structs.replace(pool, metadata=newer)
    return [pool, *rest]


@given(worlds())
def test_what_was_decided_is_enough(things: list[Thing]) -> None:
    """Twice, because what one node teaches changes what is believed of its type, and by that others are judged."""
    memory: object = None
    for _ in range(2):
        decision = decided(things, memory)
        things, memory = carried_out(things, decision), decision.carry
    again = decided(things, memory)
    assert [said for said in again.said if isinstance(said, PatchObject)] == []


@given(worlds(), st.timedeltas(timedelta(0), 10 * HOUR))
def test_time_alone_changes_a_status_a_bounded_number_of_times(things: list[Thing], step: timedelta) -> None:
    memory: object = None
    now, written = NOW, 0
    for _ in range(8):
        decision = decided(things, memory, now)
        written += sum(isinstance(said, PatchObject) for said in decision.said)
        things, memory = carried_out(things, decision), decision.carry
        now += step
    assert written <= 8
    final = decided(things, memory, now + 100 * HOUR)
    at_rest = decided(carried_out(things, final), final.carry, now + 101 * HOUR)
    assert at_rest.requeue_at is None
    assert [said for said in at_rest.said if isinstance(said, PatchObject)] == []


@given(worlds())
def test_only_the_pool_is_written_and_never_more_than_its_status_may_hold(things: list[Thing]) -> None:
    for said in decided(things).said:
        assert isinstance(said, PatchObject | RecordEvent | Hold)
        if isinstance(said, PatchObject):
            assert (said.subject.kind, said.subject.name, said.resource_version) == ("NodePool", "default", 5)
            assert len(said.body.get("status", {}).get("offerings", [])) <= MOST_ENTRIES
