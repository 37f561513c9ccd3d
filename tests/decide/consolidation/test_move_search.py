"""Every form of move, and when none is made."""

import math
from datetime import timedelta

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.offering import Offering
from growth.decide.consolidation.move_search import advise
from growth.decide.consolidation.problem import ConsolidationProblem, SavingThreshold
from tests.decide import stages
from tests.decide.consolidation.fleet import (
    DEAR,
    LARGE,
    MIDDLE,
    OWNER,
    SMALL,
    SOLD,
    a_fleet,
    forms,
    judge,
    made,
    of_size,
)
from tests.decide.marketplace import a_pool
from tests.drawing import examples


def test_an_empty_node_goes() -> None:
    advice = advise(a_fleet({"a": (SMALL, []), "b": (SMALL, ["1500m"])}))
    assert forms(advice) == [("delete", ("a",), ())]
    assert advice.saves_per_hour == SMALL.price_per_hour


def test_pods_move_into_room_that_is_there() -> None:
    advice = advise(a_fleet({"a": (MIDDLE, ["1"]), "b": (MIDDLE, ["2"])}))
    assert forms(advice) in ([("fold", ("a",), ())], [("fold", ("b",), ())])


def test_nobody_moves_to_a_node_that_stands_empty_and_goes_by_itself() -> None:
    """Nothing would be saved: one of the two stays, whoever moves."""
    assert forms(advise(a_fleet({"a": (MIDDLE, ["3500m"]), "b": (MIDDLE, [])}, staying=["b"]))) == []


def test_a_dear_machine_is_replaced_by_a_cheaper_one() -> None:
    """It was bought when there was nothing else."""
    advice = advise(a_fleet({"a": (DEAR, ["3500m"])}))
    assert forms(advice) == [("replace", ("a",), ("middle",))]


def test_several_become_one() -> None:
    advice = advise(a_fleet({"a": (DEAR, ["1500m"]), "b": (DEAR, ["1500m"])}, offered=(MIDDLE,)))
    assert forms(advice) == [("merge", ("a", "b"), ("middle",))]
    assert advice.after_per_hour == pytest.approx(MIDDLE.price_per_hour)


def test_a_large_one_is_split_into_small_ones() -> None:
    """What no peer does."""
    advice = advise(a_fleet({"a": (LARGE, ["1900m", "1900m"])}, offered=(SMALL, LARGE)))
    assert forms(advice) == [("split", ("a",), ("small", "small"))]


def test_a_cluster_that_is_the_cheapest_is_left_alone() -> None:
    advice = advise(a_fleet({"a": (SMALL, ["1900m"]), "b": (MIDDLE, ["3900m"])}))
    assert advice.moves == ()
    assert advice.bound_per_hour <= advice.best_per_hour <= advice.now_per_hour


def test_little_is_not_worth_the_trouble() -> None:
    little = of_size("middle", 4, 3.9)
    assert advise(a_fleet({"a": (DEAR, ["3500m"])}, offered=(little,))).moves == ()
    eager = SavingThreshold(share=0.01, pays_back_within=timedelta(days=1))
    assert forms(advise(a_fleet({"a": (DEAR, ["3500m"])}, offered=(little,), worth={"default": eager}))) == [
        ("replace", ("a",), ("middle",))
    ]


def test_what_is_paid_twice_meanwhile_must_come_back_soon() -> None:
    slow = SavingThreshold(overlap=timedelta(hours=2))
    assert advise(a_fleet({"a": (DEAR, ["3500m"])}, worth={"default": slow})).moves == ()


def test_who_moves_is_away_for_a_while_and_that_must_be_worth_it() -> None:
    slow = SavingThreshold(restart=timedelta(hours=2))
    assert advise(a_fleet({"a": (DEAR, ["3500m"])}, worth={"default": slow})).moves == ()


def test_of_two_that_waste_the_same_the_one_goes_from_which_fewer_have_to_move() -> None:
    fleet = {"a": (DEAR, ["100m"] * 10), "b": (DEAR, ["1"])}
    (move,) = advise(a_fleet(fleet, at_once={"default": 1}), waves=1).moves
    assert move.terminating == ("b",)


