"""``flavorFungibility``: whether to look further where something would be borrowed, or somebody would have to go."""

from typing import NamedTuple

import pytest

from tests.decide.queue.cohort_tree import Node, Queue, Quota, Work
from tests.decide.queue.cohort_worlds import GROUPS, hold, put_tree, put_work
from tests.decide.queue.stage import NOW, Stage, settings

RED, BLUE = ("red", "cpu"), ("blue", "cpu")
NEXT, STOP = "TryNextFlavor", "MayStopSearch"
FREE, HELD = "free", "held"


class Case(NamedTuple):
    """What the team and its neighbour have of both flavors, red first; and what comes of it."""

    team: tuple[int, int]
    neighbour: tuple[int, int]
    red: str
    """Whether somebody less important of the team has all of it."""
    when_can_borrow: str
    when_can_preempt: str
    preference: str | None
    flavor: str


CASES = {
    "to borrow is good enough": Case((2, 4), (4, 0), FREE, STOP, NEXT, None, "red"),
    "before it borrows it looks at the next": Case((2, 4), (4, 0), FREE, NEXT, NEXT, None, "blue"),
    "before it borrows it looks at the next, which is no better": Case((2, 2), (4, 4), FREE, NEXT, NEXT, None, "red"),
    "that somebody goes is good enough": Case((4, 4), (0, 0), HELD, STOP, STOP, None, "red"),
    "before somebody goes it looks at the next": Case((4, 4), (0, 0), HELD, STOP, NEXT, None, "blue"),
    "it looks at the next, where there is too little": Case((4, 2), (0, 0), HELD, STOP, NEXT, None, "red"),
    "it would rather borrow than that somebody goes": Case((4, 0), (0, 4), HELD, NEXT, NEXT, None, "blue"),
    "the same in words": Case((4, 0), (0, 4), HELD, NEXT, NEXT, "BorrowingOverPreemption", "blue"),
    "it would rather that somebody goes": Case((4, 0), (0, 4), HELD, NEXT, NEXT, "PreemptionOverBorrowing", "red"),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_which_flavor_is_taken(case: Case) -> None:
    company = Node("company")
    team = Queue(
        "team",
        company,
        {RED: Quota(case.team[0]), BLUE: Quota(case.team[1])},
        GROUPS[0],
        within="LowerPriority",
        when_can_borrow=case.when_can_borrow,
        when_can_preempt=case.when_can_preempt,
        preference=case.preference,
    )
    neighbour = Queue("neighbour", company, {RED: Quota(case.neighbour[0]), BLUE: Quota(case.neighbour[1])}, GROUPS[0])
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, team, neighbour])
    if case.red == HELD:
        low = Work("low", "1", team, 0, NOW, ({"cpu": 4},))
        hold(low, ({"cpu": "red"},), NOW)
        put_work(stage, low, ({"cpu": "red"},))
    put_work(stage, Work("new", "2", team, 1, NOW, ({"cpu": 4 if case.red == HELD else 3},)))
    stage.settle()
    given = {one.metadata.name: one.status.admission for one in stage.workloads()}
    new = given["new"]
    assert new is not None
    assert [one.flavors["cpu"] for one in new.pod_set_assignments] == [case.flavor]
