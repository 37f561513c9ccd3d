"""What a broken server type costs, and how long pods wait for one that works: ``python -m bench.broken_types``.

A pool offers a cheap type in three locations whose machines come, are billed and never work, and a dearer type that
works. All durations are the defaults, scaled by 1/100 (``--scale``), so that the virtual and the real control plane
play the same; a machine boots in 1 s. Nothing is known at the start.

| field | meaning |
|---|---|
| launched | machines that were requested until all pods ran, or until the time was over |
| in_vain | of these, machines on which no pod ever ran |
| vain_cost | what those cost, at their hourly price, from the request to the end of the machine |
| first_working_after | until a machine of the working type was requested, in failure times (the scaled machineWithin) |
| all_running_after | until all pods ran, in failure times; null if that did not happen in ``--horizon`` failure times |

Weakness: durations of the virtual and the real world are scaled down, boot and reaction times are not scaled alike.
"""

import argparse
import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node_request import NodeRequest
from growth.api.settings.model import ProvisionSettings, Settings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.local import a_real_world
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually

FAULTS: Final = ("neverRegisters", "neverReady", "vanishes=1s", "smaller=20%")
_PRICES: Final = {"cheap": 0.01, "dear": 0.02}
_HOUR: Final = 3600.0


def catalogue(fault: str) -> str:
    """A cheap type that is broken in three locations, and a dearer one that works."""
    locations = ("fsn1", "nbg1", "hel1")
    prices = {
        name: ", ".join(f"{place}: {price + at / 1000:g}" for at, place in enumerate(locations))
        for name, price in _PRICES.items()
    }
    return f"""
provider: kwok
bootDelay: 1s
locations: {{fsn1: {{}}, nbg1: {{}}, hel1: {{}}}}
reserved: {{cpu: 100m, memory: 256Mi}}
serverTypes:
  - {{name: cheap, resources: {{cpu: 4, memory: 8Gi}}, prices: {{{prices["cheap"]}}}, faults: ["{fault}"]}}
  - {{name: dear, resources: {{cpu: 4, memory: 8Gi}}, prices: {{{prices["dear"]}}}}}
"""


def scaled(scale: float) -> Settings:
    """The default durations of launching, so many times shorter."""
    defaults = ProvisionSettings()
    shorter = {
        field: getattr(defaults, field) / scale
        for field in ("machine_within", "ready_within", "keep_ready", "hand_over", "unmet", "unmet_at_most")
    }
    provision = msgspec.structs.replace(defaults, **shorter, forget_after=defaults.forget_after / scale)
    return msgspec.structs.replace(QUICK, provision=provision)


@dataclass
class Launch:
    """One machine, from its request to its end."""

    name: str
    offering: str
    began_at: float
    ended_at: float | None = None
    is_used: bool = False

    @property
    def server_type(self) -> str:
        """Cheap or dear."""
        return self.offering.split("-")[1]


class Meter:
    """Follows the requests of one scenario, and what became of each."""

    def __init__(self, play: Play) -> None:
        self._play, self._now = play, asyncio.get_running_loop().time
        self.began = self._now()
        self.requests: dict[str, Launch] = {}
        play.trace.when_seen.append(self._look)

    def _look(self) -> None:
        trace, now = self._play.trace, self._now()
        requests: dict[Any, NodeRequest] = trace.objects[NODE_REQUESTS]
        for one in requests.values():
            self.requests.setdefault(one.metadata.uid, Launch(one.metadata.name, one.spec.target_offering, now))
        live = {one.metadata.name for one in requests.values() if one.status.phase not in ("Unmet", "Ready")}
        live |= {one.spec.node_name for one in trace.objects[NODE_REMOVAL_REQUESTS].values()} | {*trace.nodes}
        used = {pod.node_name for pod in trace.pods.values() if pod.status.phase == "Running"}
        for one in self.requests.values():
            if one.ended_at is None:
                one.ended_at = None if one.name in live else now
                one.is_used = one.is_used or one.name in used

    def report(self, failure_time: float, end: float, *, are_running: bool) -> dict[str, object]:
        """The figures, at this instant."""
        vain = [one for one in self.requests.values() if not one.is_used]
        cost = sum(_PRICES[one.server_type] * ((one.ended_at or end) - one.began_at) / _HOUR for one in vain)
        working = [one.began_at for one in self.requests.values() if one.server_type == "dear"]
        return {
            "launched": len(self.requests),
            "in_vain": len(vain),
            "vain_cost": round(cost, 6),
            "first_working_after": round((min(working) - self.began) / failure_time, 2) if working else None,
            "all_running_after": round((end - self.began) / failure_time, 2) if are_running else None,
        }


def scenario(args: argparse.Namespace, report: dict[str, object]) -> Callable[[Play], Any]:
    """The scenario as it is told on either world; it puts its figures into the report."""
    settings = scaled(args.scale)
    failure_time = settings.provision.machine_within

    async def tell(play: Play) -> None:
        await play.node("other", taints=("dedicated=other:NoSchedule",))
        async with growing(play, settings=settings, catalogue=catalogue(args.fault)):
            await a_pool(play, types="cheap dear")
            meter = Meter(play)
            names = [f"app-{number}" for number in range(args.pods)]
            for name in names:
                await play.pod(name, cpu="900m", nodeSelector={})
            are_running = False
            with suppress(TimeoutError):
                async with asyncio.timeout(args.horizon * failure_time / timedelta(seconds=1)):
                    while not all(play.pod_is(name)() for name in names):
                        await play.trace.news()
                    are_running = True
            end = asyncio.get_running_loop().time()
            report.update(meter.report(failure_time / timedelta(seconds=1), end, are_running=are_running))

    return tell


async def _really(args: argparse.Namespace, report: dict[str, object]) -> None:
    async with a_real_world() as world:
        await world.play(scenario(args, report), alone=True)


def main() -> None:
    """Play it and print one JSON line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--pods", type=int, default=1, help="pods of 900m CPU; a machine holds four")
    parser.add_argument("--fault", choices=FAULTS, default=FAULTS[0], help="what is wrong with the cheap type")
    parser.add_argument("--scale", type=float, default=100, help="by how much the default durations are shortened")
    parser.add_argument("--horizon", type=float, default=15, help="give up after so many failure times")
    parser.add_argument("--real", action="store_true", help="on a real control plane instead of the virtual one")
    args = parser.parse_args()
    report: dict[str, object] = {}
    if args.real:
        asyncio.run(_really(args, report))
    else:
        play_virtually(scenario(args, report), alone=True)
    print(json.dumps({"bench": "broken_types", "world": "real" if args.real else "virtual", **vars(args), **report}))


if __name__ == "__main__":
    main()
