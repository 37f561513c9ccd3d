"""Plans that can be reached: what is called proven gets stuck in no order, and neither does any small plan."""

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.pod import Pod
from growth.decide.solver.equivalence_groups import EquivalenceGroup, grouped
from growth.decide.solver.zone_assignment import Portion, ZoneDemand, ZonePlan, share_out
from tests.decide.solver.shop import ZONE, ZONES, apart, pods, solve, spread, together
from tests.decide.solver.worlds import APPS, World, enter, order_that_gets_stuck, worlds
from tests.decide.stages import a_pod, a_stage

pytestmark = pytest.mark.long

Counts = Counter[tuple[int, str]]


def shared(waiting: list[Pod], existing: dict[str, Counter[str]]) -> tuple[list[EquivalenceGroup], ZonePlan, Counts]:
    found = grouped(waiting, a_stage(pods=waiting))
    asks = [ZoneDemand(number, len(group.pods), ZONES) for number, group in enumerate(found.groups)]
    counts: Counts = Counter()
    for app, zones in existing.items():
        carried = found.selectors.carried("default", {"app": app})
        for selector in range(len(found.selectors)):
            for zone, number in zones.items():
                counts[selector, zone] += number * (carried >> selector & 1)
    by_selector = {s: {z: counts[s, z] for z in ZONES if counts[s, z]} for s in range(len(found.selectors))}
    return found.groups, share_out(found.groups, asks, {s: zones for s, zones in by_selector.items() if zones}), counts


def may_come(group: EquivalenceGroup, zone: str, counts: Counts) -> bool:
    """The scheduler's rules about zones, written down once more."""
    if not zone:
        return True
    for selector, skew in group.rules.zone_spread:
        itself = group.carries >> selector & 1
        if counts[selector, zone] + itself - min(counts[selector, one] for one in ZONES) > skew:
            return False
    if any(counts[selector, zone] for selector in group.rules.zone_apart):
        return False
    for selector in group.rules.zone_together:
        is_first = group.carries >> selector & 1 and not any(counts[selector, one] for one in ZONES)
        if not counts[selector, zone] and not is_first:
            return False
    return True


def gets_stuck(groups: list[EquivalenceGroup], portions: list[Portion], counts: Counts) -> bool:
    """Whether any order leaves somebody waiting for ever: all states are visited."""
    seen: set[tuple[int, ...]] = set()

    def follow(left: tuple[int, ...], here: Counts) -> bool:
        if left in seen:
            return False
        seen.add(left)
        is_over = True
        for at, portion in enumerate(portions):
            group = groups[portion.group]
            if not left[at] or not may_come(group, portion.zone, here):
                continue
            is_over = False
            after = here.copy()
            for selector in range(group.carries.bit_length()):
                after[selector, portion.zone] += group.carries >> selector & 1
            if follow((*left[:at], left[at] - 1, *left[at + 1 :]), after):
                return True
        return is_over and any(left)

    return follow(tuple(portion.count for portion in portions), counts)


@st.composite
def zonal_pods(draw: st.DrawFn) -> list[Pod]:
    waiting: list[Pod] = []
    for _ in range(draw(st.integers(2, 4))):
        app, other = draw(st.sampled_from(APPS)), draw(st.sampled_from(APPS))
        rules = [
            {},
            spread(app),
            spread(other),
            spread(other, skew=2),
            together(app),
            together(other),
            apart(app, ZONE),
        ]
        cpu = draw(st.sampled_from(["100m", "200m", "300m"]))
        waiting += pods(draw(st.integers(1, 3)), cpu, app=app, **draw(st.sampled_from(rules)))
    return waiting


@settings(max_examples=300, deadline=None)
@given(zonal_pods(), st.dictionaries(st.sampled_from(APPS), st.dictionaries(st.sampled_from(ZONES), st.integers(1, 2))))
def test_zones_that_are_called_proven_get_stuck_in_no_order(
    waiting: list[Pod], existing: dict[str, dict[str, int]]
) -> None:
    groups, plan, counts = shared(waiting, {app: Counter(zones) for app, zones in existing.items()})
    assert not plan.is_proven or not gets_stuck(groups, plan.portions, counts)


def test_who_stays_together_is_not_proven_if_one_of_them_follows_others_elsewhere() -> None:
    # If the last one comes first, the others cannot open the zone that they are meant for.
    waiting = [
        *pods(4, app="c", **together("c")),
        *pods(1, app="a", **together("a")),
        a_pod(requests={"cpu": "100m"}, labels={"app": "c"}, **together("a")),
    ]
    groups, plan, counts = shared(waiting, {})
    assert gets_stuck(groups, plan.portions, counts)
    assert not plan.is_proven


@settings(max_examples=150, deadline=None)
@given(worlds(most=7))
def test_no_order_of_the_scheduler_spoils_a_small_plan(world: World) -> None:
    solution = solve(world.waiting, world.offerings, world.pools, stage=world.stage())
    stage = world.stage()
    assert order_that_gets_stuck(stage, list(enter(solution, stage).values())) is None
