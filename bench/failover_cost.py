"""What failover costs: ``python -m bench.failover_cost --nodes 20 --pods 10``.

On a virtual cluster with stock timings one and the same scenario is played with ``failover.mode`` off, observe and act.
Growth runs as it is shipped, with all capabilities. One node carries all ``--pods`` databases (StatefulSets of one
pod with one volume). Nothing happens for ``--minutes`` (``at_rest``), then its machine loses its power (``failover``:
the ten minutes after that), stays off for ``--minutes`` (``out_of_service``), and comes back (``return``: five
minutes). Ends in one JSON line.

| field | meaning, by mode and window |
|---|---|
| requests | to the API server, by verb and resource. Watches are counted apart |
| watches | watches that were begun, of all kinds; each is begun again after 5 to 10 minutes |
| lease_lines | lines of the watch of the nodes' Leases: renewals and bookmarks |
| most_writes_in_a_second | at its busiest |
| passes | how often all deciders looked |
| cpu_ms_per_pass, longest_ms | CPU time of failover's decision: mean, and the longest |
| cpu_ms_per_pass_of_all | the same of all capabilities' decisions together |
| cpu_seconds_per_hour | of failover's decisions |
| carried_bytes | what failover remembers from one pass to the next, at the end of the window |

| field | meaning |
|---|---|
| extra_requests | what ``act`` sent more than ``off`` from the power cut to ten minutes later, without watches |
| annotation_bytes | key and value of the annotation on the dead node |
| entry_bytes | key and value of the node's entry in the ConfigMap ``growth-status``, when its volumes have moved |
| config_map_bytes | all that this ConfigMap holds then |
| leases | memory for the Leases of ``--nodes`` nodes; CPU time and bytes of one renewal |

Doubts: the calls of the machines' provider are not counted here (``bench.failover`` counts them), real kubelets and
controllers change nodes and pods more often, which makes more passes, and CPU time varies by a third on a busy machine.
"""

import argparse
import asyncio
import json
from collections import Counter
from collections.abc import Mapping
from datetime import timedelta
from typing import Any, Final

from bench.crowd import tell
from bench.failover_cost_memory import deep_size, leases_cost
from bench.failover_cost_scene import FAILOVER, Scene, Spent
from growth.api.growth_status import GROWTH_STATUS, key_of
from growth.api.out_of_service import PROOF
from growth.run.logs import silent_logs
from growth.run.runtime import undisturbed
from growth_lab.simulator.served_kinds import CONFIG_MAPS, NODES
from growth_lab.simulator.virtual_loop import run_virtually

MODES: Final = ("off", "observe", "act")
_LEASES: Final = "leases of nodes"
# The first list of everything, and plans that follow from new nodes, are over by then.
_SETTLE_SECONDS: Final = 900.0
_FAILOVER: Final = timedelta(minutes=10)
_RETURN: Final = timedelta(minutes=5)
_HOUR: Final = timedelta(hours=1)
_MOST_NODES: Final = 5_000
# As many as fit on one machine of the scene.
_MOST_PODS: Final = 60


def measure(nodes: int, pods: int, *, minutes: float, seed: int) -> dict[str, Any]:
    """All modes, one after the other."""
    found: dict[str, Any] = {}
    sizes: Mapping[str, int] = {}
    requests: dict[str, Counter[str]] = {}
    for mode in MODES:
        tell(f"failover.mode {mode} ...")
        with silent_logs(), undisturbed():
            found[mode], sizes, requests[mode] = run_virtually(play(mode, nodes, pods, minutes, seed))
    return {
        "bench": "failover_cost",
        "nodes": nodes,
        "pods": pods,
        "minutes": minutes,
        "seed": seed,
        **found,
        "extra_requests": more_than(requests["act"], requests["off"]),
        **sizes,
        "leases": leases_cost(nodes),
    }


