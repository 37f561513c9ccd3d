"""A process that is stopped sends nothing any more, and another one goes on."""

import pytest

from growth.api.kinds import LEASES
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK
from growth_lab.scenarios.scenario import Story
from tests.stories.growing import STORIES
from tests.trust.crash_points import Stop, stops_of
from tests.trust.interruption import Pass, Side
from tests.trust.trial import stop_at, tried

STORY = STORIES.all[0]
USUAL = [
    "take lease",
    "create growth-status",
    "patch nodepools",
    "patch nodepools/status",
    "create noderequests",
    "buy machine",
    "create configmaps",
    "patch noderequests/status",
]
ASKED = USUAL.index("create noderequests") + 1
BOUGHT = USUAL.index("create configmaps") + 1


def test_every_side_effect_of_a_story_has_a_name() -> None:
    names = [one.name for one in tried(STORY).passes]
    assert names[: len(USUAL)] == USUAL
    assert names[-1] == "release lease"


@pytest.mark.parametrize("side", Side)
def test_who_is_stopped_is_followed_by_another_one_and_the_story_ends_well(side: Side) -> None:
    trial = tried(STORY, stop_at(BOUGHT, side))
    assert trial.problems == []
    assert trial.stops == [(Pass(BOUGHT, "create configmaps"), side)]
    assert [one.name for one in trial.passes].count("take lease") == 2


@pytest.mark.parametrize(
    ("side", "times"),
    [
        pytest.param(Side.BEFORE, 2, id="before: nothing was sent, so the next one writes it"),
        pytest.param(Side.AFTER, 1, id="after: it was done, so the next one finds it"),
    ],
)
def test_a_request_is_written_once(side: Side, times: int) -> None:
    names = [one.name for one in tried(STORY, stop_at(ASKED, side)).passes]
    assert names.count("create noderequests") == times


def test_a_dead_process_says_no_goodbye() -> None:
    """Its lease runs out; nobody releases it in its name."""
    holders: list[str] = []

    async def tell(play: Play) -> None:
        await STORY.tell(play)
        lease = await play.client.get(LEASES, QUICK.leader_election.lease_name, QUICK.namespace)
        holders.append(f"{lease.spec.holder_identity}, {lease.spec.lease_transitions} times taken")

    watched = Story(STORY.name, STORY.capability, STORY.about, tell, alone=True)
    assert tried(watched, stop_at(ASKED, Side.AFTER)).problems == []
    assert holders == [", 2 times taken"]


def test_of_renewals_side_by_side_one_is_enough() -> None:
    names = ["take lease", "renew lease", "renew lease", "patch nodes", "renew lease"]
    passes = [Pass(number, name) for number, name in enumerate(names, 1)]
    assert [stop.at for stop in stops_of(passes)] == [1, 1, 2, 2, 4, 4, 5, 5]


def test_a_second_one_can_be_stopped_where_only_a_second_one_comes_by() -> None:
    first = next(one for one in tried(STORY).passes if one.name == "kwok: create csinodes")
    trial = tried(STORY, Stop(first.number, Side.AFTER, "kwok: patch csinodes", Side.AFTER).wish())
    assert trial.problems == []
    assert [one.name for one, _ in trial.stops] == ["kwok: create csinodes", "kwok: patch csinodes"]
