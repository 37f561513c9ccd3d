"""Growth is stopped before or after any one of its side effects, and another one goes on: nothing is bought twice."""

from contextlib import suppress

import pytest

from growth.act.points import Point, Points
from growth.api.core import ObjectReference
from growth.play.growing import a_pool, growing
from growth.play.play import Play
from growth.play.virtual import play_virtually
from tests.stories.growing_nodes import TAINTED, Stopped, is_closed, machines, phases, runs

FOUR = ("big-0", "big-1", "little-0", "little-1")


class Stopping:
    """Ends Growth when it comes by for the so-many-eth time; from then on it stays ended."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, _: Point, __: ObjectReference) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Stopped


async def two_machines_filled_to_the_last(play: Play, stopping: Stopping) -> None:
    await play.node("other", taints=TAINTED)
    for name, cpu in zip(FOUR, ("1100m", "1000m", "800m", "900m"), strict=True):
        await play.pod(name, cpu=cpu, nodeSelector={})
    await a_pool(play, serverTypes=[{"name": "small", "max": 2}])
    with suppress(Stopped):
        async with growing(play, points=Points(stopping, stopping)):
            await all_is_well(play)
    async with growing(play):
        await all_is_well(play)
        assert len(await machines(play)) == 2


async def all_is_well(play: Play) -> None:
    await play.until(lambda: runs(play, *FOUR), "the pods run")
    await play.until(lambda: phases(play) == ["Ready", "Ready"], "the requests are Ready")
    await play.until(lambda: not any(map(is_closed, play.trace.nodes.values())), "the nodes are open")


def stopped_at(number: int) -> bool:
    """Play it; gives whether Growth did so much at all."""
    stopping = Stopping(number)
    play_virtually(lambda play: two_machines_filled_to_the_last(play, stopping), alone=True)
    return stopping.left <= 0


@pytest.mark.parametrize("first", range(1, 9))
def test_wherever_it_is_stopped_two_machines_are_bought_and_the_plan_comes_true(first: int) -> None:
    number = first
    while stopped_at(number):
        number += 8
    assert number > 24, "it did less than this story takes"
