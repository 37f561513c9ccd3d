"""Growth is stopped before or after any one of its side effects, and another one goes on: nothing is bought twice."""

from collections.abc import Awaitable, Callable
from contextlib import suppress

import pytest

from growth.act.points import Point, Points
from growth.api.core import ObjectReference
from growth.play.growing import CATALOGUE, a_pool, growing
from growth.play.play import Play
from growth.play.virtual import play_virtually
from tests.stories.growing_nodes import (
    HASTY,
    TAINTED,
    Stopped,
    is_closed,
    machines,
    offerings,
    phases,
    reasons,
    runs,
    where_small,
)

pytestmark = pytest.mark.long

Ending = Callable[[Play], Awaitable[None]]


class Stopping:
    """Ends Growth when it comes by for the so-many-eth time; from then on it stays ended."""

    def __init__(self, at: int) -> None:
        self.left = at

    def __call__(self, _: Point, __: ObjectReference) -> None:
        self.left -= 1
        if self.left <= 0:
            raise Stopped


async def interrupted(play: Play, stopping: Stopping, catalogue: str, ending: Ending) -> None:
    """Growth runs until it is stopped, and then another one until all is well."""
    with suppress(Stopped):
        async with growing(play, settings=HASTY, catalogue=catalogue, points=Points(stopping, stopping)):
            await ending(play)
    async with growing(play, settings=HASTY, catalogue=catalogue):
        await ending(play)


def stops(tell: Callable[[Play, Stopping], Awaitable[None]]) -> int:
    """Tell it again and again, stopped once later each time; gives how often that was possible."""
    number = 0
    while True:
        stopping = Stopping(number + 1)
        play_virtually(lambda play, stopping=stopping: tell(play, stopping), alone=True)
        if stopping.left > 0:
            return number
        number += 1


FOUR = ("big-0", "big-1", "little-0", "little-1")


async def two_machines_filled_to_the_last(play: Play, stopping: Stopping) -> None:
    async def ending(play: Play) -> None:
        await play.until(lambda: runs(play, *FOUR), "the pods run")
        await play.until(lambda: phases(play) == ["Ready", "Ready"], "the requests are Ready")
        await play.until(lambda: not any(map(is_closed, play.trace.nodes.values())), "the nodes are open")

    await play.node("other", taints=TAINTED)
    for name, cpu in zip(FOUR, ("1100m", "1000m", "800m", "900m"), strict=True):
        await play.pod(name, cpu=cpu, nodeSelector={})
    await a_pool(play, serverTypes=[{"name": "small", "max": 2}])
    await interrupted(play, stopping, CATALOGUE, ending)
    assert len(await machines(play)) == 2


def test_wherever_it_is_stopped_a_tight_plan_comes_true_on_two_machines() -> None:
    assert stops(two_machines_filled_to_the_last) > 24


@pytest.mark.parametrize(
    ("fault", "bought", "given_back"),
    [
        pytest.param("neverRegisters", 2, 1, id="a machine without a node is given back once"),
        pytest.param("neverReady", 2, 1, id="so is one whose node is never ready"),
        pytest.param("vanishes=1s", 1, 0, id="one that vanishes leaves nothing behind"),
    ],
)
def test_wherever_it_is_stopped_the_next_offering_is_bought_once(fault: str, bought: int, given_back: int) -> None:
    async def ending(play: Play) -> None:
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: offerings(play) == ["kwok-medium-fsn1"], "the request that failed is gone")

    async def tell(play: Play, stopping: Stopping) -> None:
        await play.node("other", taints=TAINTED)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await a_pool(play)
        await interrupted(play, stopping, where_small(fault, boot_seconds=2), ending)
        assert (len(await machines(play)), len(reasons(play))) == (bought, given_back)

    assert stops(tell) > 24
