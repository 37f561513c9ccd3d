"""Drawn worlds in which offerings of a pool are broken: ``python -m tests.trust.launch_worlds --runs 300``.

A world has up to four server types in up to three locations. Each offering may be broken from the start, break later or
heal, in any of the ways in which a machine that is launched never works; pods come at drawn times. Held against each
life (docs/failed-launches.md):

1. A pod waits at most two failure times until a machine is requested that works, if some offering is never broken.
2. When everything works again, every pod runs within two failure times.
3. Machines in vain: what plans launched before anything was known, one of each offering, and one in each failure time.

Prints one line per finding, with the seed that repeats it, and one JSON line with the worst that was seen.
"""

import argparse
import asyncio
import json
import random
import sys
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import timedelta
from typing import Final

from bench.broken_types import scaled
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.settings.model import Settings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import Growth, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually

FAULTS: Final = ("neverRegisters", "neverReady", "vanishes=1s", "neverBoots")
SETTINGS: Final[Settings] = scaled(100)
_SECOND: Final = timedelta(seconds=1)
REGISTER: Final = SETTINGS.provision.machine_within / _SECOND
READY: Final = SETTINGS.provision.ready_within / _SECOND
HEALED_AT: Final = 12 * REGISTER
"""From then on nothing is broken any more."""
SLACK: Final = 6.0
"""From the request of a machine that works to its pod running, and what else is not scaled: polls, removals, passes."""


@dataclass(frozen=True)
class World:
    """What happens in one life."""

    seed: int
    prices: dict[str, float]
    """By offering (``kwok-TYPE-LOCATION``)."""
    changes: list[tuple[float, str, str]]
    """When something changes with which offering, and what is wrong with it from then on; an empty text heals it."""
    pods: list[tuple[float, str]]
    """When which pod comes."""

    @property
    def failure_time(self) -> float:
        """How long a launch in vain takes in this world."""
        return REGISTER + (READY if any(fault == "neverReady" for _, _, fault in self.changes) else 0.0)

    @property
    def sound(self) -> set[str]:
        """Offerings that are never broken."""
        return self.prices.keys() - {name for _, name, fault in self.changes if fault}

    @property
    def catalogue(self) -> str:
        """What the provider offers."""
        types: dict[str, dict[str, float]] = {}
        for name, price in self.prices.items():
            _, server_type, location = name.split("-")
            types.setdefault(server_type, {})[location] = price
        locations = ", ".join(f"{one}: {{}}" for one in sorted({one.split("-")[2] for one in self.prices}))
        lines = [
            f"  - {{name: {name}, resources: {{cpu: 4, memory: 8Gi}}, "
            f"prices: {{{', '.join(f'{place}: {price:.4f}' for place, price in prices.items())}}}}}"
            for name, prices in types.items()
        ]
        head = f"provider: kwok\nbootDelay: 1s\nlocations: {{{locations}}}\nreserved: {{cpu: 100m, memory: 256Mi}}\n"
        return "\n".join([f"{head}serverTypes:", *lines])


def drawn(seed: int) -> World:
    """The world of this seed."""
    chance = random.Random(seed)  # noqa: S311 - a drawn world, not a secret
    types = [f"t{number}" for number in range(chance.randint(1, 4))]
    locations = ["fsn1", "nbg1", "hel1"][: chance.randint(1, 3)]
    names = [f"kwok-{one}-{place}" for one in types for place in locations]
    prices = {name: round(chance.uniform(0.01, 0.1), 4) for name in names}
    share = chance.choice((0.3, 0.6, 0.9, 1.0))
    changes: list[tuple[float, str, str]] = []
    for name in names:
        if chance.random() >= share:
            continue
        broken_at = 0.0 if chance.random() < 0.7 else chance.uniform(0, 6 * REGISTER)
        changes.append((broken_at, name, chance.choice(FAULTS)))
        if chance.random() < 0.4:
            changes.append((chance.uniform(broken_at, HEALED_AT), name, ""))
    changes += [(HEALED_AT, name, "") for name in names]
    many = chance.choice((1, 1, 1, 2, 4, 12))
    pods = [(0.0 if chance.random() < 0.5 else chance.uniform(0, 6 * REGISTER), f"app-{n}") for n in range(many)]
    return World(seed, prices, sorted(changes), sorted(pods))


