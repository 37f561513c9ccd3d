"""Growth on a Hetzner in a box: ``python -m bench.hetzner --servers 300 --steady 500``.

1. So many pods that need a machine each begin to wait, and Growth buys, in real time: Hetzner's own client on its
   threads, over HTTP, and servers that boot in 10 s and become nodes of a virtual cluster. Every call is counted.
   Then the pods end, and Growth gives everything back (``seconds`` is the growth, ``shrink_seconds`` that).
2. So many servers stand for an hour in which nothing happens, on virtual time: what looking at them costs.

Ends in one JSON line. Its weakness: how long the API takes to answer (1 s for a purchase, 0.1 s else) and servers take
to boot is assumed, so ``seconds`` and ``max_concurrency`` follow from that. The counts hardly do.
"""

import argparse
import asyncio
import json
import logging
import time
from collections import Counter
from typing import Any, Final

from bench.hetzner_scene import boxed, over_http
from growth_lab.simulator.virtual_loop import run_virtually

HOUR: Final = 3_600.0
# What is there for longer has leaked.
_GONE_WITHIN: Final = 300.0


async def growing(servers: int) -> dict[str, Any]:
    """From pods that wait to pods that run, and back to nothing."""
    async with over_http() as scene:
        began = time.perf_counter()
        scene.pods(servers)
        await scene.until_running(servers)
        seconds = time.perf_counter() - began
        growth_calls, launched = len(scene.sandbox.calls), scene.sandbox.servers()
        unused = sum(server.name not in scene.node_names() for server in launched)
        began = time.perf_counter()
        scene.end_pods()
        await scene.until_no_server_is_left(_GONE_WITHIN)
        calls = Counter(f"{call.method} {call.route}" for call in scene.sandbox.calls)
        return {
            "servers": servers,
            "seconds": round(seconds, 1),
            "shrink_seconds": round(time.perf_counter() - began, 1),
            "api_calls": calls.total(),
            "calls_per_server": round(calls.total() / servers, 2),
            "calls_per_purchase": round(growth_calls / servers, 2),
            "max_concurrency": scene.most_at_once,
            "duplicates": len(launched) - servers,
            "leaked": unused + len(scene.sandbox.servers()),
            "calls": dict(calls.most_common()),
        }


async def standing(servers: int) -> dict[str, Any]:
    """An hour of virtual time in which nothing happens."""
    async with boxed() as scene:
        scene.pods(servers)
        await scene.until_running(servers)
        # Until requests are forgotten and the burst that lists may have is used up.
        await asyncio.sleep(HOUR / 2)
        before, began = len(scene.sandbox.calls), time.perf_counter()
        await asyncio.sleep(HOUR)
        calls = Counter(f"{call.method} {call.route}" for call in scene.sandbox.calls[before:])
        return {
            "steady_servers": len(scene.sandbox.servers()),
            "calls_per_hour": calls.total(),
            "hour_took_seconds": round(time.perf_counter() - began, 1),
            "hourly_calls": dict(calls.most_common()),
        }


def main() -> None:
    parser = argparse.ArgumentParser(description="Growth on a Hetzner in a box.")
    parser.add_argument("--servers", type=int, default=300, help="pods that need a machine each (300)")
    parser.add_argument("--steady", type=int, default=500, help="servers that stand for an hour (500); 0: leave it out")
    arguments = parser.parse_args()
    logging.disable(logging.WARNING)
    figures = asyncio.run(growing(arguments.servers))
    if arguments.steady:
        figures |= run_virtually(standing(arguments.steady))
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
