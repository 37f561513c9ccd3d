"""How long pods that find no place wait for their machines: ``python -m bench.reaction --pods 1000``.

Growth runs as a process of its own (``growth run``, shipped role and settings) against a real control plane whose nodes
kwok plays, with machines that boot at once. Pods are created through the API, many at a time; a witness who watches
notes when each is refused, bound and Running. What remains is reaction: refuse, plan, ask, buy, register, open, bind.

The floor is measured first: the same pods where room is there already, namely the nodes of the very plan, twice, for
the scheduler spreads pods and would not find the tight plan by itself. Floor and measurement have a new control plane
each, since removing thousands of pods takes longer than starting one and leaves a slower server behind.

One unrelated tainted node is there from the start. Without any node kube-scheduler keeps pods in back-off for up to
10 s; ``--from-zero`` shows that.

One pod is repeated 10 times (``--repeat``), each time with a new pod and all earlier machines cordoned, so that it
needs a new one. With several repetitions figures are medians over them, but ``bound_*`` is over all their pods,
``cpu_s`` and ``nominations`` are sums.

| field | meaning |
|---|---|
| floor_s, all_running_s, over_floor_s | from the first creation until all are Running |
| bound_p50_s, bound_p99_s | of each pod, from its creation until it is bound |
| refusals_s | until the scheduler had refused the last pod that it refused: not before can that one be planned for |
| nodes, cost | what was bought, and its price per hour |
| nominations | pods whose places were kept: by keys, see docs/decisions/0003-keys-not-nominations.md |
| rss_mb, cpu_s | of Growth: the most memory that it ever had, and CPU seconds from the first creation on |
| floor_cpu_s_of, cpu_s_of | CPU seconds of each process meanwhile, of others, and of nobody (last repetition) |
| moments | of each kind of moment the first and the last, in seconds since the first creation (last repetition) |

Weaknesses: driver, control plane, kwok and Growth share the cores of one machine, so whatever one of them spends delays
the others; there is no network; kwok's nodes are ready at once.
"""

import argparse
import asyncio
import json
import statistics
import sys
from collections import Counter
from collections.abc import Sequence
from typing import Any, Final

import msgspec

from bench.crowd import NAMESPACE, Size, Witness, arrive, drawn_sizes, tell, witnessing
from bench.growth_process import NO_DELAY, GrowthProcess, growth_running
from bench.loads import sized
from bench.shares import Shares
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import NODES
from growth.api.offering import OFFERING, Offering
from growth.cloud.kwok.catalog import read_catalogue
from growth.decide.fit.template_node import allocatable_from
from growth.decide.solver.planner import plan
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster

REPEAT_ONE_POD: Final = 10
_POOL: Final = "default"
_SPARE: Final = 2  # see above: the plan's nodes, so many times


class Reaction(msgspec.Struct, frozen=True):
    """What one crowd met."""

    all_running: float
    waits: list[float]
    """Of each pod, from creation to binding."""
    refused: float = 0.0
    nodes: int = 0
    cost: float = 0.0
    keys: int = 0
    moments: dict[str, tuple[float, float]] = {}
    cpu: dict[str, float] = {}


def offerings() -> list[Offering]:
    """What Growth may buy: all of the catalogue that a cloud can make at once."""
    return [offering for offering in read_catalogue(NO_DELAY).offerings if offering.is_cloud]


async def floor_of(crowds: Sequence[Sequence[Size]], *, from_zero: bool) -> list[Reaction]:
    """Each crowd where room is there already."""
    found: list[Reaction] = []
    async with LocalCluster() as cluster:
        await _furnish(cluster, from_zero=from_zero)
        async with witnessing(cluster.admin, sees_requests=False) as witness:
            for number, sizes in enumerate(crowds):
                await _add_room(cluster, sizes)
                shares = Shares(cluster)
                await arrive(cluster.admin, witness, sizes, f"floor-{number}")
                found.append(_seen(witness, shares))
    return found


async def reactions_to(crowds: Sequence[Sequence[Size]], *, from_zero: bool) -> tuple[list[Reaction], dict[str, float]]:
    """Each crowd with Growth at work, and what Growth spent."""
    found: list[Reaction] = []
    spent: dict[str, float] = {}
    async with LocalCluster() as cluster:
        await _furnish(cluster, from_zero=from_zero)
        async with growth_running(cluster) as growth, witnessing(cluster.admin, sees_requests=True) as witness:
            types = sorted({offering.server_type for offering in offerings()})
            spec = {"serverTypes": [{"name": name} for name in types]}
            await cluster.admin.create(NODE_POOLS, {"metadata": {"name": _POOL}, "spec": spec})
            await _calm(growth)
            before = growth.cpu_seconds()
            for number, sizes in enumerate(crowds):
                shares = Shares(cluster, {"growth": growth.pid})
                try:
                    await arrive(cluster.admin, witness, sizes, f"crowd-{number}")
                except TimeoutError as error:
                    raise RuntimeError(f"{error}; of Growth: {growth.last_words()}") from error
                found.append(_seen(witness, shares))
                spent = {"rss_mb": round(growth.peak_rss_mb(), 1), "cpu_s": round(growth.cpu_seconds() - before, 2)}
                if number + 1 < len(crowds):
                    await _cordon(cluster, witness)
                    await _calm(growth)
    return found, spent


