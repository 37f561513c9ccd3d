"""When it is thought about money, what comes of it, and what is only told."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.annotations import STARTED_AT
from growth.api.meta import ObjectMeta
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus
from growth.api.phases import MovePhase
from growth.api.settings.model import Settings
from growth.decide.capacity.demand_history import LOOKS_WITHIN
from tests.decide.consolidation.seen import a_pod
from tests.decide.consolidation.town import HOUR, MINUTE, NOW, SECOND, Town, a_node, acting, events_of, moves_of
from tests.decide.marketplace import a_pool, a_request, an_offering
from tests.decide.passes import cluster_in

EVERY = Settings().consolidate.every
LARGE = "kwok-large-fsn1"


def halves(*names: str) -> list[Any]:
    """Nodes that are used by a quarter each: two of them could be one."""
    return [thing for name in names for thing in (a_node(name), a_pod(f"web-{name}", node=name))]


def a_wasteful_town(*names: str, **fields: Any) -> Town:  # noqa: ANN401
    """It knows who was there within the last hour, and has not thought yet."""
    town = Town(*halves(*(names or "ab")), **fields)
    restless = a_request("coming", "Provisioning")
    town.add(restless)
    town.learn()
    assert town.thought is None
    town.remove(restless)
    return town


def observing(**disruption: object) -> Any:  # noqa: ANN401
    return a_pool(types=["small", "large"], disruption={"mode": "observe", "maxUnavailable": 10, **disruption})


def a_move(phase: MovePhase, *nodes: str) -> NodeMove:
    meta = ObjectMeta(name="move-1", uid="move-1", creation_timestamp=NOW)
    return NodeMove(meta, NodeMoveSpec(why="it is", nodes=nodes or ("a",)), NodeMoveStatus(phase, NOW))


# When it is thought


def test_it_is_thought_once_it_is_known_who_was_there() -> None:
    """A new process waits: pods may have gone a minute ago, and may come back."""
    town, begun = Town(*halves("a", "b")), NOW
    while town.thought is None:
        decision = town.look()
        assert decision.requeue_at is not None
        assert decision.requeue_at - town.now < LOOKS_WITHIN, "what was there is forgotten otherwise"
        town.now = decision.requeue_at
        assert town.now - begun < 2 * HOUR
    assert town.now - begun >= Settings().consolidate.window


RESTLESS: dict[str, Any] = {
    "a machine comes": a_request("coming", "Provisioning"),
    "a pod waits": a_pod("waits", node="", status={"phase": "Pending"}),
    "a move is under way": a_move("Buying"),
    "a move is undone": a_move("Undoing"),
}


@pytest.mark.parametrize("thing", RESTLESS.values(), ids=RESTLESS.keys())
def test_it_is_thought_only_when_all_is_calm(thing: Any) -> None:  # noqa: ANN401
    town = a_wasteful_town()
    if thing.metadata.name == "waits":
        born = msgspec.structs.replace(thing.metadata, creation_timestamp=town.now - MINUTE)
        thing = msgspec.structs.replace(thing, metadata=born)
    town.add(thing)
    assert town.look().compute is None
    town.remove(thing)
    assert town.look().compute is not None


def test_who_waits_in_vain_stops_nobody_for_ever() -> None:
    town = a_wasteful_town()
    waits = a_pod("waits", node="", status={"phase": "Pending"}, requests={"cpu": "500"})
    born = town.now - MINUTE
    town.add(msgspec.structs.replace(waits, metadata=msgspec.structs.replace(waits.metadata, creation_timestamp=born)))
    decision = town.look()
    assert decision.compute is None
    while town.look().compute is None:
        town.now = town.look().requeue_at or town.now + HOUR
        assert town.now <= born + 10 * MINUTE
    assert town.now == born + 10 * MINUTE


def test_nothing_is_thought_or_done_while_the_cluster_is_unhealthy() -> None:
    town = a_wasteful_town()
    for name in "cdefgh":
        town.add(a_node(name, ready=False))
    snapshot = town.world.snapshot(town.now)
    assert cluster_in(snapshot, town.settings).is_halted
    decision = town.look()
    assert (decision.compute, moves_of(decision.said)) == (None, [])
    assert decision.requeue_at is not None


def test_one_thought_at_a_time_and_the_next_one_after_a_while() -> None:
    town = a_wasteful_town(pool=acting(budgets=[{"nodes": 0}]))
    assert town.look().compute is not None
    assert town.look().compute is None, "it is under way"
    town.think()
    asked_at = town.now
    town.now += SECOND
    decision = town.look()
    assert decision.compute is None
    assert decision.requeue_at is not None
    while (decision := town.look()).compute is None:
        assert decision.requeue_at is not None
        town.now = decision.requeue_at
    assert town.now - asked_at == EVERY


def test_who_is_left_alone_is_not_thought_about() -> None:
    town = a_wasteful_town(pool=a_pool(types=["small", "large"], disruption={"mode": "off"}))
    decision = town.look()
    assert (decision.compute, decision.said, decision.requeue_at) == (None, (), None)


@pytest.mark.parametrize(("phase", "leaving"), [("Done", "a"), ("Undone", "b")])
def test_nodes_of_a_move_that_was_undone_rest_and_others_take_their_turn(phase: MovePhase, leaving: str) -> None:
    """The same machines would be bought for them again and again, for nothing."""
    town = a_wasteful_town()
    undone = a_move(phase, "a")
    status = msgspec.structs.replace(undone.status, phase_since=town.now)
    town.add(msgspec.structs.replace(undone, status=status))
    town.look()
    town.think()
    (move,) = moves_of(town.look().said)
    assert move.nodes == (leaving,)


# What comes of it


def test_where_growth_acts_the_moves_of_a_wave_are_made_once() -> None:
    town = a_wasteful_town()
    (move,) = town.advised()
    assert (move.reason, len(move.nodes), move.buys, move.saves_per_hour) == ("Cheaper", 1, (), "1")
    for _ in range(2):
        again = town.look()
        assert moves_of(again.said) == []
        assert events_of(again.said, "CouldSave") == []
        town.now += MINUTE


def test_what_was_made_is_not_thought_about_until_it_was_seen() -> None:
    town = a_wasteful_town(settings=Settings(consolidate=msgspec.structs.replace(Settings().consolidate, every=SECOND)))
    assert town.advised()
    town.now += 2 * SECOND
    decision = town.look()
    assert decision.compute is None
    assert decision.requeue_at == town.now + 8 * SECOND


def test_where_growth_only_looks_it_tells() -> None:
    town = a_wasteful_town(pool=observing())
    assert town.advised() == []
    decision = town.look()
    assert events_of(decision.said, "CouldSave") == [
        "1 an hour of 2 could be saved by moving 1 nodes: growth plan --optimise shows how"
    ]
    assert len(decision.said) == 1


CHANGED: dict[str, Callable[[Town], list[Any]]] = {
    "somebody who must stay came": lambda town: [a_pod(f"alone-{name}", node=name, owner=None) for name in town.nodes],
    "they are wanted": lambda town: [
        a_node(name, annotations={"growth.dev/do-not-disrupt": "true"}) for name in town.nodes
    ],
    "a machine comes": lambda _: [a_request("coming", "Provisioning")],
    "a move began": lambda _: [a_move("Draining")],
    "the pool only looks now": lambda _: [observing()],
    "the pool is left alone now": lambda _: [a_pool(types=["small", "large"], disruption={"mode": "off"})],
}


@pytest.mark.parametrize("change", CHANGED.values(), ids=CHANGED.keys())
def test_advice_that_is_not_true_any_more_is_dropped(change: Callable[[Town], list[Any]]) -> None:
    town = a_wasteful_town()
    town.look()
    town.think()
    town.add(*change(town))
    assert moves_of(town.look().said) == []


def test_advice_about_a_node_that_is_gone_is_dropped() -> None:
    town = a_wasteful_town()
    town.look()
    town.think()
    town.remove(*town.nodes.values())
    assert moves_of(town.look().said) == []


@pytest.mark.parametrize(
    ("terms", "count"),
    [
        ({"maxUnavailable": 2}, 2),
        ({"budgets": [{"nodes": 1}]}, 1),
        ({"budgets": [{"nodes": "50%", "reasons": ["Cheaper"]}]}, 4),
        ({"budgets": [{"nodes": 0, "reasons": ["Expired"]}]}, 8),
        ({"budgets": [{"nodes": 0}]}, 0),
        ({"budgets": [{"nodes": 0, "schedule": "0 9 * * *", "duration": "8h"}]}, 0),
        ({"budgets": [{"nodes": 0, "schedule": "0 1 * * *", "duration": "1h"}]}, 8),
    ],
)
def test_budgets_bound_a_wave(terms: dict[str, Any], count: int) -> None:
    """Eight nodes that are used by a quarter could be two, or a large one. Only as many go as may."""
    town = a_wasteful_town(*"abcdefgh", pool=acting(**terms))
    going = [name for move in town.advised() for name in move.nodes]
    assert len(going) == count


def test_who_goes_already_uses_budgets_up() -> None:
    town = a_wasteful_town(*"abcdefgh", pool=acting(maxUnavailable=1))
    town.add(a_node("gone", ready=False, annotations={STARTED_AT: "2026-02-01T00:00:00Z"}))
    assert town.advised() == []


@pytest.mark.parametrize(
    ("terms", "is_made"),
    [({}, True), ({"minSaving": "34%"}, False), ({"minSaving": "33%"}, True), ({"payBackWithin": "19m"}, False)],
)
def test_a_move_must_be_worth_its_trouble_in_its_pool(terms: dict[str, str], is_made: bool) -> None:  # noqa: FBT001
    """A large one for 3.0 could be two small ones for 2.0: a third is saved, and ten minutes of 2.0 in twenty."""
    pods = [a_pod(f"web-{number}", node="a", requests={"cpu": "1500m"}) for number in range(2)]
    big = a_node("a", offering=LARGE, has={"cpu": "8", "memory": "16Gi"})
    town = Town(big, *pods, pool=acting(**terms))
    town.learn()
    assert bool(town.thought and (town.think() or moves_of(town.look().said))) == is_made


def test_pools_that_act_and_pools_that_look_take_turns() -> None:
    other = a_pool("other", types=["small"], disruption={"mode": "observe"})
    town = a_wasteful_town(pool=acting(budgets=[{"nodes": 0}]))
    town.add(other, *(a_node(name, pool="other") for name in ("x", "y")))
    told: list[str] = []
    for _ in range(2):
        town.look()
        town.think()
        told += events_of(town.look().said, "CouldSave")
        town.now += EVERY
    assert [words[:12] for words in told] == ["2 an hour of"]


def test_a_wave_is_carried_out_and_the_next_one_comes_after_it() -> None:
    town = Town(*halves(*"abcdef"), pool=acting(maxUnavailable=2))
    most = 0

    def one_wave() -> None:
        nonlocal most
        most = max(most, sum(not move.is_over for move in town.moves))

    town.live(timedelta(hours=3), each=one_wave)
    assert len(town.nodes) == 2
    assert len(town.pods) == 6
    assert 1 <= most <= 2


def test_nothing_is_left_to_do_when_all_is_sold_at_one_price() -> None:
    town = Town(*halves("a"), pool=acting())
    town.sell(an_offering("small"))
    assert town.live(timedelta(hours=2)) == []
