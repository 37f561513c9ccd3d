"""Nodes that must go for another reason than money: who, in which order, who of them may, and what people hear."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import Hold, RecordEvent
from growth.api.annotations import DRAIN, STARTED_AT, TEMPLATE, mark_of
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus
from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.settings.model import Settings
from growth.decide.consolidation.forced_disruptions import wishes_in
from growth.decide.consolidation.problem import ForcedDisruption
from tests.decide.consolidation.seen import SOLD, a_budget, a_cloud, a_context, a_pod, a_snapshot
from tests.decide.consolidation.town import HOUR, MINUTE, NOW, SECOND, Town, a_node, acting, moves_of
from tests.decide.marketplace import a_pool, a_removal, a_request

EVERY = Settings().consolidate.every
ASKED = {DRAIN: "its disk is bad"}
OLD = {TEMPLATE: "old"}


def wished(pool: NodePool, *nodes: Node, offered: tuple[Offering, ...] = SOLD) -> list[tuple[str, str]]:
    """Who must go, and for which reason."""
    cloud = msgspec.structs.replace(a_cloud(*(one.metadata.name for one in nodes)), offerings=offered)
    scene = a_context(a_snapshot(pool, cloud, *nodes))
    return [(disruption.node, disruption.reason) for disruption in wishes_in(scene)]


def in_mode(mode: str, **spec: Any) -> NodePool:  # noqa: ANN401
    return a_pool(types=["small", "large"], disruption={"mode": mode, "maxUnavailable": 10}, **spec)


# Who must go


def test_the_most_urgent_come_first() -> None:
    withdrawn = msgspec.structs.replace(SOLD[1], withdrawn="it ends in March", is_cloud=False)
    nodes = [
        a_node("a", offering=SOLD[1].id),
        a_node("b", annotations=OLD),
        a_node("c", born=NOW - 31 * 24 * HOUR),
        a_node("d", annotations=ASKED),
        a_node("e"),
        a_node("f", annotations=ASKED | OLD),
    ]
    assert wished(acting(expireAfter="720h"), *nodes, offered=(SOLD[0], withdrawn)) == [
        ("d", "Requested"),
        ("f", "Requested"),
        ("c", "Expired"),
        ("b", "Drifted"),
        ("a", "Deprecated"),
    ]


def test_of_nodes_that_never_expire_those_go_of_which_something_else_is_said() -> None:
    withdrawn = msgspec.structs.replace(SOLD[1], withdrawn="it ends in March", is_cloud=False)
    nodes = [
        a_node("a", offering=SOLD[1].id),
        a_node("b", annotations=OLD),
        a_node("c", annotations=ASKED),
        a_node("d"),
    ]
    everybody = [("c", "Requested"), ("b", "Drifted"), ("a", "Deprecated")]
    assert wished(acting(), *nodes, offered=(SOLD[0], withdrawn)) == everybody
    assert wished(in_mode("observe"), *nodes, offered=(SOLD[0], withdrawn)) == everybody[:1]


@pytest.mark.parametrize("mode", ["off", "observe"])
def test_where_growth_does_not_act_only_a_person_is_heard(mode: str) -> None:
    pool = a_pool(disruption={"mode": mode, "expireAfter": "1h"})
    nodes = [a_node("a", annotations=OLD), a_node("b", offering="kwok-tiny-fsn1"), a_node("c", annotations=ASKED)]
    assert wished(pool, *nodes) == [("c", "Requested")]


def test_a_node_without_a_mark_and_one_of_the_same_template_have_not_drifted() -> None:
    pool = acting()
    assert wished(pool, a_node("a"), a_node("b", annotations={TEMPLATE: mark_of(pool)})) == []


TEMPLATES: dict[str, dict[str, Any]] = {
    "labels": {"labels": {"team": "shop"}},
    "taints": {"taints": [{"key": "team", "value": "shop", "effect": "NoSchedule"}]},
    "start-up taints": {"startupTaints": [{"key": "cni", "effect": "NoSchedule"}]},
    "the machine": {"machine": {"image": "debian-13"}},
}


@pytest.mark.parametrize("spec", TEMPLATES.values(), ids=TEMPLATES.keys())
def test_what_every_new_node_gets_is_its_template(spec: dict[str, Any]) -> None:
    before, after = in_mode("act"), in_mode("act", **spec)
    assert mark_of(before) != mark_of(after)
    assert wished(after, a_node("a", annotations={TEMPLATE: mark_of(before)})) == [("a", "Drifted")]


def test_what_only_says_how_much_is_bought_is_no_template() -> None:
    several = [{"key": key, "effect": "NoSchedule"} for key in "ab"]
    before, after = in_mode("act", taints=several), in_mode("observe", taints=several[::-1], limits={"nodes": 7})
    assert mark_of(before) == mark_of(after)


def test_expiry_wakes_when_it_comes() -> None:
    town = Town(a_node("a", born=NOW), pool=acting(expireAfter="3m"))
    assert town.look().requeue_at == NOW + 3 * MINUTE


@pytest.mark.parametrize("problem", ["", "503"], ids=["it has said nothing yet", "it is silent"])
def test_a_provider_that_does_not_answer_has_withdrawn_nothing(problem: str) -> None:
    cloud = msgspec.structs.replace(a_cloud("a", problem=problem), offerings=SOLD[1:] if problem else ())
    scene = a_context(a_snapshot(acting(), cloud, a_node("a")))
    assert wishes_in(scene) == []


def test_what_is_not_sold_any_more_is_deprecated() -> None:
    assert wished(acting(), a_node("a"), offered=SOLD[1:]) == [("a", "Deprecated")]


def test_who_goes_already_need_not_be_wished_away() -> None:
    scene = a_context(a_snapshot(acting(), a_cloud("a"), a_node("a", annotations=ASKED), a_removal("a")))
    assert wishes_in(scene) == []


def test_a_wish_says_why() -> None:
    scene = a_context(a_snapshot(acting(), a_cloud("a"), a_node("a", annotations=ASKED)))
    assert wishes_in(scene) == [ForcedDisruption("a", "Requested", "a person wants it to go: its disk is bad")]


# What comes of it


@pytest.mark.parametrize("mode", ["off", "observe", "act"])
def test_what_a_person_asks_for_is_done_at_once_whatever_it_costs(mode: str) -> None:
    """However young the node is; cordoned by the same person; in a pool that gives nothing back by itself."""
    node = a_node("a", annotations=ASKED, born=NOW - MINUTE)
    node = msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, unschedulable=True))
    town = Town(node, a_pod("web", node="a"), pool=in_mode(mode, scaleDown={"enabled": False}))
    (move,) = town.advised()
    assert (move.reason, move.why, move.nodes) == ("Requested", "a person wants it to go: its disk is bad", ("a",))
    assert [one.offering for one in move.buys] == ["kwok-small-fsn1"]
    assert move.saves_per_hour == "0"


def test_others_wait_until_they_are_old_enough() -> None:
    node = a_node("a", annotations=OLD, born=NOW - 59 * MINUTE)
    town = Town(node, a_pod("web", node="a"))
    assert town.advised() == []
    town.now += EVERY
    (move,) = town.advised()
    assert move.reason == "Drifted"


def test_each_node_has_its_own_move_and_none_is_a_place_for_the_other() -> None:
    nodes = [a_node(name, annotations=ASKED) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name) for name in "ab"]
    moves = Town(*nodes, *pods).advised()
    assert [move.nodes for move in moves] == [("a",), ("b",)]
    assert [len(move.buys) for move in moves] == [1, 0], "what is bought for the first has room for both"


def test_they_come_before_money_and_before_anything_is_known_of_the_last_hour() -> None:
    """A fold of b and c waits until d is gone."""
    things = [thing for name in "bc" for thing in (a_node(name), a_pod(f"web-{name}", node=name))]
    town = Town(*things, a_node("d", annotations=ASKED))
    assert [move.reason for move in town.advised()] == ["Requested"]
    said = town.live(timedelta(hours=2))
    assert "d" not in town.nodes
    assert [move.reason for move in moves_of(said)][-1] == "Cheaper"


def test_a_wish_that_cannot_be_fulfilled_does_not_stand_in_the_way_of_money() -> None:
    things = [thing for name in "bc" for thing in (a_node(name), a_pod(f"web-{name}", node=name))]
    town = Town(*things, a_node("d", annotations=ASKED), a_pod("alone", node="d", owner=None))
    said = town.live(timedelta(hours=2))
    assert {move.reason for move in moves_of(said)} == {"Cheaper"}
    assert len(town.nodes) == 2
    assert [pod.metadata.name for pod in town.pods if pod.node_name == "d"] == ["alone"], "nobody is moved there"


HELD: dict[str, tuple[list[Any], str]] = {
    "a bare pod": (
        [a_node("a", annotations=ASKED), a_pod("alone", node="a", owner=None)],
        "pod default/alone on it must stay: it has no controller that would make it anew",
    ),
    "a pod's wish": (
        [a_node("a", annotations=ASKED), a_pod("web", node="a", annotations={"growth.dev/do-not-disrupt": "true"})],
        "pod default/web on it must stay: it bears growth.dev/do-not-disrupt",
    ),
    "a wish of the node": (
        [a_node("a", annotations=ASKED | {"growth.dev/do-not-disrupt": "true"})],
        "it bears growth.dev/do-not-disrupt",
    ),
    "a disruption budget": (
        [
            a_node("a", annotations=ASKED),
            a_pod("web", node="a", labels={"app": "web"}),
            a_budget("web", {"matchLabels": {"app": "web"}}),
        ],
        "pod default/web on it must stay: disruption budget web allows no disruption now",
    ),
    "the pool's budget": (
        [acting(budgets=[{"nodes": 0}]), a_node("a", annotations=ASKED)],
        "disruption.budgets[0] of pool default lets 0 nodes go at one time, and 0 do",
    ),
    "its last move": (
        [
            a_node("a", annotations=ASKED),
            NodeMove(
                ObjectMeta(name="move-1", uid="m", creation_timestamp=NOW),
                NodeMoveSpec(nodes=("a",)),
                NodeMoveStatus("Undone", NOW, "no luck"),
            ),
        ],
        "its move move-1 was undone: no luck; it is tried again when that is deleted",
    ),
}


@pytest.mark.parametrize(("things", "why"), HELD.values(), ids=HELD.keys())
def test_who_asked_hears_why_a_node_stays(things: list[Any], why: str) -> None:
    town = Town(*things)
    assert town.advised() == []
    said = town.look().said
    words = f"a person wants it to go: its disk is bad, and it stays for now: {why}"
    assert [(type(one), one.subject.name, one.why) for one in said] == [(Hold, "a", words), (RecordEvent, "a", words)]


def test_which_pod_finds_no_place_is_told() -> None:
    town = Town(a_node("a", annotations=ASKED, has={"cpu": "64"}), a_pod("big", node="a", requests={"cpu": "60"}))
    assert town.advised() == []
    (hold, event) = town.look().said
    assert isinstance(hold, Hold)
    assert isinstance(event, RecordEvent)
    assert "pod default/big would find no place: " in event.why
    assert town.look().compute is None, "it is not thought about again at once"
    assert town.look().requeue_at == town.now + MINUTE, "but soon: a person looks on"
    town.now += MINUTE
    assert town.look().compute is not None


def test_of_others_it_only_stands_among_the_reasons() -> None:
    town = Town(a_node("a", annotations=OLD), a_pod("alone", node="a", owner=None))
    assert town.advised() == []
    assert [type(one) for one in town.look().said] == [Hold]


def test_nothing_is_told_any_more_when_nobody_wants_it_any_more() -> None:
    town = Town(a_node("a", annotations=ASKED), a_pod("alone", node="a", owner=None))
    assert town.look().said
    town.add(a_node("a"))
    assert town.look().said == ()


def test_budgets_count_for_the_reason() -> None:
    terms = {"budgets": [{"nodes": 1, "reasons": ["Drifted"]}, {"nodes": 3, "reasons": ["Requested"]}]}
    nodes = [a_node(name, annotations=ASKED if name in "ab" else OLD) for name in "abcdef"]
    moves = Town(*nodes, pool=acting(**terms)).advised()
    # Two go because somebody asked; then one that drifted would be the third, and only one may be on its way.
    assert [(move.nodes, move.reason) for move in moves] == [(("a",), "Requested"), (("b",), "Requested")]


def test_the_next_one_goes_as_soon_as_the_budget_lets_it() -> None:
    nodes = [a_node(name, annotations=OLD) for name in "abcd"]
    town = Town(*nodes, pool=acting(maxUnavailable=1))
    town.live(timedelta(minutes=10))
    assert list(town.nodes) == []


@pytest.mark.parametrize(
    "change",
    [
        a_node("a"),
        a_request("coming", "Provisioning"),
        a_pod("alone", node="a", owner=None),
        acting(budgets=[{"nodes": 0}]),
    ],
    ids=["nobody wants it any more", "a machine comes", "somebody who must stay came", "the budget is closed"],
)
def test_what_is_not_true_any_more_when_the_thought_ends_is_dropped(change: object) -> None:
    town = Town(a_node("a", annotations=ASKED), a_pod("web", node="a"))
    town.look()
    town.think()
    town.add(change)
    assert moves_of(town.look().said) == []


def test_it_is_thought_again_as_soon_as_all_is_calm() -> None:
    town = Town(a_node("a", annotations=ASKED), a_pod("web", node="a"))
    town.look()
    town.think()
    restless = a_request("coming", "Provisioning")
    town.add(restless)
    town.look()
    town.remove(restless)
    town.now += SECOND
    assert [move.nodes for move in town.advised()] == [("a",)]


def test_two_passes_with_the_same_answer_make_the_moves_once() -> None:
    town = Town(a_node("a", annotations=ASKED), a_pod("web", node="a"))
    assert town.advised()
    assert moves_of(town.look().said) == []


def test_nobody_goes_to_a_node_that_must_go_next_while_there_is_another_place() -> None:
    nodes = [a_node(name, annotations=OLD) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name) for name in "ab"]
    town = Town(*nodes, *pods, pool=acting(maxUnavailable=1))
    (move,) = town.advised()
    assert (move.nodes, len(move.buys)) == (("a",), 1)


def test_at_the_limit_of_its_pool_it_goes_where_there_is_room() -> None:
    """Else nothing would ever be replaced: a is emptied onto b, and then there is room for a new one."""
    nodes = [a_node(name, annotations=OLD) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name) for name in "ab"]
    pool = a_pool(types=["small"], disruption={"mode": "act", "maxUnavailable": 1}, limits={"nodes": 2})
    town = Town(*nodes, *pods, pool=pool)
    (move,) = town.advised()
    assert (move.nodes, move.buys) == (("a",), ())
    town.live(timedelta(minutes=20))
    assert town.nodes.keys().isdisjoint("ab")
    assert len(town.pods) == 2


def test_a_machine_is_not_sold_twice() -> None:
    """One small one is left: the second node gets a large one."""
    nodes = [a_node(name, annotations=ASKED) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name, requests={"cpu": "1500m"}) for name in "ab"]
    town = Town(*nodes, *pods)
    town.sell(msgspec.structs.replace(SOLD[0], stock=1), SOLD[1])
    launched = [one.offering for move in town.advised() for one in move.buys]
    assert launched == ["kwok-small-fsn1", "kwok-large-fsn1"]


def keeping(least: int, most: int) -> NodePool:
    """A pool that has so many small ones even without load."""
    types = [{"name": "small", "min": least, "max": most}, {"name": "large"}]
    return a_pool(types=types, disruption={"mode": "act", "maxUnavailable": 10})


@pytest.mark.parametrize("pods", [[], [a_pod("web", node="a")]], ids=["idle", "at work"])
def test_what_a_pool_keeps_ready_is_bought_anew_before_it_goes(pods: list[Any]) -> None:
    """One for each that goes, and pods go there, too."""
    nodes = [a_node(name, annotations=ASKED) for name in "ab"]
    town = Town(*nodes, *pods, pool=keeping(2, most=9))
    launched = [[one.offering for one in move.buys] for move in town.advised()]
    assert launched == [["kwok-small-fsn1"], ["kwok-small-fsn1"]]


def test_nothing_is_bought_for_min_while_enough_others_are_ready() -> None:
    town = Town(a_node("a", annotations=ASKED), a_node("b"), pool=keeping(1, most=9))
    (move,) = town.advised()
    assert (move.nodes, move.buys) == (("a",), ())


def test_at_its_limits_what_a_pool_keeps_ready_goes_first() -> None:
    """Else a pool of a fixed size would keep its nodes for ever."""
    town = Town(a_node("a", annotations=ASKED), pool=keeping(1, most=1))
    (move,) = town.advised()
    assert (move.nodes, move.buys) == (("a",), ())


def test_two_moves_that_are_ready_in_the_same_pass_do_not_share_a_place_in_the_budget() -> None:
    """Two were let go; until their machines work only one may."""
    nodes = [a_node(name, annotations=ASKED) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name, requests={"cpu": "1500m"}) for name in "ab"]
    town = Town(*nodes, *pods, pool=acting(maxUnavailable=2))
    town.look()
    town.think()
    town.do(town.look().said)
    town.do(town.look().said)  # both are bought
    town.add(acting(maxUnavailable=1))
    town.do(town.look().said)
    assert sorted(move.status.phase for move in town.moves) == ["Buying", "Draining"]


def test_a_move_that_becomes_ready_just_after_another_one_reckons_with_it() -> None:
    """The other one's node is not marked yet when it is asked whether there is room."""
    nodes = [a_node(name, annotations=ASKED) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name, requests={"cpu": cpu}) for name, cpu in (("a", "900m"), ("b", "1200m"))]
    town = Town(*nodes, *pods, pool=acting(maxUnavailable=2))
    town.look()
    town.think()
    town.do(town.look().said)
    town.do(town.look().said)  # both are bought
    (late,) = (one.name for move in town.moves if move.spec.nodes == ("b",) for one in move.spec.buys)
    working = town.nodes[late]
    town.add(a_node(late, ready=False, has={"cpu": "2"}))
    town.do(town.look().said)
    assert {move.spec.nodes[0]: move.status.phase for move in town.moves} == {"a": "Draining", "b": "Buying"}
    town.add(working)
    town.do(town.look().said)
    assert {move.spec.nodes[0]: move.status.phase for move in town.moves} == {"a": "Draining", "b": "Draining"}


