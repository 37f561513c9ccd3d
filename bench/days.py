"""A day of a virtual cluster that Growth keeps cheap: ``python -m bench.days --day web --nodes 50``.

Growth runs as it is shipped, with all capabilities, on played machines at Hetzner's prices. The load is drawn from a
seed (``bench.days_load``). The same day is played twice: with ``disruption.mode: act``, and with ``off``, which buys
what is missing and removes what is empty. Ends in one JSON line. Money is counted by the second. The bound is the
planner's proof for all pods that are there, taken every few minutes as if everything were bought anew that very moment:
nobody who has to wait for machines to start and for pods to end reaches it. ``kept_ratio`` is by how much it is higher
if whatever was there within the window of ``settings.consolidate`` still were: who keeps room for all that cannot spend
less. How far it is stands on stderr, one line for each hour of the day.

Weaknesses: pods have no rules about where they may be; images need not be pulled; thoughts take no virtual time;
in a fleet of more than a hundred nodes kubelets renew their Leases every 100 s.
"""

import argparse
import asyncio
import gc
import json
import logging
import sys
import time
from collections import Counter, deque
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import Any, Final

from bench import loads
from bench.days_load import HOUR, KINDS, STEP_SECONDS, Day, Kind, Shape, drawn
from bench.days_stage import do, growth_at_work, new_cluster, pool_names, settings_with
from bench.days_witness import Witness
from bench.meter import rss_mb
from growth.api.settings.model import Settings
from growth.cloud.kwok.catalog import shipped_catalogue
from growth.decide.solver.planner import plan
from growth.run.runtime import undisturbed
from growth_lab.simulator.virtual_loop import run_virtually

# So that Growth knows what was wanted in the last hour, and nodes are old enough to go.
_EVENING_SECONDS: Final = 1.25 * HOUR
_STEPS_PER_HOUR: Final = int(HOUR / STEP_SECONDS)
# In a large fleet the proof takes its time, and what is wanted changes less from one look to the next.
_LARGE: Final = 100
_LARGE_STEPS: Final = 3
# As docs/optimising.md tells people to do where Jobs come in bursts: nodes that they leave empty go soon.
_POOLS: Final[Mapping[Kind, Mapping[str, Any]]] = {
    "batch": {"scaleDown": {"emptyAfter": "1m", "delayAfterScaleUp": "1m"}}
}
_OFFERINGS: Final = tuple(
    one
    for one in shipped_catalogue("kwok").offerings
    if one.location in loads.EU and one.server_type.startswith(("cx", "cax", "cpx", "ccx"))
)


