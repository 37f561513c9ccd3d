"""How many writes a second the API server takes from as many processes as there are replicas, if they only write.

Run as a program it is one of them: ``python -m bench.memory_ceiling KUBECONFIG NAMESPACE PREFIX OBJECTS``.
"""

import asyncio
import sys
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

from growth.api.kinds import CONFIG_MAPS
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import Client, connect
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster

AT_ONCE: Final = 64
"""As many as a replica has under way."""
_NAMESPACE: Final = "ceiling"
_TEXT: Final = "x" * 600  # about what a memory says
_WRITES: Final = 3  # an object is made, changed and deleted


async def ceiling(cluster: LocalCluster, processes: int, objects: int) -> dict[str, Any]:
    """Let so many processes make, change and delete so many ConfigMaps together."""
    await cluster.add_namespace(_NAMESPACE)
    share = max(1, objects // processes)
    arguments = [(str(cluster.kubeconfig), _NAMESPACE, f"p{number}", str(share)) for number in range(processes)]
    running = [await _begun(one) for one in arguments]
    started = time.monotonic()
    answers = await asyncio.gather(*(one.communicate(b"go\n") for one in running))
    seconds, writes = time.monotonic() - started, _WRITES * share * processes
    if any(one.returncode for one in running):
        words = [text.decode()[-200:] for _, text in answers]
        raise RuntimeError(f"the processes that measure the ceiling failed: {words}")
    return {"ceiling_writes": writes, "ceiling_writes_per_s": round(writes / seconds)}


async def _begun(arguments: Sequence[str]) -> asyncio.subprocess.Process:
    """One of them, that waits to be told."""
    pipe, command = asyncio.subprocess.PIPE, (sys.executable, "-m", "bench.memory_ceiling", *arguments)
    begun = await asyncio.create_subprocess_exec(*command, stdin=pipe, stdout=pipe, stderr=pipe)
    if begun.stdout is not None:
        await begun.stdout.readline()
    return begun


async def _write(client: Client, namespace: str, names: Iterator[str]) -> None:
    for name in names:
        await client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": {"memory": _TEXT}}, namespace)
        await client.patch(CONFIG_MAPS, name, MergePatch({"data": {"checkpoint": _TEXT, "memory": None}}), namespace)
        await client.delete(CONFIG_MAPS, name, namespace)


async def _work(kubeconfig: str, namespace: str, prefix: str, objects: int) -> None:
    names = iter([f"{prefix}-{number}" for number in range(objects)])
    async with connect(access_from_kubeconfig(Path(kubeconfig))) as client:
        await client.server_version()
        print("ready", flush=True)
        await asyncio.to_thread(sys.stdin.readline)
        async with asyncio.TaskGroup() as working:
            for _ in range(AT_ONCE):
                working.create_task(_write(client, namespace, names))


if __name__ == "__main__":
    asyncio.run(_work(sys.argv[1], sys.argv[2], sys.argv[3], int(sys.argv[4])))
