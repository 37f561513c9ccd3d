"""Promises of moves in whole clusters: every rule of the scheduler, taints, daemons, several budgets for one pod."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.disruption import Reason
from growth.decide.consolidation.candidates import choice_in, wished_in
from growth.decide.consolidation.forced_moves import empty
from growth.decide.consolidation.move_search import advise
from growth.decide.consolidation.problem import Move
from growth.decide.consolidation.problem_builder import question_of
from growth.observe.cache import ClusterCache
from tests.decide.consolidation.ruled import Cluster, carried_out, clusters
from tests.decide.consolidation.seen import NOW, a_context, observed

pytestmark = pytest.mark.long


def keep_to_budgets(cluster: Cluster, moves: tuple[Move, ...]) -> None:
    """Nobody moves whom a budget keeps, or of whom two would have to be asked."""
    moved = {uid for move in moves for uid, _ in move.to}
    assert [pod.metadata.name for pod in cluster.pods if pod.metadata.uid in moved and not cluster.may_move(pod)] == []


@settings(max_examples=60, deadline=None)
@given(cluster=clusters(), most=st.integers(1, 4))
def test_after_every_prefix_of_moves_all_pods_fit_and_it_costs_less(cluster: Cluster, most: int) -> None:
    snapshot = observed(ClusterCache(), *cluster.things).snapshot(NOW)
    context = a_context(snapshot)
    choice = choice_in(context, {})
    at_once = {"default": most, "extra": most}
    question = question_of(context, choice, at_once=at_once)
    advice = advise(question)
    keep_to_budgets(cluster, advice.moves)
    cost = advice.now_per_hour
    for move in carried_out(question, advice.moves):
        after = cost - move.saves_per_hour
        assert after < cost
        cost = after
    assert cost == pytest.approx(advice.after_per_hour)
    # Of the first wave, which is what is made, no more go than may.
    first = advise(question, 1).moves
    for pool in at_once:
        own = {one.name for one in choice.candidates if one.pool == pool}
        assert sum(name in own for move in first for name in move.terminating) <= most


@settings(max_examples=60, deadline=None)
@given(cluster=clusters(), wanted=st.sets(st.integers(0, 6)), shunned=st.sets(st.integers(0, 6)))
def test_whoever_must_go_leaves_all_pods_a_place(cluster: Cluster, wanted: set[int], shunned: set[int]) -> None:
    """One node after the other, whatever that costs."""
    snapshot = observed(ClusterCache(), *cluster.things).snapshot(NOW)
    disruptions: dict[str, Reason] = {f"n{n}": "Requested" for n in sorted(wanted) if f"n{n}" in snapshot.nodes}
    context = a_context(snapshot)
    choice = wished_in(context, {}, disruptions)
    question = question_of(context, choice, at_once={})
    found = empty(question, [f"n{n}" for n in sorted(shunned)])
    assert {*found.stuck, *(name for move in found.moves for name in move.terminating)} == {
        one.name for one in choice.candidates
    }
    keep_to_budgets(cluster, found.moves)
    # Nodes that must go are no place for others' pods, and those that stay stuck are none either.
    going = {one.name for one in choice.candidates}
    assert going.isdisjoint(place for move in found.moves for _, place in move.to)
    for _ in carried_out(question, found.moves):
        pass
