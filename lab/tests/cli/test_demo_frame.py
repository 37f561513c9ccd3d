"""What the demo shows of each moment: looked at ten times a second, through a whole day."""

import asyncio
from functools import cache

from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth_lab.cli.demo_frame import Scene, Stand, scene_of
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.demo import a_sale
from growth_lab.scenarios.simulated import play_virtually


@cache
def a_day() -> list[Scene]:
    scenes: list[Scene] = []

    async def tell(play: Play) -> None:
        world = ClusterCache()
        async with watching(play.client, world):
            story = asyncio.create_task(a_sale(play))
            while not story.done():
                scenes.append(scene_of(world.snapshot(play.now())))
                await asyncio.sleep(0.1)
            await story

    play_virtually(tell, alone=True)
    return scenes


def test_scenes_show_machines_from_the_wish_to_the_node() -> None:
    scenes = a_day()
    stands = {stand for scene in scenes for row in scene.rows for stand in row.stands}
    assert {Stand.PROVISIONING, Stand.READY, Stand.UNMET} <= stands
    assert any(row.since is not None for scene in scenes for row in scene.rows)


def test_in_the_evening_everybody_runs_on_machines_that_are_well_filled() -> None:
    evening = [scene for scene in a_day() if (scene.waiting, scene.running) == (0, 99)][-1]
    used = sum(row.cpu_millis.used for row in evening.rows)
    total = sum(row.cpu_millis.total for row in evening.rows)
    assert 0.8 < used / total <= 1
    assert evening.cost_per_hour > 0


def test_a_machine_whose_node_never_came_is_told_of_until_it_is_given_back() -> None:
    told = [scene.given_up for scene in a_day()]
    assert ("its machine is there, but no node registered in time",) in told
    assert told[-1] == ()


def test_at_night_machines_that_nobody_needs_are_kept_for_a_while_and_go() -> None:
    scenes = a_day()
    stands = [stand for scene in scenes for row in scene.rows for stand in row.stands]
    assert {Stand.EMPTY, Stand.LEAVING} <= set(stands)
    assert (scenes[-1].waiting, scenes[-1].running) == (0, 9)
    assert 0 < scenes[-1].cost_per_hour < max(scene.cost_per_hour for scene in scenes) / 5
