"""How long a local control plane takes from cached binaries until pods can be created, and until it is gone again.

    python -m bench.cluster_start --starts 5

Each start is a cluster of its own. Ready means: every component says it is well and the default ServiceAccount exists.
Weaknesses: the binaries are in the page cache after the first start, which is therefore given apart; whatever else
runs on the machine is in the figure, since five processes start at once.
"""

import argparse
import asyncio
import json
import os
import statistics
import time

from growth_lab.local_cluster.binaries import ensure_binaries
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.progress import plain_lines

AIM_SECONDS = 5.0


async def measure(starts: int) -> dict[str, object]:
    await ensure_binaries(os.environ, plain_lines)
    ups: list[float] = []
    downs: list[float] = []
    for _ in range(starts):
        cluster = LocalCluster()
        began = time.monotonic()
        await cluster.start()
        ready = time.monotonic()
        await cluster.down()
        ups.append(round(ready - began, 3))
        downs.append(round(time.monotonic() - ready, 3))
    return {
        "bench": "cluster_start",
        "first_seconds": ups[0],
        "seconds": ups,
        "median_seconds": statistics.median(ups),
        "max_seconds": max(ups),
        "median_down_seconds": statistics.median(downs),
        "aim_seconds": AIM_SECONDS,
        "is_met": max(ups) <= AIM_SECONDS,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=5)
    print(json.dumps(asyncio.run(measure(parser.parse_args().starts))))


if __name__ == "__main__":
    main()
