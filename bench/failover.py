"""How long work is away when machines lose their power: ``python -m bench.failover --nodes 50 --dead 5``.

On a real control plane with stock timings Growth, a process of its own under the shipped role, buys so many servers of
a Hetzner in a box, whose nodes kwok plays. Databases (StatefulSets of one pod with one volume) run on ``--dead`` of
them, one on each. Then these lose their power, each at an instant of its own within ten seconds, and all else follows
by itself: Leases that are not renewed, the provider's answers, the taint, pods that are ended, volumes that are
detached and attached elsewhere by the real attach/detach controller and a stand-in for the storage driver.

| field | meaning, each from the power cut of that very machine |
|---|---|
| detect_s | until Growth noticed: the first entry in the node's timeline after the cut |
| tainted_s | until the node was seen to be out of service |
| detached_s | until the VolumeAttachment of the dead node was gone |
| running_s | until the new pod was Running and its volume attached on the same living node |
| stuck | databases that run nowhere when nobody waits any longer |
| ended_again | databases whose new pod was ended, too, and came a second time |
| wrong_taints | nodes that went out of service and whose machines had power then |
| attached_twice | volumes that were attached to two nodes at one time |
| hetzner_calls | calls to the provider from the first power cut until all run |
| cpu_s_of | CPU seconds of each process meanwhile, of others, and of nobody |
| growth_rss_mb | memory of Growth at its peak |
| aim_s, missed | what running_s should be (docs/performance.md), and what of it is not; in act mode |

``--mode off`` shows Kubernetes alone: it waits for two minutes and tells how many are stuck. ``--compare`` does that
first (``off``), then turns Growth on and tells how long it takes from there (``turned_on``), then cuts the power
of the machines on which the databases are by then, with Growth at work: the figures as usual.

``--check`` (``make stress``) fails with exit code 1 after the line of JSON if an aim is missed or anything is wrong.

Weaknesses: all share the cores of one machine, there is no network, nothing is mounted, the stand-in attaches at once
(a real driver takes seconds), and kwok's pods need no time to start.
"""

import argparse
import asyncio
import json
import random
import sys
import time
from collections.abc import Sequence
from typing import Any, Final

from bench.crowd import tell
from bench.failover_aims import AIMS, missed
from bench.failover_cluster import Scene, a_scene
from bench.failover_witness import Death, after, figures, in_words, wrong_taints
from bench.growth_process import GrowthProcess
from bench.meter import peak_rss_mb_of
from bench.shares import Shares
from growth.api.settings.model import Settings

# One period of the heartbeat: each death has another phase in it.
_SPREAD_SECONDS: Final = 10.0
# By then each node's Lease was renewed before the eyes of Growth. Silence is measured from there.
_SETTLE_SECONDS: Final = 15.0
# Growth lists all machines so often anyway, and a list that comes in time is evidence: no run should owe that to luck.
_LISTED_EVERY_SECONDS: Final = Settings().providers.read_every.total_seconds()
# Nobody waits for longer after the last power cut, for Kubernetes alone and with Growth.
_OFF_SECONDS: Final = 120.0
_ACT_SECONDS: Final = 180.0
_LINE_SECONDS: Final = 5.0
_MOST_NODES: Final = 5_000
# With so many living nodes for each dead one the cluster stays healthy, and there is room for what moves.
_LIVING: Final = 4


async def measure(nodes: int, dead: int, *, mode: str, speed: str, seed: int) -> dict[str, Any]:
    """One run with Growth in one mode, from an empty cluster."""
    pods, seconds = _names(dead), _ACT_SECONDS if mode == "act" else _OFF_SECONDS
    async with a_scene(pods) as scene, scene.growth(mode=mode, speed=speed) as growth:
        await _set_up(scene, growth, nodes, pods)
        found = await _lose_power(scene, growth, pods, random.Random(seed), seconds)
        return {"mode": mode, **found, **_wrongs(scene)}


async def compare(nodes: int, dead: int, *, speed: str, seed: int) -> dict[str, Any]:
    """Growth off, turned on, and at work, one after the other on one cluster."""
    pods, draw = _names(dead), random.Random(seed)
    async with a_scene(pods) as scene:
        async with scene.growth(mode="off", speed=speed) as growth:
            await _set_up(scene, growth, nodes, pods)
            off = await _lose_power(scene, growth, pods, draw, _OFF_SECONDS)
            await growth.stop()
        tell("Growth is turned on ...")
        turned_on, stuck = time.time(), [one for one in scene.witness.deaths.values() if one.running_at is None]
        async with scene.growth(mode="act", speed=speed) as growth:
            await _follow(growth, stuck, _ACT_SECONDS)
            still = sum(one.running_at is None for one in stuck)
            if still:
                raise TimeoutError(f"{still} databases are stuck although Growth is on: {growth.last_words()}")
            found = await _lose_power(scene, growth, pods, draw, _ACT_SECONDS)
        return {
            "mode": "compare",
            "off": {"waited_s": _OFF_SECONDS, "stuck": off["stuck"], "running_s": off["running_s"]},
            "turned_on": {"running_s": after(stuck, turned_on)},
            **found,
            **_wrongs(scene),
        }