async def play(
    day: Day, nodes: int, pool: dict[str, Any], seed: int, settings: Settings, *, pools: Sequence[str]
) -> dict[str, Any]:
    """One day, with this in the spec of its pools; what came of it."""
    is_large = nodes > _LARGE
    cluster = new_cluster(seed, is_large=is_large)
    witness, store = Witness(cluster.store, cluster.clock), cluster.store
    steps_per_look = _LARGE_STEPS if is_large else 1
    bound = best = kept = 0.0
    window = settings.consolidate.window.total_seconds()
    looks = deque[Mapping[Shape, int]](maxlen=1 + int(window / (steps_per_look * STEP_SECONDS)))
    began = time.perf_counter()
    types = [{"name": name} for name in sorted({one.server_type for one in _OFFERINGS})]
    async with growth_at_work(cluster, {"serverTypes": types, **pool}, settings, pools):
        for one in day.begins:
            do(store, one, pools)
        await asyncio.sleep(_EVENING_SECONDS)
        witness.begin()
        midnight, happens = cluster.clock.seconds(), list(reversed(day.happens))
        for step in range(int(day.seconds / STEP_SECONDS)):
            if step % _STEPS_PER_HOUR == 0:
                _tell_progress(step // _STEPS_PER_HOUR, witness, bound, time.perf_counter() - began)
                gc.collect()  # nobody else does in an undisturbed day, and a large one would fill the memory
            if step % steps_per_look == 0:
                looks.append(witness.look())
                proven, planned = _today(frozenset(looks[-1].items()))
                remembered, _ = _today(frozenset(_highest(looks).items()))
                hours = steps_per_look * STEP_SECONDS / HOUR
                bound, best, kept = bound + proven * hours, best + planned * hours, kept + remembered * hours
            ends = midnight + (step + 1) * STEP_SECONDS
            while happens and midnight + happens[-1].at < ends:
                await asyncio.sleep(max(0.0, midnight + happens[-1].at - cluster.clock.seconds()))
                do(store, happens.pop(), pools)
            await asyncio.sleep(max(0.0, ends - cluster.clock.seconds()))
        spent = witness.spent()
        witness.close()
    pod_days = witness.pod_days()
    return {
        "spent": round(spent, 3),
        "bound": round(bound, 3),
        "ratio": round(spent / bound, 4) if bound else None,
        "best_ratio": round(best / bound, 4) if bound else None,
        "kept_ratio": round(kept / bound, 4) if bound else None,
        "most_nodes": witness.most_nodes,
        "evictions": witness.evictions,
        "evictions_per_pod_day": round(witness.evictions / pod_days, 3) if pod_days else 0,
        "pending_because_of_us": len(witness.pending),
        "violated": len(witness.violated),
        "oscillations": witness.oscillations(),
        "short_lives": witness.short_lives(),
        "moves": witness.moves(),
        "told": [*sorted(set(witness.violated))[:3]],
    }


def _tell_progress(hour: int, witness: Witness, bound: float, seconds: float) -> None:
    """A large day takes longer than anybody watches nothing. All but the seconds follow from the seed."""
    ratio = f"{witness.spent() / bound:.4f}" if bound else "-"
    line = f"hour {hour:2d}  {witness.nodes} nodes  {witness.pods} pods  spent/bound {ratio}  {seconds:.0f} s"
    print(line, file=sys.stderr, flush=True)


def _highest(looks: Iterable[Mapping[Shape, int]]) -> Counter[Shape]:
    """Of each shape as many as there were at any of these moments."""
    highest = Counter[Shape]()
    for look in looks:
        highest |= Counter(look)
    return highest


@cache
def _today(shapes: frozenset[tuple[Shape, int]]) -> tuple[float, float]:
    """What these pods cost an hour at least, were everything bought now, and what the planner would pay."""
    counted = sorted(shapes, key=lambda one: (one[0].cpu_millis, one[0].memory_mib))
    load = loads.sized([(one.cpu_millis, one.memory_mib) for one, count in counted for _ in range(count)], _OFFERINGS)
    solution = plan(load.stage, load.pods, load.market)
    return solution.bound_per_hour, solution.cost_per_hour


def main() -> None:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--day", choices=KINDS, default="web")
    parser.add_argument("--nodes", type=int, default=50)
    parser.add_argument("--hours", type=float, default=24)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--modes", nargs="+", default=["act", "off"], help="of disruption.mode, in turn")
    parser.add_argument(
        "--pool", default="{}", help="what else the pool's spec says, as JSON, in the place of the day's"
    )
    parser.add_argument(
        "--consolidate", default="{}", help='settings of that name, as JSON, such as {"window": "PT30M"}'
    )
    parser.add_argument("--removal", default="{}", help="settings of that name, as JSON")
    parser.add_argument("--pools", type=int, default=1, help="over so many pools services and Jobs are spread")
    given = parser.parse_args()
    logging.disable(logging.WARNING)  # evictions that a budget refuses are part of the day
    day = drawn(given.day, given.nodes, given.hours, given.seed)
    began, told = time.perf_counter(), dict[str, Any]()
    settings = settings_with(json.loads(given.consolidate), json.loads(given.removal))
    for mode in given.modes:
        spec = {**_POOLS.get(given.day, {}), **json.loads(given.pool)}
        spec["disruption"] = {"mode": mode, **spec.get("disruption", {})}
        with undisturbed():
            told[mode] = run_virtually(
                play(day, given.nodes, spec, given.seed, settings, pools=pool_names(given.pools))
            )
    figures: dict[str, Any] = {"day": given.day, "nodes": given.nodes, "hours": given.hours, "seed": given.seed}
    if given.pools > 1:
        figures["pools"] = given.pools
    figures |= told[given.modes[0]]
    if "act" in told and "off" in told:
        off = told["off"]
        figures |= {"off_spent": off["spent"], "off_ratio": off["ratio"]}
        figures["saved_percent"] = round(100 * (1 - figures["spent"] / off["spent"]), 1)
    figures |= {
        "seconds": round(time.perf_counter() - began, 1),
        "rss_mb": round(rss_mb()),
    }
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