@dataclass
class Life:
    """What was seen in one world."""

    world: World
    requests: dict[str, tuple[str, float]] = field(default_factory=dict[str, tuple[str, float]])
    """By uid: which offering was requested, and when."""
    probes: set[str] = field(default_factory=set[str])
    ran_at: dict[str, float] = field(default_factory=dict[str, float])
    """By pod, since when it runs."""

    def is_broken(self, offering: str, at: float) -> bool:
        """Whether a machine of it that is requested now never works."""
        wrong = ""
        for when, name, fault in self.world.changes:
            if name == offering and when <= at:
                wrong = fault
        return bool(wrong)

    @property
    def in_vain(self) -> list[float]:
        """When machines were requested that never worked."""
        return sorted(at for offering, at in self.requests.values() if self.is_broken(offering, at))

    def waited(self, pod: str, came_at: float) -> float:
        """How long a pod waited, in failure times."""
        return (self.ran_at.get(pod, float("inf")) - came_at - SLACK) / self.world.failure_time

    def findings(self) -> list[str]:
        """A sentence for each promise that this life broke."""
        world, found = self.world, list[str]()
        for came_at, pod in world.pods:
            waited = self.waited(pod, came_at)
            if world.sound and waited > 2:
                found.append(f"{pod} waited {waited:.2f} failure times although {sorted(world.sound)} work")
            healed = max(came_at, HEALED_AT) + 2 * world.failure_time + SLACK
            if self.ran_at.get(pod, float("inf")) > healed:
                found.append(f"{pod} does not run although everything works")
        planned = sum(uid not in self.probes for uid in self.requests)
        last = min(HEALED_AT, max(self.ran_at.values(), default=HEALED_AT))
        allowed = planned + len(world.prices) + last / REGISTER
        if len(self.in_vain) > allowed:
            found.append(f"{len(self.in_vain)} machines in vain, allowed are {allowed:.1f}")
        return found


async def _tell(play: Play, life: Life) -> None:
    world, now = life.world, asyncio.get_running_loop().time
    await play.node("other", taints=("dedicated=other:NoSchedule",))
    async with growing(play, settings=SETTINGS, catalogue=world.catalogue) as growth:
        await a_pool(play, types=" ".join(dict.fromkeys(name.split("-")[1] for name in world.prices)))
        began = now()

        def look() -> None:
            at = now() - began
            for one in play.trace.objects[NODE_REQUESTS].values():
                life.requests.setdefault(one.metadata.uid, (one.spec.target_offering, at))
                if one.is_probe:
                    life.probes.add(one.metadata.uid)
            for pod in play.trace.pods.values():
                if pod.status.phase == "Running":
                    life.ran_at.setdefault(pod.metadata.name, at)

        play.trace.when_seen.append(look)
        await _unfold(play, growth, world, began)
        with_slack = HEALED_AT + 2 * world.failure_time + SLACK
        with suppress(TimeoutError):
            async with asyncio.timeout(began + with_slack - now()):
                while len(life.ran_at) < len(world.pods):
                    await play.trace.news()


async def _unfold(play: Play, growth: Growth, world: World, began: float) -> None:
    """Let happen what happens, each thing in its time, until the last pod has come and everything is healed."""
    faults: dict[str, str] = {}
    happenings: list[tuple[float, str, str | None]] = [
        *((at, name, fault) for at, name, fault in world.changes),
        *((at, name, None) for at, name in world.pods),
    ]
    for at, name, fault in sorted(happenings, key=lambda one: (one[0], one[2] is None, one[1])):
        await asyncio.sleep(max(0.0, began + at - asyncio.get_running_loop().time()))
        if fault is None:
            await play.pod(name, cpu="900m", nodeSelector={})
        else:
            faults[name] = fault
            growth.set_faults({one: text for one, text in faults.items() if text})


def lived(world: World) -> Life:
    """Play one world to its end."""
    life = Life(world)
    play_virtually(lambda play: _tell(play, life), seed=world.seed, alone=True)
    return life


def main() -> int:
    """Play many; gives how many broke a promise."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", maxsplit=1)[0])
    parser.add_argument("--runs", type=int, default=300, help="how many worlds")
    parser.add_argument("--first", type=int, default=0, help="the seed of the first one")
    args = parser.parse_args()
    broken = 0
    waits, in_vain, first_times = [0.0], [0], [0]
    for seed in range(args.first, args.first + args.runs):
        life = lived(drawn(seed))
        for finding in life.findings():
            print(f"seed {seed}: {finding}", flush=True)  # noqa: T201 - a command's output
        broken += bool(life.findings())
        if life.world.sound:
            waits += [life.waited(pod, at) for at, pod in life.world.pods]
        in_vain.append(len(life.in_vain))
        first_times.append(sum(at <= 2 * life.world.failure_time for at in life.in_vain))
        if (seed - args.first) % 25 == 24:
            print(f"{seed - args.first + 1} worlds, {broken} broke a promise", file=sys.stderr, flush=True)  # noqa: T201
    report = {
        "worlds": args.runs,
        "broken": broken,
        "worst_wait_failure_times": round(max(waits), 2),
        "most_in_vain": max(in_vain),
        "most_in_vain_in_two_failure_times": max(first_times),
    }
    print(json.dumps(report))  # noqa: T201
    return min(broken, 100)


if __name__ == "__main__":
    sys.exit(main())
