"""Who has to go so that somebody more important may come."""

from datetime import timedelta
from typing import Any

import pytest

from growth.api.queue.quotas import BorrowWithinCohort, Preemption
from growth.decide.queue.preemption import IN_QUEUE, RECLAIMED, RECLAIMED_TO_BORROW, PreemptionTree, victims
from growth.decide.queue.quota_holders import QuotaHolder, QuotaRequest
from growth.decide.queue.quota_tree import Quota, QuotaNode
from tests.decide.queue.stage import NOW

CPU = ("any", "cpu")
SHORT = frozenset({CPU})


class Cohorts:
    """A tree that is told in names: ``queue("a", 10, "team")``, ``held("a", "one", 4)``."""

    def __init__(self) -> None:
        self.cohorts: dict[str, QuotaNode] = {}
        self.members: dict[str, QuotaNode] = {}
        self.holders: dict[str, dict[tuple[str, str], QuotaHolder]] = {}

    def cohort(self, name: str, parent: str = "", nominal: int = 0) -> None:
        self.cohorts[name] = QuotaNode(name, {CPU: Quota(nominal)}, self.cohorts.get(parent))

    def queue(self, name: str, nominal: int, cohort: str = "", **limits: Any) -> None:  # noqa: ANN401
        if cohort and cohort not in self.cohorts:
            self.cohort(cohort)
        self.members[name] = QuotaNode(name, {CPU: Quota(nominal, **limits)}, self.cohorts.get(cohort))

    def held(self, queue: str, name: str, cpu: int, priority: int = 0, *, age: int = 0, evicted: bool = False) -> None:
        since = NOW - timedelta(minutes=age)
        holder = QuotaHolder(("default", name), name, queue, priority, since, since, {CPU: cpu}, evicted)
        self.holders.setdefault(queue, {})[holder.key] = holder
        self.members[queue].use(CPU, cpu)

    def victims(self, queue: str, cpu: int, priority: int = 10, **policy: Any) -> dict[str, str]:  # noqa: ANN401
        request = QuotaRequest(("default", "preemptor"), priority, NOW, {CPU: cpu})
        tree = PreemptionTree(self.members, self.holders)
        before = {name: member.used(CPU) for name, member in self.members.items()}
        found = victims(tree, self.members[queue], Preemption(**policy), request, SHORT)
        assert before == {name: member.used(CPU) for name, member in self.members.items()}
        return {one.holder.uid: one.reason for one in found}


def alone() -> Cohorts:
    tree = Cohorts()
    tree.queue("a", 10)
    return tree


def test_nobody_goes_where_nobody_may() -> None:
    tree = alone()
    tree.held("a", "low", 10)
    assert tree.victims("a", 1) == {}


def test_the_least_important_goes_first_and_nobody_else() -> None:
    tree = alone()
    tree.held("a", "low", 5, priority=1)
    tree.held("a", "lower", 5, priority=0)
    assert tree.victims("a", 3, within_cluster_queue="LowerPriority") == {"lower": IN_QUEUE}


def test_of_two_alike_the_newest_goes() -> None:
    tree = alone()
    tree.held("a", "old", 5, age=9)
    tree.held("a", "new", 5, age=1)
    assert tree.victims("a", 3, within_cluster_queue="LowerPriority") == {"new": IN_QUEUE}


@pytest.mark.parametrize(("policy", "going"), [("LowerPriority", {}), ("LowerOrNewerEqualPriority", {"new": IN_QUEUE})])
def test_one_of_the_same_priority_goes_only_if_it_is_newer_and_the_queue_says_so(
    policy: str, going: dict[str, str]
) -> None:
    tree = alone()
    tree.held("a", "new", 5, priority=10, age=-1)
    tree.held("a", "old", 5, priority=10, age=1)
    assert tree.victims("a", 3, within_cluster_queue=policy) == going


def test_who_need_not_have_gone_stays() -> None:
    tree = alone()
    tree.held("a", "small", 2, priority=0)
    tree.held("a", "large", 8, priority=1)
    assert tree.victims("a", 8, within_cluster_queue="LowerPriority") == {"large": IN_QUEUE}


def test_who_is_being_sent_back_already_is_taken_first() -> None:
    tree = alone()
    tree.held("a", "going", 5, priority=5, evicted=True)
    tree.held("a", "low", 5, priority=0)
    assert tree.victims("a", 3, within_cluster_queue="LowerPriority") == {"going": IN_QUEUE}


def test_nobody_goes_in_vain() -> None:
    tree = alone()
    tree.held("a", "low", 5)
    tree.held("a", "high", 5, priority=20)
    assert tree.victims("a", 6, within_cluster_queue="LowerPriority") == {}


def cohort() -> Cohorts:
    tree = Cohorts()
    tree.queue("a", 10, "team")
    tree.queue("b", 10, "team")
    return tree


def test_what_is_a_queues_own_is_taken_back_from_whoever_borrowed_it() -> None:
    tree = cohort()
    tree.held("b", "own", 10, priority=0)
    tree.held("b", "borrowed", 10, priority=20)
    assert tree.victims("a", 10, reclaim_within_cohort="Never") == {}
    assert tree.victims("a", 10, reclaim_within_cohort="LowerPriority") == {"own": RECLAIMED}
    assert tree.victims("a", 10, priority=0, reclaim_within_cohort="LowerPriority") == {}
    assert tree.victims("a", 10, priority=0, reclaim_within_cohort="Any") == {"own": RECLAIMED}


def test_nobody_loses_what_is_his() -> None:
    tree = cohort()
    tree.held("a", "mine", 8, priority=20)
    tree.held("b", "theirs", 10)
    assert tree.victims("a", 4, reclaim_within_cohort="Any") == {}


def test_others_go_before_those_of_the_same_queue() -> None:
    tree = cohort()
    tree.held("a", "mine", 5, priority=0)
    tree.held("b", "theirs", 15, priority=5)
    policy: dict[str, Any] = {"within_cluster_queue": "LowerPriority", "reclaim_within_cohort": "Any"}
    assert tree.victims("a", 5, **policy) == {"theirs": RECLAIMED}


def test_for_something_borrowed_others_go_only_below_the_threshold() -> None:
    tree = cohort()
    tree.held("a", "mine", 10, priority=20)
    tree.held("b", "first", 5, priority=3, age=2)
    tree.held("b", "second", 7, priority=5)
    tree.queue("c", 2, "team")
    policy: dict[str, Any] = {"reclaim_within_cohort": "Any"}
    assert tree.victims("a", 2, **policy) == {}
    borrow = BorrowWithinCohort("LowerPriority")
    assert tree.victims("a", 2, **policy, borrow_within_cohort=borrow) == {"first": RECLAIMED_TO_BORROW}
    borrow = BorrowWithinCohort("LowerPriority", max_priority_threshold=2)
    assert tree.victims("a", 2, **policy, borrow_within_cohort=borrow) == {}


def test_a_department_takes_back_what_another_one_borrowed() -> None:
    """Queue a1 asks for more than its own, but not for more than its department's: others must give it back."""
    tree = Cohorts()
    tree.cohort("company")
    tree.cohort("a", "company")
    tree.cohort("b", "company")
    tree.queue("a1", 5, "a")
    tree.queue("a2", 5, "a")
    tree.queue("b1", 10, "b")
    tree.held("a1", "mine", 5, priority=20)
    tree.held("b1", "theirs", 15, priority=20)
    assert tree.victims("a1", 3, reclaim_within_cohort="Any") == {"theirs": RECLAIMED}