def test_not_too_many_go_for_machines_that_they_share() -> None:
    """One pod without a place would undo the whole, and all that was bought for it would go again."""
    fleet = {f"n{number:02}": (DEAR, ["700m", "800m", "900m"]) for number in range(24)}
    moves = advise(a_fleet(fleet, at_once={"default": 24}, offered=(LARGE,))).moves
    assert moves
    assert max(len(move.terminating) for move in moves if move.launching) <= 8


def test_a_node_that_is_none_to_go_stays_and_takes_in_others() -> None:
    advice = advise(a_fleet({"a": (DEAR, ["1"]), "b": (DEAR, ["1"])}, staying=["b"]))
    assert forms(advice) == [("fold", ("a",), ())]


def test_limits_hold_while_old_and_new_are_both_there() -> None:
    pool = a_pool(types=[one.server_type for one in SOLD], limits={"nodes": 1})
    assert advise(a_fleet({"a": (DEAR, ["3500m"])}, pool=pool)).moves == ()


def test_no_more_than_may_go_at_once_go_in_one_wave() -> None:
    fleet = {name: (DEAR, ["3500m"]) for name in "abcd"}
    one = advise(a_fleet(fleet, at_once={"default": 1}), waves=1)
    assert sum(len(move.terminating) for move in one.moves) == 1
    assert advise(a_fleet(fleet, at_once={"default": 0})).moves == ()
    all_of_them = advise(a_fleet(fleet, at_once={"default": 1}))
    assert sum(len(move.terminating) for move in all_of_them.moves) == 4


def test_room_is_kept_for_who_may_come_back() -> None:
    fleet = {"a": (MIDDLE, ["1"]), "b": (MIDDLE, ["2"])}
    ghost = stages.a_pod("ghost", requests={"cpu": "2"})
    assert advise(a_fleet(fleet, ghosts=(ghost,), offered=(MIDDLE,))).moves == ()


def test_nobody_moves_to_a_node_that_empties_itself() -> None:
    """When its Job has ended, a whole machine would be paid for who was moved there."""
    fleet = {"a": (MIDDLE, ["2"]), "b": (MIDDLE, list[str]())}
    job = stages.a_pod("job", node="b", requests={"cpu": "1"}, owner={**OWNER, "kind": "Job"})
    assert advise(a_fleet(fleet, staying=["b"], pods=(job,), offered=(MIDDLE,))).moves == ()
    stays = stages.a_pod("stays", node="b", requests={"cpu": "1"}, owner=OWNER)
    folded = advise(a_fleet(fleet, staying=["b"], pods=(job, stays), offered=(MIDDLE,)))
    assert forms(folded) == [("fold", ("a",), ())], "it does not, if somebody else works there"


def test_who_may_come_back_finds_room_where_jobs_work() -> None:
    fleet = {"a": (MIDDLE, ["1"]), "b": (MIDDLE, ["2"]), "c": (MIDDLE, list[str]())}
    job = stages.a_pod("job", node="c", requests={"cpu": "100m"}, owner={**OWNER, "kind": "Job"})
    ghost = stages.a_pod("ghost", requests={"cpu": "3500m"})
    advice = advise(a_fleet(fleet, staying=["c"], pods=(job,), ghosts=(ghost,), offered=(MIDDLE,)))
    assert [form for form, _, _ in forms(advice)] == ["fold"]


def test_a_ghost_for_which_there_is_no_room_keeps_none() -> None:
    fleet = {"a": (MIDDLE, ["1"]), "b": (MIDDLE, ["2"])}
    ghost = stages.a_pod("ghost", requests={"cpu": "64"})
    assert len(advise(a_fleet(fleet, ghosts=(ghost,), offered=(MIDDLE,))).moves) == 1


def test_a_pod_that_could_be_bought_no_place_keeps_its_node() -> None:
    advice = advise(a_fleet({"a": (LARGE, ["12"])}, offered=(SMALL,)))
    assert advice.moves == ()