async def _furnish(cluster: LocalCluster, *, from_zero: bool) -> None:
    await cluster.add_namespace(NAMESPACE)
    if not from_zero:
        await cluster.add_nodes(1, prefix="other", taints=["dedicated=other:NoSchedule"])


async def _add_room(cluster: LocalCluster, sizes: Sequence[Size]) -> None:
    load = sized(sizes, offerings())
    counts: Counter[str] = Counter()
    launched = plan(load.stage, load.pods, load.market).launch
    kinds = {node.offering.id: node for node in launched}
    counts.update(node.offering.id for node in launched)
    for name, count in sorted(counts.items()):
        room = allocatable_from(kinds[name].offering, kinds[name].pool)
        await cluster.add_nodes(
            count * _SPARE,
            prefix=kinds[name].offering.server_type,
            cpu=room.pop("cpu"),
            memory=room.pop("memory"),
            pods=int(room.pop("pods")),
            resources=room,
        )


async def _cordon(cluster: LocalCluster, witness: Witness) -> None:
    """Let the machines of a crowd be finished, and closed to the next one."""
    while witness.count("opened") < len(witness.new_nodes):  # noqa: ASYNC110
        await asyncio.sleep(0.05)
    for node in witness.new_nodes:
        await cluster.admin.patch(NODES, node.metadata.name, MergePatch({"spec": {"unschedulable": True}}))


async def _calm(growth: GrowthProcess) -> None:
    """Until Growth has nothing to do: less than a hundredth of a core for a second."""
    while True:
        before = growth.cpu_seconds()
        await asyncio.sleep(1.0)
        growth.check()
        if growth.cpu_seconds() - before <= 0.01:
            return


def _seen(witness: Witness, shares: Shares) -> Reaction:
    marks = witness.marks
    prices = {offering.id: offering.price_per_hour for offering in offerings()}
    nodes = witness.new_nodes
    return Reaction(
        all_running=max(marks["running"].values()),
        waits=[when - marks["sent"][name] for name, when in marks["bound"].items()],
        refused=max(marks.get("refused", {}).values(), default=0.0),
        nodes=len(nodes),
        cost=sum(prices[node.metadata.labels[OFFERING]] for node in nodes),
        keys=witness.count("keyed"),
        moments=witness.spans(),
        cpu=shares.read(),
    )


async def measure(pods: int, repeat: int, seed: int, *, from_zero: bool) -> dict[str, Any]:
    crowds = [drawn_sizes(pods, seed + number) for number in range(repeat)]
    tell(f"the floor: {pods} pods, {repeat} times ...")
    grounds = await floor_of(crowds, from_zero=from_zero)
    floor = statistics.median(one.all_running for one in grounds)
    tell(f"the floor is {floor:.2f} s; now with Growth ...")
    seen, spent = await reactions_to(crowds, from_zero=from_zero)
    waits = sorted(wait for one in seen for wait in one.waits)
    all_running = statistics.median(one.all_running for one in seen)
    return {
        "bench": "reaction",
        "pods": pods,
        "repeat": repeat,
        "from_zero": from_zero,
        "seed": seed,
        "floor_s": round(floor, 3),
        "all_running_s": round(all_running, 3),
        "over_floor_s": round(all_running - floor, 3),
        "bound_p50_s": round(statistics.median(waits), 3),
        "bound_p99_s": round(waits[min(len(waits) - 1, len(waits) * 99 // 100)], 3),
        "refusals_s": round(statistics.median(one.refused for one in seen), 3),
        "nodes": statistics.median(one.nodes for one in seen),
        "cost": round(statistics.median(one.cost for one in seen), 4),
        "nominations": sum(one.keys for one in seen),
        **spent,
        "floor_cpu_s_of": grounds[-1].cpu,
        "cpu_s_of": seen[-1].cpu,
        "moments": seen[-1].moments,
    }


def main() -> None:
    """Measure, and print one line of JSON at the end."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--pods", type=int, default=1000)
    parser.add_argument("--repeat", type=int, help=f"crowds, one after the other; {REPEAT_ONE_POD} of one pod, else 1")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--from-zero", action="store_true", help="no node at all at the start")
    options = parser.parse_args()
    repeat = options.repeat if options.repeat is not None else REPEAT_ONE_POD if options.pods == 1 else 1
    for name, value in (("--pods", options.pods), ("--repeat", repeat)):
        if value < 1:
            parser.error(f"{name} {value}: expected at least 1")
    try:
        print(json.dumps(asyncio.run(measure(options.pods, repeat, options.seed, from_zero=options.from_zero))))
    except KeyboardInterrupt:
        sys.exit("stopped; nothing is left running")
    except (RuntimeError, TimeoutError) as error:
        sys.exit(f"Error: {error}")


if __name__ == "__main__":
    main()
