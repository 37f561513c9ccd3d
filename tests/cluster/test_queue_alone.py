"""The queue, started by somebody who knows nothing of it but ``--kubeconfig``: the very program of docs/running.md, on
a control plane that has Kueue's kinds and nothing of ours."""

import asyncio
import os
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from bench.queue_load import DOOR, Line, a_door, a_flavor, a_queue, a_workload, load_of
from growth.api.crd import definitions
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, QUEUE_KINDS, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.workload import ADMITTED, QUEUE_NAME
from growth_lab.local_cluster.binaries import find_binaries
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.conftest import wait_until
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

PAGE = ROOT / "docs" / "running.md"
NAMESPACE = "default"
ENDS_WITHIN_SECONDS = 60.0


def program(folder: Path) -> Path:
    """The one of the page, with what it calls beside it."""
    _, _, rest = PAGE.read_text().partition("```sh\n")
    text, _, _ = rest.partition("```")
    assert text.startswith("#!/bin/sh\n"), text
    file = folder / "manager"
    file.write_text(text)
    file.chmod(0o755)
    (folder / "kubectl").symlink_to(find_binaries(os.environ)["kubectl"])
    growth = folder / "growth"
    growth.write_text(f'#!/bin/sh\nexec {sys.executable} -m growth "$@"\n')
    growth.chmod(0o755)
    return file


@asynccontextmanager
async def started(file: Path, kubeconfig: Path) -> AsyncGenerator[asyncio.subprocess.Process]:
    known = {name: value for name, value in os.environ.items() if not name.startswith(("GROWTH_", "KUBE"))}
    known |= {"PATH": f"{file.parent}:{known['PATH']}", "HOME": str(file.parent)}
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(file, "--kubeconfig", kubeconfig, env=known, stderr=pipe)
    try:
        yield running
    finally:
        if running.returncode is None:
            running.kill()
            await running.wait()


@asynccontextmanager
async def with_kueues_kinds_alone() -> AsyncGenerator[LocalCluster]:
    async with LocalCluster() as cluster:
        await cluster.apply(definitions(QUEUE_KINDS))
        await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
        yield cluster


async def test_a_kubeconfig_is_all_it_needs(tmp_path: Path) -> None:
    line = Line(NAMESPACE, "cohort")
    (planned,) = load_of(1, [line])
    async with with_kueues_kinds_alone() as cluster:
        admin = cluster.admin
        async with started(program(tmp_path), cluster.kubeconfig) as running:
            await admin.create(RESOURCE_FLAVORS, a_flavor())
            await admin.create(CLUSTER_QUEUES, a_queue(line))
            await admin.create(LOCAL_QUEUES, a_door(line), NAMESPACE)
            await admin.create(WORKLOADS, a_workload(planned), NAMESPACE)
            await cluster.apply([a_job()])

            async def are_admitted() -> bool:
                found = (await admin.list(WORKLOADS)).items
                return len(found) == 2 and all(one.holds(ADMITTED) for one in found)

            await wait_until(are_admitted, "a Workload, and one of a Job that no policy held back, are admitted", 60)
            running.send_signal(signal.SIGTERM)
            async with asyncio.timeout(ENDS_WITHIN_SECONDS):
                assert await running.wait() == 0

        nobody = await cluster.kubeconfig_as(NAMESPACE, "nobody")
        async with started(tmp_path / "manager", nobody) as running, asyncio.timeout(ENDS_WITHIN_SECONDS):
            _, words = await running.communicate()
        assert running.returncode, "who may do nothing is not left waiting"
        assert "forbidden" in words.decode().lower()


def a_job() -> dict[str, object]:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "1"}}}
    pod = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    meta = {"name": "made-by-hand", "namespace": NAMESPACE, "labels": {QUEUE_NAME: DOOR}}
    return {"apiVersion": "batch/v1", "kind": "Job", "metadata": meta, "spec": {"template": pod}}
