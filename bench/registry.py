"""What the registry costs: ``python -m bench.registry --nodes 5000 --requests 500``.

A cluster of two pools and four offerings, all nodes Ready on machines that their provider lists, and requests on top:
of four, one is new, one waits for its node, one's node boots, and one has just become ready. Ends in one JSON line.

| field | meaning |
|---|---|
| seconds_full | everything is looked at, as by a process that was just started |
| seconds_after_one_event | one node changes its status, and the registry goes on from where it was |
| seconds_after_one_trouble | one node turns unready, or ready again: the alarm and its pool are counted anew |
| seconds_after_an_answer | the provider lists its machines again, and one of them is new |
| seconds_idle | nothing has happened |
| cpu_seconds_full | the same as ``seconds_full``, by the clock of this process: on a busy machine only this tells |
| rss_mb | memory of this process in the end; ``rss_mb_registry`` is what the registry added to the cluster's picture |

Times are medians. What the World does to hear of a change is not part of them: it is paid for anyway.

Doubts: real clusters have more foreign nodes; a cluster in trouble has more to say about each node.
"""

import argparse
import gc
import json
import statistics
import time
from collections.abc import Callable
from datetime import timedelta
from typing import Any

import msgspec

from bench.meter import rss_mb
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.provider_state import ProviderState
from tests.decide.registry.stage import NOW, Watch, a_cloud, a_machine, a_node, a_pool, a_request

_FULL_ROUNDS = 20
_ROUNDS = 500
_POOLS = ("web", "batch")
_OFFERINGS = ("kwok-small-fsn1", "kwok-small-nbg1", "kwok-large-fsn1", "kwok-large-nbg1")
_TICK = timedelta(milliseconds=10)


def cluster(nodes: int, requests: int) -> tuple[list[Node], list[NodeRequest], ProviderState]:
    """Nodes that work, requests in all stages of coming true, and all machines of both."""
    standing = [_place(f"n{number}", number) for number in range(nodes)]
    made: list[Node] = [a_node(**one) for one in standing]
    machines = [a_machine(one["name"], pool=one["pool"], offering=one["offering"]) for one in standing]
    asked: list[NodeRequest] = []
    for number in range(requests):
        place = _place(f"r{number}", number // 4)
        phase = ("Pending", "Provisioning", "Provisioning", "Ready")[number % 4]
        asked.append(a_request(phase=phase, since=None if phase == "Pending" else NOW, **place))
        if phase != "Pending":
            machines.append(a_machine(place["name"], pool=place["pool"], offering=place["offering"], created_at=NOW))
        if number % 4 > 1:
            made.append(a_node(**place, ready=phase == "Ready", is_closed=phase != "Ready", born=NOW))
    return made, asked, a_cloud(*machines)


def _place(name: str, number: int) -> dict[str, Any]:
    return {"name": name, "pool": _POOLS[number % 2], "offering": _OFFERINGS[number // 2 % 4]}


def median(
    rounds: int,
    prepare: Callable[[int], object],
    do: Callable[[], object],
    clock: Callable[[], float] = time.perf_counter,
) -> float:
    """Seconds that the second takes after the first."""
    taken: list[float] = []
    for number in range(rounds):
        prepare(number)
        started = clock()
        do()
        taken.append(clock() - started)
    return round(statistics.median(taken), 6)


def measure(nodes: int, requests: int) -> dict[str, Any]:
    """All figures."""
    made, asked, cloud = cluster(nodes, requests)
    watch = Watch(*map(a_pool, _POOLS), cloud, *asked, *made)
    gc.collect()
    before = rss_mb()

    def forget(_: int) -> None:
        watch.cluster = None

    def change(number: int) -> None:
        watch.now += _TICK
        node = made[number % nodes]
        watch.add(msgspec.structs.replace(node, status=msgspec.structs.replace(node.status)))

    def trouble(number: int) -> None:
        watch.now += _TICK
        place = _place(f"n{number // 2}", number // 2)
        watch.add(a_node(**place, ready=bool(number % 2), since=watch.now))

    def answer(number: int) -> None:
        watch.now += _TICK
        watch.add(msgspec.structs.replace(cloud, machines=(*cloud.machines, a_machine(f"new-{number}"))))

    def wait(_: int) -> None:
        watch.now += _TICK

    full = median(_FULL_ROUNDS, forget, watch.look)
    after_one_event = median(_ROUNDS, change, watch.look)
    return {
        "bench": "registry",
        "nodes": nodes,
        "requests": requests,
        "seconds_full": full,
        "seconds_after_one_event": after_one_event,
        "rss_mb": round(rss_mb(), 1),
        "seconds_after_one_trouble": median(_ROUNDS, trouble, watch.look),
        "seconds_after_an_answer": median(_FULL_ROUNDS, answer, watch.look),
        "seconds_idle": median(_ROUNDS, wait, watch.look),
        "cpu_seconds_full": median(_FULL_ROUNDS, forget, watch.look, time.process_time),
        "full_per_event": round(full / after_one_event),
        "rss_mb_registry": round(rss_mb() - before, 1),
    }


def main() -> None:
    """Parse, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=5000, help="nodes that work")
    parser.add_argument("--requests", type=int, default=500, help="requests on top of them")
    given = parser.parse_args()
    for name, value, least in (("--nodes", given.nodes, 1), ("--requests", given.requests, 0)):
        if value < least:
            parser.error(f"{name} {value}: expected at least {least}")
    print(json.dumps(measure(given.nodes, given.requests)))


if __name__ == "__main__":
    main()
