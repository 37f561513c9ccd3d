"""Promises over whole histories: budgets hold at every instant, money never rises, every pod keeps a place."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.annotations import DRAIN, STARTED_AT, TEMPLATE
from growth.api.disruption import Reason
from growth.api.settings.model import Settings
from growth.api.taints import SCALE_DOWN
from tests.decide.consolidation.seen import SOLD, a_budget, a_pod
from tests.decide.consolidation.town import MINUTE, NOW, Town, a_node, acting
from tests.decide.marketplace import a_pool

QUICK = Settings(
    consolidate=msgspec.structs.replace(
        Settings().consolidate, window=10 * MINUTE, every=2 * MINUTE, kept_for=5 * MINUTE, drain_within=3 * MINUTE
    )
)
WORKED = {STARTED_AT: "2026-02-01T00:00:00Z"}
PRICES = {one.id: one.price_per_hour for one in SOLD}
ROOM = {one.id: dict(one.resources) for one in SOLD}
CORES = {SOLD[0].id: 2, SOLD[1].id: 8}
REASONS: tuple[Reason, ...] = ("Cheaper", "Drifted", "Requested")


@st.composite
def fleets(draw: st.DrawFn) -> list[Any]:
    """A few nodes, each with pods that fit. All pods are of one size, so that no scheduler can waste room."""
    things: list[Any] = []
    cpu = draw(st.sampled_from(["500m", "1"]))
    for number, offering in enumerate(draw(st.lists(st.sampled_from(sorted(CORES)), min_size=2, max_size=7))):
        name = f"n{number}"
        disruption = draw(st.sampled_from([{}, {}, {}, {DRAIN: "so"}, {TEMPLATE: "old"}]))
        things.append(a_node(name, offering=offering, has=ROOM[offering], annotations={**WORKED, **disruption}))
        count = draw(st.integers(0, CORES[offering]))
        apps = draw(st.lists(st.sampled_from("xyz"), min_size=count, max_size=count))
        things += (
            a_pod(f"{name}-{pod}", node=name, requests={"cpu": cpu}, labels={"app": app})
            for pod, app in enumerate(apps)
        )
    return things


@st.composite
def guarded(draw: st.DrawFn) -> list[Any]:
    """The same, with budgets of pods: of y two are asked, so nobody ever evicts one of these."""
    about = [("x", ["x"]), ("y", ["y"]), ("both", ["y", "z"])][: draw(st.integers(0, 3))]
    found = [
        a_budget(name, {"matchExpressions": [{"key": "app", "operator": "In", "values": apps}]}, allowed=left)
        for name, apps in about
        for left in [draw(st.integers(0, 2))]
    ]
    return [*draw(fleets()), *found]


@st.composite
def budgets(draw: st.DrawFn) -> dict[str, Any]:
    """How many may go, of which some only hold from a minute of the hour on, for some minutes."""
    budget: dict[str, Any] = {"nodes": draw(st.integers(0, 3))}
    if draw(st.booleans()):
        budget["reasons"] = draw(st.lists(st.sampled_from(REASONS), min_size=1, max_size=2, unique=True))
    if draw(st.booleans()):
        budget |= {"schedule": f"{draw(st.integers(0, 29))} * * * *", "duration": f"{draw(st.integers(1, 30))}m"}
    return budget


def allowed(most: int, stated: list[dict[str, Any]], reason: Reason, now: datetime) -> int:
    """How many may be on their way out, with nothing but sums."""
    limits = [most]
    for one in stated:
        begins = int(one["schedule"].split()[0]) if "schedule" in one else 0
        lasts = int(one["duration"][:-1]) if "duration" in one else 60
        if reason in one.get("reasons", REASONS) and begins <= now.minute < begins + lasts:
            limits.append(one["nodes"])
    return min(limits)


def going(town: Town) -> dict[str, Reason]:
    """Nodes that do not take pods any more: emptied, leaving, or broken; with the reason of the move, if one is."""
    found: dict[str, Reason] = {
        name: "Cheaper"
        for name, node in town.nodes.items()
        if not node.is_ready or any(taint.key == SCALE_DOWN for taint in node.spec.taints) or name in town.leaving
    }
    for move in town.moves:
        if move.status.phase == "Draining":
            found |= {name: move.spec.reason for name in move.spec.nodes if name in town.nodes}
    return found


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    things=guarded(),
    most=st.integers(1, 3),
    stated=st.lists(budgets(), max_size=2),
    ill=st.dictionaries(st.integers(0, 60), st.integers(0, 6), max_size=4),
)
def test_budgets_hold_at_every_instant(
    things: list[Any], most: int, stated: list[dict[str, Any]], ill: dict[int, int]
) -> None:
    """Whoever is emptied is one of no more than may go then, although nodes fall ill and recover meanwhile."""
    town = Town(*things, pool=acting(maxUnavailable=most, budgets=stated), settings=QUICK)
    before: dict[str, Reason] = {}

    def judge() -> None:
        nonlocal before
        after = going(town)
        for name in after.keys() - before.keys():
            if town.nodes[name].is_ready:
                assert len(after) <= allowed(most, stated, after[name], town.now), (name, after, town.now)
        minute = int((town.now - NOW) / MINUTE)
        if minute in ill and (name := f"n{ill[minute]}") in town.nodes:
            node = town.nodes[name]
            town.add(a_node(name, ready=not node.is_ready, annotations=WORKED, taints=node.spec.taints))
            del ill[minute]
        before = going(town)

    town.live(timedelta(minutes=75), each=judge)


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(things=guarded(), most=st.integers(1, 5))
def test_money_never_rises_and_nobody_is_lost(things: list[Any], most: int) -> None:
    """When a wave for money is over, all of it costs less than before it, and every pod is somewhere."""
    terms: dict[str, Any] = {"maxUnavailable": most, "budgets": [{"nodes": 0, "reasons": ["Drifted", "Requested"]}]}
    town = Town(*things, pool=acting(**terms), settings=QUICK)
    pods, cost = len(town.pods), price(town)

    def judge() -> None:
        nonlocal cost
        assert len(town.pods) == pods
        if any(not move.is_over for move in town.moves) or town.leaving:
            return
        assert all(move.status.phase == "Done" for move in town.moves)
        now = price(town)
        assert now <= cost + 1e-9
        cost = now

    town.live(timedelta(minutes=90), each=judge)


def price(town: Town) -> float:
    return sum(PRICES[node.metadata.labels["growth.dev/offering"]] for node in town.nodes.values())


@pytest.mark.long
@settings(max_examples=20, deadline=None)
@given(things=fleets(), mode=st.sampled_from(["off", "observe", "act"]))
def test_whoever_a_person_wants_to_go_goes(things: list[Any], mode: str) -> None:
    """And in pools that do not act, nobody else."""
    pool = a_pool(types=["small", "large"], disruption={"mode": mode, "maxUnavailable": 1})
    town = Town(*things, pool=pool, settings=QUICK)
    asked = {name for name, node in town.nodes.items() if DRAIN in node.metadata.annotations}
    others = town.nodes.keys() - asked
    town.live(timedelta(minutes=60))
    assert asked.isdisjoint(town.nodes)
    if mode != "act":
        assert others <= town.nodes.keys()
