"""What Fit costs: ``python -m bench.fit --nodes 5000 --pods 100000``.

For five kinds of pods against a full cluster: the first question (which gathers what the later ones share), one answer
about one node, one pod placed. Ends in one JSON line; times are medians of three stages.

Doubts: the cluster has 300 templates and no volumes; real ones have more labels and some have more templates.
"""

import argparse
import json
import statistics
import time
from collections.abc import Callable
from typing import Any

from growth.api.pod import Pod
from growth.decide.fit import SimulatedCluster, fit
from growth.observe.snapshot import Snapshot
from tests.decide.stages import a_node, a_pod, a_snapshot

Json = dict[str, Any]
_ROUNDS = 3
_TEMPLATES = 300


def _spread(key: str) -> Json:
    selector = {"matchLabels": {"app": "app-1"}}
    return {"maxSkew": 1, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector}


def _anti(key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": {"matchLabels": {"app": "app-1"}}}
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}


KINDS: dict[str, Callable[[], Pod]] = {
    "plain": lambda: a_pod(requests={"cpu": "1"}),
    "too_large": lambda: a_pod(requests={"cpu": "96"}),
    "zonal_spread": lambda: a_pod(labels={"app": "app-1"}, topologySpreadConstraints=[_spread("zone")]),
    "hostname_spread": lambda: a_pod(
        labels={"app": "app-1"}, topologySpreadConstraints=[_spread("kubernetes.io/hostname")]
    ),
    "anti_affinity": lambda: a_pod(labels={"app": "app-1"}, affinity=_anti("kubernetes.io/hostname")),
}


def _cluster(nodes: int, pods: int) -> Snapshot:
    return a_snapshot(
        [a_node(f"n{number}", cpu="64", labels={"zone": "abc"[number % 3]}) for number in range(nodes)],
        [
            a_pod(node=f"n{number % nodes}", labels={"app": f"app-{number % _TEMPLATES}"}, requests={"cpu": "100m"})
            for number in range(pods)
        ],
    )


def measure(snapshot: Snapshot, make: Callable[[], Pod]) -> dict[str, float]:
    """Milliseconds for the first question, microseconds for each later one and for placing a pod."""
    pod, siblings = make(), [make() for _ in range(1000)]
    names = list(snapshot.nodes)
    first: list[float] = []
    each: list[float] = []
    placing: list[float] = []
    for _ in range(_ROUNDS):
        stage = SimulatedCluster.of(snapshot)
        started = time.perf_counter()
        fit(stage, pod, names[0])
        first.append(time.perf_counter() - started)
        for name in names:
            fit(stage, pod, name)
        started = time.perf_counter()
        for name in names:
            fit(stage, pod, name)
        each.append((time.perf_counter() - started) / len(names))
        started = time.perf_counter()
        for number, sibling in enumerate(siblings):
            stage.place(sibling, names[number % len(names)])
        placing.append((time.perf_counter() - started) / len(siblings))
    return {
        "first_ms": round(statistics.median(first) * 1e3, 2),
        "fit_us": round(statistics.median(each) * 1e6, 2),
        "place_us": round(statistics.median(placing) * 1e6, 2),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--nodes", type=int, default=5000)
    parser.add_argument("--pods", type=int, default=100_000)
    given = parser.parse_args()
    snapshot = _cluster(given.nodes, given.pods)
    kinds = {name: measure(snapshot, make) for name, make in KINDS.items()}
    print(json.dumps({"nodes": given.nodes, "pods": given.pods, **kinds}))


if __name__ == "__main__":
    main()
