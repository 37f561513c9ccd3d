"""How long the same writes take if nobody queues: each workload is made, admitted and finished, as fast as it goes.

Two processes share the work, as two do with a queue: who makes and finishes, and who admits. Run as a program
it is one of them: ``python -m bench.queue_floor KUBECONFIG NAMESPACE PREFIX WORKLOADS``.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

from bench.queue_load import CONTAINER, FLAVOR, Json, Planned, a_workload, lines_of, load_of
from bench.queue_standin import finish
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import ADMITTED, QUOTA_RESERVED
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import Client, connect
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster

WRITES: Final = 3
"""For each workload."""
_PROCESSES: Final = 2
_AT_ONCE: Final = 64  # as many as a client sends at once
_NAMESPACE: Final = "floor"


async def floor_seconds(cluster: LocalCluster, workloads: int) -> float:
    """Let the processes write all of them, which they share."""
    await cluster.add_namespace(_NAMESPACE)
    shares = [workloads // _PROCESSES + (number < workloads % _PROCESSES) for number in range(_PROCESSES)]
    running: list[asyncio.subprocess.Process] = []
    try:
        for number, share in enumerate(shares):
            running.append(await _begun((str(cluster.kubeconfig), _NAMESPACE, f"p{number}", str(share))))
        started = time.monotonic()
        answers = await asyncio.gather(*(one.communicate(b"go\n") for one in running))
        seconds = time.monotonic() - started
    finally:
        for one in running:
            if one.returncode is None:
                one.kill()
                await one.wait()
    if any(one.returncode for one in running):
        words = [text.decode()[-200:] for _, text in answers]
        raise RuntimeError(f"the processes that measure the floor failed: {words}")
    return seconds


async def _begun(arguments: Sequence[str]) -> asyncio.subprocess.Process:
    """One of them, that waits to be told."""
    pipe, command = asyncio.subprocess.PIPE, (sys.executable, "-m", "bench.queue_floor", *arguments)
    begun = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    if begun.stdout is not None:
        await begun.stdout.readline()
    return begun


def _admitted(planned: Planned) -> Json:
    """As a queue says it."""
    now = datetime.now(UTC)
    given = {
        "name": CONTAINER,
        "flavors": {"cpu": FLAVOR},
        "resourceUsage": {"cpu": str(planned.size.cpu)},
        "count": 1,
    }
    said = [
        {"type": kind, "status": "True", "reason": kind, "message": "it has quota", "lastTransitionTime": now}
        for kind in (QUOTA_RESERVED, ADMITTED)
    ]
    return {
        "status": {
            "admission": {"clusterQueue": planned.line.name, "podSetAssignments": [given]},
            "conditions": said,
        }
    }


async def _write(client: Client, namespace: str, prefix: str, load: Iterator[Planned]) -> None:
    for planned in load:
        name, made = f"{prefix}-{planned.name}", a_workload(planned)
        await client.create(WORKLOADS, {**made, "metadata": {**made["metadata"], "name": name}}, namespace)
        patch = MergePatch(_admitted(planned))
        workload = await client.patch(WORKLOADS, name, patch, namespace, subresource="status")
        patch = MergePatch(finish(workload, datetime.now(UTC)))
        await client.patch(WORKLOADS, name, patch, namespace, subresource="status")


async def _work(kubeconfig: str, namespace: str, prefix: str, workloads: int) -> None:
    load = iter(load_of(workloads, lines_of()))
    async with connect(access_from_kubeconfig(Path(kubeconfig))) as client:
        await client.server_version()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        async with asyncio.TaskGroup() as working:
            for _ in range(_AT_ONCE):
                working.create_task(_write(client, namespace, prefix, load))


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