async def _set_up(scene: Scene, growth: GrowthProcess, nodes: int, pods: Sequence[str]) -> None:
    tell(f"{nodes} machines are bought ...")
    await scene.launch(nodes, growth)
    tell(f"{len(pods)} databases start ...")
    await scene.add_databases(pods, growth)


async def _lose_power(
    scene: Scene, growth: GrowthProcess, pods: Sequence[str], draw: random.Random, seconds: float
) -> dict[str, Any]:
    """Cut the power of the machine under each of these, and see what becomes of them within so long."""
    homes = scene.homes(pods)
    await scene.mount(homes)
    settle_seconds = _SETTLE_SECONDS + draw.uniform(0, _LISTED_EVERY_SECONDS)
    tell(f"{len(homes)} databases run; their machines lose their power in {settle_seconds:.0f} s ...")
    await asyncio.sleep(settle_seconds)
    calls_before = await scene.sandbox.calls()
    shares = Shares(scene.cluster, {"growth": growth.pid, "sandbox": scene.sandbox.pid})
    begun = time.monotonic()
    for when, home in sorted(((draw.uniform(0, _SPREAD_SECONDS), home) for home in homes), key=lambda one: one[0]):
        await asyncio.sleep(when - (time.monotonic() - begun))
        scene.witness.note_cut(home)
        await scene.sandbox.cut_power(home.node)
    deaths = [scene.witness.deaths[home.node] for home in homes]
    await _follow(growth, deaths, seconds)
    calls = await scene.sandbox.calls() - calls_before
    for death in sorted(deaths, key=lambda one: one.cut_at):
        tell(f"    {scene.witness.story_of(death)}")
    tell(f"asked of the provider: {dict(calls.most_common())}")
    spent = {"cpu_s_of": shares.read(), "growth_rss_mb": round(peak_rss_mb_of(growth.pid), 1)}
    return {**figures(deaths), "hetzner_calls": calls.total(), **spent}


async def _follow(growth: GrowthProcess, deaths: Sequence[Death], seconds: float) -> None:
    """Until all run again, or for so long."""
    begun = told = time.monotonic()
    while any(death.running_at is None for death in deaths) and time.monotonic() < begun + seconds:
        await asyncio.sleep(0.1)
        growth.check()
        if time.monotonic() > told + _LINE_SECONDS:
            told = time.monotonic()
            tell(f"    {told - begun:4.0f} s, {len(deaths)} machines without power: {in_words(deaths)}")


def _wrongs(scene: Scene) -> dict[str, int]:
    wrong, twice = wrong_taints(scene.witness), scene.witness.attached_twice
    for name in wrong:
        tell(f"wrong: {name} went out of service, and its machine had power")
    return {"wrong_taints": len(wrong), "attached_twice": len(twice)}


def _names(dead: int) -> list[str]:
    return [f"db-{number}-0" for number in range(dead)]


def main() -> None:
    """Measure, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=50, help="machines that Growth buys (50)")
    parser.add_argument("--dead", type=int, default=5, help="machines that lose their power (5)")
    parser.add_argument("--speed", choices=("fast", "standard"), default="fast", help="failover.speed (fast)")
    how = parser.add_mutually_exclusive_group()
    how.add_argument("--mode", choices=("act", "off"), default="act", help="failover.mode (act)")
    how.add_argument("--compare", action="store_true", help="off, turned on and act, on one cluster")
    parser.add_argument("--seed", type=int, default=1, help="of the instants at which machines lose their power (1)")
    parser.add_argument("--check", action="store_true", help="fail if an aim is missed or anything is wrong")
    options = parser.parse_args()
    if options.check and options.mode == "off":
        parser.error("--check: expected --mode act, as there is no aim for off")
    if not 1 <= options.nodes <= _MOST_NODES:
        parser.error(f"--nodes {options.nodes}: expected 1 to {_MOST_NODES}")
    if not 1 <= options.dead * (_LIVING + 1) <= options.nodes:
        parser.error(f"--dead {options.dead}: expected 1 to {options.nodes // (_LIVING + 1)}, a fifth of --nodes")
    sizes = {"bench": "failover", "nodes": options.nodes, "dead": options.dead, "speed": options.speed}
    terms: dict[str, Any] = {"speed": options.speed, "seed": options.seed}
    if options.compare:
        measuring = compare(options.nodes, options.dead, **terms)
    else:
        measuring = measure(options.nodes, options.dead, mode=options.mode, **terms)
    try:
        found = {**sizes, "seed": options.seed, **asyncio.run(measuring)}
        if options.mode == "act":
            found |= {"aim_s": AIMS[options.speed], "missed": missed(found, options.speed)}
        print(json.dumps(found))
        if options.check and found["missed"]:
            sys.exit(f"Error: {'; '.join(found['missed'])}")
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (RuntimeError, TimeoutError) as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
