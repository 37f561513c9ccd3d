"""How many nodes of a pool its budgets let go."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Any, get_args

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.annotations import STARTED_AT
from growth.api.disruption import DisruptionBudget, Reason
from growth.api.node import Node
from growth.api.taints import SCALE_DOWN
from growth.decide.policy.disruption_budgets import Allowance, allowance, complaints
from growth.decide.policy.pool_terms import max_unavailable
from tests.decide.marketplace import a_pool
from tests.decide.stages import read

NOON = datetime(2026, 11, 16, 12, tzinfo=UTC)
REASONS: tuple[Reason, ...] = get_args(Reason)
OFFICE = {"schedule": "0 9 * * mon-fri", "timeZone": "Europe/Berlin", "duration": "8h"}
NIGHT = {"schedule": "0 22 * * *", "duration": "8h"}


def a_node(name: str, *, ready: bool = True, started: bool = True, marked: bool = False) -> Node:
    taints = [{"key": SCALE_DOWN, "effect": "NoSchedule"}] if marked else []
    annotations = {STARTED_AT: "2026-11-01T00:00:00Z"} if started else {}
    return read(
        {
            "kind": "Node",
            "metadata": {"name": name, "uid": name, "resourceVersion": "1", "annotations": annotations},
            "spec": {"taints": taints},
            "status": {"conditions": [{"type": "Ready", "status": "True" if ready else "Unknown"}]},
        }
    )


def a_budget(nodes: int | str, *reasons: Reason, **fields: str) -> DisruptionBudget:
    return msgspec.convert({"nodes": nodes, "reasons": reasons, **fields}, DisruptionBudget)


def allowed(
    *budgets: DisruptionBudget,
    reason: Reason = "Cheaper",
    most: int | str = "50%",
    nodes: int | Sequence[Node] = 10,
    leaving: Sequence[str] = (),
    now: datetime = NOON,
) -> Allowance:
    standing = [a_node(f"n{number}") for number in range(nodes)] if isinstance(nodes, int) else nodes
    pool = a_pool(disruption={"maxUnavailable": most})
    return allowance(pool, budgets, reason, nodes=standing, terminating=leaving, now=now)


@pytest.mark.parametrize(
    ("budgets", "most", "set_by"),
    [
        pytest.param([], 5, "disruption.maxUnavailable", id="without budgets the general bound counts"),
        pytest.param([a_budget(3)], 3, "disruption.budgets[0]", id="a budget counts if it is smaller"),
        pytest.param([a_budget(7)], 5, "disruption.maxUnavailable", id="a budget never allows more than the bound"),
        pytest.param([a_budget("31%")], 4, "disruption.budgets[0]", id="a share is rounded up"),
        pytest.param([a_budget("1%")], 1, "disruption.budgets[0]", id="a share is at least one node"),
        pytest.param([a_budget("0%")], 0, "disruption.budgets[0]", id="unless it is nothing"),
        pytest.param([a_budget("2")], 2, "disruption.budgets[0]", id="a number may be a text"),
        pytest.param([a_budget(4), a_budget(2), a_budget(3)], 2, "disruption.budgets[1]", id="the smallest counts"),
        pytest.param([a_budget(0, "Drifted")], 5, "disruption.maxUnavailable", id="it is about other reasons"),
        pytest.param([a_budget(0, "Drifted", "Cheaper")], 0, "disruption.budgets[0]", id="it is about this one, too"),
        pytest.param([a_budget(0, **OFFICE)], 0, "disruption.budgets[0]", id="it holds now"),
        pytest.param([a_budget(0, **NIGHT)], 5, "disruption.maxUnavailable", id="it does not hold now"),
        pytest.param(
            [a_budget(0, schedule="often", duration="8h")], 0, "disruption.budgets[0]", id="in doubt nobody goes"
        ),
        pytest.param([a_budget(0, "Drifted", schedule="often", duration="8h")], 5, "disruption.maxUnavailable",
                     id="also a budget that nobody understands is about its reasons only"),
        pytest.param([a_budget("many")], 0, "disruption.budgets[0]", id="no number allows nothing"),
    ],
)  # fmt: skip
def test_which_number_counts(budgets: list[DisruptionBudget], most: int, set_by: str) -> None:
    assert allowed(*budgets) == Allowance(most, 0, set_by)


def test_office_hours_are_those_of_the_office() -> None:
    office = a_budget(0, **OFFICE)
    hours = [hour for hour in range(24) if allowed(office, now=NOON.replace(hour=hour)).left == 0]
    assert hours == list(range(8, 16))  # UTC, in winter
    hours = [hour for hour in range(24) if allowed(office, now=NOON.replace(month=7, day=16, hour=hour)).left == 0]
    assert hours == list(range(7, 15))
    assert allowed(office, now=NOON - timedelta(days=1)).left == 5, "nobody is in on Sundays"


@pytest.mark.parametrize(
    ("changed", "leaving", "going"),
    [
        pytest.param({}, [], 0, id="a node that works"),
        pytest.param({}, ["n0"], 1, id="one that is removed or drained"),
        pytest.param({"marked": True}, [], 1, id="one that is marked"),
        pytest.param({"ready": False}, [], 1, id="one that does not work"),
        pytest.param({"ready": False, "marked": True}, ["n0"], 1, id="one for all reasons counts once"),
    ],
)
def test_nodes_on_their_way_out_use_it_up(changed: dict[str, Any], leaving: list[str], going: int) -> None:
    nodes = [a_node("n0", **changed), *(a_node(f"n{number}") for number in range(1, 10))]
    found = allowed(a_budget(3), nodes=nodes, leaving=leaving)
    assert (found.leaving, found.left) == (going, 3 - going)


def test_nodes_that_start_are_neither_part_of_the_pool_nor_missing_in_it() -> None:
    starting = [a_node(f"new{number}", ready=False, started=False) for number in range(10)]
    nodes = [*(a_node(f"n{number}") for number in range(10)), *starting]
    assert allowed(nodes=nodes) == Allowance(5, 0, "disruption.maxUnavailable")
    assert allowed(nodes=nodes, leaving=["new0"]) == Allowance(6, 1, "disruption.maxUnavailable")


def test_what_is_used_up_is_never_less_than_nothing() -> None:
    assert allowed(a_budget(1), leaving=["n1", "n2", "n3"]).left == 0


counts = st.one_of(st.integers(0, 30), st.integers(0, 100).map("{}%".format))
budgets = st.builds(
    DisruptionBudget,
    counts,
    st.lists(st.sampled_from(REASONS), max_size=3).map(tuple),
    st.sampled_from((None, "0 9 * * mon-fri", "0 22 * * *", "often")),
    st.just("Europe/Berlin"),
    st.sampled_from((None, "8h")),
)
moments = st.integers(0, 14 * 24 * 60).map(lambda minutes: NOON + timedelta(minutes=minutes))


@given(st.lists(budgets, max_size=4), st.sampled_from(REASONS), counts, st.tuples(*[st.integers(0, 20)] * 2), moments)
def test_never_more_than_max_unavailable_are_on_their_way_out(
    drawn: list[DisruptionBudget], reason: Reason, most: int | str, sizes: tuple[int, int], now: datetime
) -> None:
    nodes, going = max(sizes), min(sizes)
    leaving = [f"n{number}" for number in range(going)]
    found = allowed(*drawn, reason=reason, most=most, nodes=nodes, leaving=leaving, now=now)
    bound = max_unavailable(a_pool(disruption={"maxUnavailable": most}), nodes)
    assert 0 <= found.most <= bound
    assert found.left == 0 or found.leaving + found.left <= bound


@given(
    st.lists(budgets, max_size=3), st.lists(st.sampled_from(REASONS), max_size=3), st.sampled_from((0, "0%")), moments
)
def test_a_budget_of_nothing_stops_all_of_its_reasons_and_no_other(
    drawn: list[DisruptionBudget], reasons: list[Reason], none: int | str, now: datetime
) -> None:
    for reason in REASONS:
        before, after = (
            allowed(*several, reason=reason, now=now) for several in (drawn, [*drawn, a_budget(none, *reasons)])
        )
        assert after.left == (0 if not reasons or reason in reasons else before.left)


def test_what_a_person_should_mend_names_the_field_the_value_and_what_was_expected() -> None:
    told = complaints([a_budget(1), a_budget("101%", schedule="61 * * * *", duration="8h")])
    mend = "until it is mended, the budget allows no node to go"
    nodes = "'101%' is not a number of nodes, expected one such as 2, or a share from 0% to 100%"
    schedule = "'61 * * * *' is not a schedule: minute '61' is not known, expected a number from 0 to 59"
    assert told == [
        f"spec.disruption.budgets[1].nodes: {nodes}; {mend}",
        f"spec.disruption.budgets[1].schedule: {schedule}; {mend}",
    ]