def test_what_was_asked_for_is_undone_when_that_is_taken_back() -> None:
    town = Town(a_node("a", annotations=ASKED), a_pod("web", node="a"))
    town.do(town.look().said)
    town.think()
    town.do(town.look().said)
    town.do(town.look().said)  # it is bought
    town.add(a_node("a"))
    town.live(timedelta(minutes=1))
    (move,) = town.moves
    assert (move.status.phase, move.status.message) == ("Undone", "nobody wants node a to go any more")
    assert list(town.nodes) == ["a"]


def test_a_bare_pod_whose_owner_says_that_nothing_is_lost_may_go() -> None:
    safe = {"cluster-autoscaler.kubernetes.io/safe-to-evict": "true"}
    town = Town(a_node("a", annotations=ASKED), a_pod("alone", node="a", owner=None, annotations=safe))
    town.live(timedelta(minutes=5))
    assert [move.status.phase for move in town.moves] == ["Done"]
    assert "a" not in town.nodes


def test_a_move_waits_for_its_budget_and_is_undone_if_that_takes_too_long() -> None:
    town = Town(a_node("a", annotations=ASKED), a_pod("web", node="a"), pool=acting(maxUnavailable=1))
    town.do(town.look().said)
    town.think()
    town.do(town.look().said)
    town.do(town.look().said)  # it is bought
    town.add(a_node("ill", ready=False, annotations={STARTED_AT: "2026-02-01T00:00:00Z"}))
    town.live(timedelta(minutes=9))
    assert [move.status.phase for move in town.moves] == ["Buying"]
    town.live(timedelta(minutes=3))
    (move,) = town.moves
    assert move.status.phase == "Undone"
    assert move.status.message == "disruption.maxUnavailable of pool default lets 1 nodes go at one time, and 1 do"
    assert sorted(town.nodes) == ["a", "ill"]
