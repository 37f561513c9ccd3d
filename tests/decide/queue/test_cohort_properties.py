"""Promises of cohorts and preemption in any order of events: quota, one's own, an end to preemption, nobody lost."""

from tests.decide.queue.cohort_model import Node, Queue, Quota, Work
from tests.decide.queue.cohort_worlds import GROUPS, put_tree, put_work
from tests.decide.queue.stage import NOW, Stage, settings

CPU = ("red", "cpu")


def test_who_was_sent_back_does_not_come_back_before_the_one_for_whom_it_was() -> None:
    """The preemptor has to borrow from the whole company, the preempted one only within its department. Were that still
    asked when its place is free, it would get it again, and be sent back again, for ever."""
    company = Node("company", None, {CPU: Quota(2)})
    department = Node("department", company, {CPU: Quota(4)})
    first = Queue("first", department, {CPU: Quota(6)}, GROUPS[1], reclaim="LowerPriority", borrows=True)
    second = Queue("second", department, {CPU: Quota(0)}, GROUPS[1])
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, department, first, second])
    put_work(stage, Work("highest", "1", first, 9, NOW, ({"cpu": 6},)))
    put_work(stage, Work("low", "2", second, 0, NOW, ({"cpu": 4},)))
    stage.settle()
    assert stage.admitted() == ["highest", "low"]
    put_work(stage, Work("high", "3", first, 5, NOW, ({"cpu": 6},)))
    stage.settle()
    assert stage.admitted() == ["high", "highest"]