async def play(
    mode: str, nodes: int, pods: int, minutes: float, seed: int
) -> tuple[dict[str, Any], dict[str, int], Counter[str]]:
    """The scenario in one mode: figures by window, sizes after the failover, and the requests of the failover."""
    scene, long = Scene(mode, seed), timedelta(minutes=minutes)
    windows: dict[str, Any] = {}

    async def window(name: str, duration: timedelta) -> Spent:
        spent = await scene.let_pass(duration)
        windows[name] = {**_figures(spent, duration), "carried_bytes": deep_size(scene.books.carried)}
        return spent

    async with scene.growth():
        dies = await scene.set_up(nodes, pods)
        await asyncio.sleep(_SETTLE_SECONDS)
        await window("at_rest", long)
        await scene.hurt(dies, "powerOff")
        failover = await window("failover", _FAILOVER)
        sizes = _sizes(scene, dies)
        await window("out_of_service", long)
        await scene.hurt(dies, "")
        await window("return", _RETURN)
    return windows, sizes, _without_watches(failover)


def _figures(spent: Spent, duration: timedelta) -> dict[str, Any]:
    passes, seconds = max(spent.passes, 1), float(spent.cpu_seconds[FAILOVER])
    asked = _without_watches(spent)
    return {
        "requests": dict(sorted(asked.items())),
        "watches": spent.requests.total() - asked.total(),
        "lease_lines": spent.lines[_LEASES],
        "most_writes_in_a_second": max(spent.writes_by_second.values(), default=0),
        "passes": spent.passes,
        "cpu_ms_per_pass": round(1e3 * seconds / passes, 3),
        "longest_ms": round(1e3 * spent.longest_seconds, 3),
        "cpu_ms_per_pass_of_all": round(1e3 * float(spent.cpu_seconds.total()) / passes, 3),
        "cpu_seconds_per_hour": round(seconds * (_HOUR / duration), 3),
    }


def _sizes(scene: Scene, name: str) -> dict[str, int]:
    """Bytes in the objects that failover writes."""
    node = scene.store.get(NODES, name) or {}
    status = scene.store.get(CONFIG_MAPS, GROWTH_STATUS, scene.settings.namespace) or {}
    data: Mapping[str, str] = status.get("data", {})
    return {
        "annotation_bytes": _bytes_under(PROOF, node.get("metadata", {}).get("annotations", {})),
        "entry_bytes": _bytes_under(key_of(name), data),
        "config_map_bytes": sum(_bytes_under(key, data) for key in data),
    }


def _bytes_under(key: str, texts: Mapping[str, str]) -> int:
    return len(key.encode()) + len(texts[key].encode()) if key in texts else 0


def _without_watches(spent: Spent) -> Counter[str]:
    return Counter({key: count for key, count in spent.requests.items() if not key.startswith("watch ")})


def more_than(those: Counter[str], others: Counter[str]) -> dict[str, int]:
    """Of which requests there are more in the first (or, negative, fewer), and how many."""
    found = Counter(those)
    found.subtract(others)
    return {key: count for key, count in sorted(found.items()) if count}


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=20, help="nodes of the cluster (20)")
    parser.add_argument("--pods", type=int, default=10, help="databases on the node that dies (10)")
    parser.add_argument("--minutes", type=float, default=60.0, help="of rest, and of being out of service (60)")
    parser.add_argument("--seed", type=int, default=1, help="of the virtual cluster (1)")
    options = parser.parse_args()
    # Of four nodes, one that is silent makes no cluster unhealthy.
    if not 4 <= options.nodes <= _MOST_NODES:
        parser.error(f"--nodes {options.nodes}: expected 4 to {_MOST_NODES}")
    if not 1 <= options.pods <= _MOST_PODS:
        parser.error(f"--pods {options.pods}: expected 1 to {_MOST_PODS}")
    if not options.minutes >= 1:
        parser.error(f"--minutes {options.minutes:g}: expected at least 1")
    print(json.dumps(measure(options.nodes, options.pods, minutes=options.minutes, seed=options.seed)))


if __name__ == "__main__":
    main()
