"""What ``growth top`` shows of one machine while Growth runs, from the wish to the retry that ends it."""

import asyncio
from collections.abc import Callable
from itertools import groupby

from growth.api.kinds import PODS
from growth.cli.reports.machines import Fleet, MachinePhase, MachineRow, fleet_of
from growth.cli.requests import ask_for_retry
from growth.cli.top import state
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth.run.logs import silent_logs
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.simulated import play_virtually

SOON = {"emptyAfter": "3s", "delayAfterScaleUp": "0s"}
FRAME_SECONDS = 0.1


class Looking:
    """Somebody who looks on and remembers; one machine at a time is enough here."""

    def __init__(self) -> None:
        self.seen: list[MachineRow] = []
        self.words: list[str] = []
        self.costs: list[float | None] = []

    async def look_until(self, condition: Callable[[Fleet], bool], play: Play, world: ClusterCache) -> None:
        async with asyncio.timeout(60):
            while not condition(fleet := fleet_of(world.snapshot(play.now()))):
                self._remember(fleet)
                await asyncio.sleep(FRAME_SECONDS)
        self._remember(fleet)

    def _remember(self, fleet: Fleet) -> None:
        self.seen += fleet.machines
        self.words += [str(state(machine, fleet.at)) for machine in fleet.machines]
        self.costs.append(fleet.cost_per_hour)


def is_a(phase: MachinePhase) -> Callable[[Fleet], bool]:
    return lambda fleet: any(machine.standing is phase for machine in fleet.machines)


def test_a_machine_is_shown_from_the_wish_to_its_end() -> None:
    looking = Looking()

    async def tell(play: Play) -> None:
        world = ClusterCache()
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play) as growth, watching(play.client, world):
            await a_pool(play, scaleDown=SOON)
            await play.pod("app", cpu="1500m", nodeSelector={})
            await looking.look_until(is_a(MachinePhase.READY), play, world)
            await growth.hurt(name := looking.seen[-1].name, "deleteFails")
            await play.delete(PODS, "app", grace_seconds=0)
            await looking.look_until(is_a(MachinePhase.FAILED), play, world)
            await growth.hurt(name, "")
            await ask_for_retry(play.client, name, play.now())
            await looking.look_until(lambda fleet: not fleet.machines and not fleet.cost_per_hour, play, world)

    with silent_logs():
        play_virtually(tell, alone=True)

    assert [phase for phase, _ in groupby(looking.seen, key=lambda one: one.standing)] == [
        # No frame is short enough to see it starting: a played node is ready as soon as it is there.
        *(
            MachinePhase.COMING,
            MachinePhase.READY,
            MachinePhase.EMPTY,
            MachinePhase.LEAVING,
            MachinePhase.FAILED,
            MachinePhase.LEAVING,
        ),
    ]
    assert {"Provisioning for 0s", "empty: goes in 2s", "leaving for 3s: attempt 1"} <= set(looking.words)
    assert 0.01 in looking.costs
    failed = next(one for one in looking.seen if one.standing is MachinePhase.FAILED)
    assert (failed.attempts, failed.phase, failed.work) == (2, "RemovalFailed", 0)
    assert failed.message.startswith("Unavailable: delete ")
