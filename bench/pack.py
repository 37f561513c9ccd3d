"""How fast and how near to the best the planner is.

    python -m bench.pack --load mixed --pods 5000
    python -m bench.pack --load hetzner [--scarce none|stock]
    python -m bench.pack --load many | small | trickle | shapes

Timed is one solve from pods to a PlacementSolution: grouping, free room, packing, handing real pods to machines, and
who must be nominated. Not timed: making the pods, hearing of them (a World keeps requests per template as they arrive)
and the market (kinds of machines, made once for a catalogue). It runs as the product runs it: on the thinking thread,
the cycle collector at rest. The best of ``--runs`` is printed, with the CPU seconds of that run beside it; they differ
when others use the machine. ``--lateness`` adds how late the event loop was at worst while a thread solved.

With several seeds (``--seeds 100-109``) there is one line for each, and a last one with the median and the worst.

``bound`` is the fluid bound, proven, and ``gap`` the distance to it as a fraction. Every plan is then checked, untimed,
by a judge that shares nothing with the planner but the pods: sums of requests per machine, and all rules about nodes,
zones and other pods counted anew (``checked``).

Weaknesses: synthetic pods; zones alike in price; one process that does nothing else.
"""

import argparse
import asyncio
import json
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

from bench import loads
from bench.judge import judged
from bench.lateness import lateness_ms
from bench.yardsticks import configuration_bound, first_fit_decreasing
from growth.decide.fit import SimulatedCluster
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.planner import plan
from growth.decide.solver.problem import StepBudget
from growth.run.runtime import compute, spare_the_collector

FIRST = StepBudget(passes=1, rounds=0)
# What the last line of several seeds tells; larger is worse in all of them.
_TOLD = (
    "seconds",
    "cpu_seconds",
    "first_plan_seconds",
    "first_plan_cpu_seconds",
    "gap",
    "configuration_gap",
    "unplaced",
    "lateness_ms",
)
_PODS = {"mixed": 5_000, "hetzner": 10_000, "many": 100_000, "small": 20, "trickle": 10, "shapes": 10_000}


def load_of(name: str, pods: int, seed: int, scarce: str) -> loads.Load:
    match name:
        case "mixed":
            return loads.mixed(pods, seed)
        case "hetzner":
            return loads.hetzner(pods, seed, scarce)
        case "many":
            return loads.plain(pods, 50, seed)
        case "small":
            return loads.plain(pods, 5, seed)
        case "shapes":
            return loads.plain(pods, pods * 9 // 10, seed)
        case _:
            return loads.trickle(pods, 5_000, seed)


async def timed(solve: Callable[[], PlacementSolution], runs: int) -> tuple[PlacementSolution, float, float]:
    """The answer, and seconds and CPU seconds of the quickest run."""
    best: tuple[float, float] = (float("inf"), 0.0)
    solution = PlacementSolution("NoDemands")
    for _ in range(runs):
        wall, cpu = time.perf_counter(), time.process_time()
        solution = await compute(solve)
        best = min(best, (time.perf_counter() - wall, time.process_time() - cpu))
    return solution, *best


async def measure(options: argparse.Namespace, seed: int) -> dict[str, Any]:
    pods = options.pods or _PODS[options.load]
    load = load_of(options.load, pods, seed, options.scarce)
    spare_the_collector()

    def solve(budget: StepBudget | None = None) -> PlacementSolution:
        # A stage serves one decision; making one costs next to nothing.
        return plan(SimulatedCluster.of(load.stage.snapshot), load.pods, load.market, budget)

    _, first, first_cpu = await timed(lambda: solve(FIRST), options.runs)
    solution, seconds, cpu_seconds = await timed(solve, options.runs)
    result: dict[str, Any] = {
        "load": options.load,
        "seed": seed,
        "pods": len(load.pods),
        "seconds": round(seconds, 4),
        "cpu_seconds": round(cpu_seconds, 4),
        "first_plan_seconds": round(first, 4),
        "first_plan_cpu_seconds": round(first_cpu, 4),
        "nodes": len(solution.launch),
        "unplaced": len(solution.left_out),
        "cost": round(solution.cost_per_hour, 4),
        "bound": round(solution.bound_per_hour, 4),
        "gap": round(solution.gap, 5),
        "pods_per_second": round(len(load.pods) / seconds),
        "kept": len(solution.keep),
    }
    if options.load == "mixed":
        bound, proven = configuration_bound(load)
        result |= {"configuration_bound": round(bound, 4), "proven": proven}
        result["configuration_gap"] = round(solution.cost_per_hour / bound - 1, 5)
    if options.load == "hetzner":
        result["first_fit_decreasing"] = round(first_fit_decreasing(load), 4)
        result["scarce"] = options.scarce
    if options.lateness:
        result["lateness_ms"] = round(await lateness_ms(solve, options.runs), 1)
    return result | {"checked": judged(load, solution)}


def summary(results: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Median and worst over the seeds."""
    first = results[0]
    told = [name for name in _TOLD if name in first]
    values = {name: [result[name] for result in results] for name in told}
    return {
        "load": first["load"],
        "pods": first["pods"],
        "seeds": [result["seed"] for result in results],
        "median": {name: round(statistics.median(values[name]), 5) for name in told},
        "worst": {name: max(values[name]) for name in told},
    }


def seeds_from(text: str) -> list[int]:
    """``7`` is one seed, ``100-109`` are ten."""
    first, _, last = text.partition("-")
    return list(range(int(first), int(last or first) + 1))


async def report(options: argparse.Namespace) -> None:
    results: list[dict[str, Any]] = []
    for seed in options.seeds:
        results.append(await measure(options, seed))
        print(json.dumps(results[-1]), flush=True)
    if len(results) > 1:
        print(json.dumps(summary(results)))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--load", choices=sorted(_PODS), required=True)
    parser.add_argument("--pods", type=int, default=0)
    parser.add_argument("--seeds", type=seeds_from, default=[0], help="one seed, or the first and last: 100-109")
    parser.add_argument("--scarce", nargs="?", const="none", default="", choices=["none", "stock", ""])
    parser.add_argument("--runs", type=int, default=3)
    parser.add_argument("--lateness", action="store_true", help="also measure how late the loop is beside a solve")
    asyncio.run(report(parser.parse_args()))


if __name__ == "__main__":
    main()