def test_rules_between_pods_hold_afterwards() -> None:
    """Two that keep apart stay apart."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "kubernetes.io/hostname"}
            ]
        }
    }
    pods = [
        stages.a_pod(f"db-{node}", node=node, requests={"cpu": "1"}, owner=OWNER, labels={"app": "db"}, affinity=apart)
        for node in ("a", "b")
    ]
    advice = advise(a_fleet({"a": (DEAR, []), "b": (DEAR, [])}, pods=pods))
    places = [dict(move.to) for move in advice.moves]
    assert advice.after_per_hour == 2 * SMALL.price_per_hour
    assert len({place for to in places for place in to.values()}) == 2


CORES = st.sampled_from(["250m", "500m", "1", "1500m", "2"])


@st.composite
def fleets(draw: st.DrawFn) -> ConsolidationProblem:
    """Nodes on which what is drawn fits."""
    nodes: dict[str, tuple[Offering, list[str]]] = {}
    for number in range(draw(st.integers(1, 8))):
        offering = draw(st.sampled_from(SOLD))
        left, asked = 1000 * int(offering.resources["cpu"]), list[str]()
        for cpu in draw(st.lists(CORES, max_size=6)):
            millis = int(cpu[:-1]) if cpu.endswith("m") else 1000 * int(cpu)
            if millis <= left:
                left -= millis
                asked.append(cpu)
        nodes[f"node-{number}"] = (offering, asked)
    staying = draw(st.sets(st.sampled_from(sorted(nodes)), max_size=2))
    disruptions = enumerate(draw(st.lists(CORES, max_size=3)))
    ghosts = [stages.a_pod(f"ghost-{number}", requests={"cpu": cpu}) for number, cpu in disruptions]
    offered = draw(st.sampled_from([SOLD, (SMALL, LARGE), (MIDDLE,), (DEAR, LARGE)]))
    at_once = {"default": draw(st.integers(1, 8))}
    return a_fleet(nodes, offered=offered, staying=staying, ghosts=tuple(ghosts), at_once=at_once)


@settings(max_examples=examples(150))
@given(question=fleets())
def test_after_each_move_all_pods_fit_and_it_costs_less(question: ConsolidationProblem) -> None:
    before = question.simulated.mark()
    advice = advise(question)
    judge(question, advice)
    assert question.simulated.mark() == before, "the stage is as it was"
    assert advise(question) == advice, "the same question has the same answer"


@settings(max_examples=examples(60))
@given(question=fleets())
def test_advice_that_is_followed_comes_to_an_end(question: ConsolidationProblem) -> None:
    """What is bought in one advice may go in the next; each saves something, so nothing goes round in circles."""
    cost = math.inf
    for _ in range(5):
        advice = advise(question)
        assert advice.now_per_hour <= cost + 1e-9
        if not advice.moves:
            return
        cost, question = advice.after_per_hour, made(question, advice)
    pytest.fail("there is always something left to advise")


FOUR = {f"n{number}": (DEAR, ["1"]) for number in range(4)}


def test_while_less_and_less_is_wanted_nothing_is_bought_that_is_of_no_use_soon() -> None:
    steady = advise(a_fleet(FOUR, offered=(SMALL,), at_once={"default": 1}))
    assert {move.form for move in steady.moves} == {"split", "fold"}
    fading = a_fleet(FOUR, offered=(SMALL,), at_once={"default": 1})
    fading = msgspec.structs.replace(fading, fades_per_hour=0.9)
    assert {move.form for move in advise(fading).moves} == {"fold"}, "pods still go where there is room"


def test_while_a_little_less_is_wanted_what_is_far_cheaper_is_bought_all_the_same() -> None:
    fading = a_fleet({"n0": (DEAR, ["1"])}, offered=(SMALL,))
    fading = msgspec.structs.replace(fading, fades_per_hour=0.05)
    assert [move.form for move in advise(fading).moves] == ["replace"]


@pytest.mark.parametrize("waves", [1, 2, 50])
def test_fewer_waves_are_the_beginning_of_more(waves: int) -> None:
    fleet = {f"n{number}": (DEAR, ["1500m"]) for number in range(8)}
    question = a_fleet(fleet, at_once={"default": 2})
    some, everything = advise(question, waves), advise(question)
    assert some.moves == everything.moves[: len(some.moves)]
