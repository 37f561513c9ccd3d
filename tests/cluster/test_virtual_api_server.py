"""The same scripts of requests on a real and on a virtual API server: the same codes, reasons, words and objects."""

import asyncio
from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from growth.api.crd import definitions
from growth.local.cluster import LocalCluster
from tests.sim.api.scripts import SCRIPTS
from tests.sim.api.scripts.stages import REAL_CONTROLLERS, play_for_real, play_virtually

pytestmark = pytest.mark.cluster


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def quiet_server() -> AsyncGenerator[LocalCluster]:
    """An API server on which nobody but the script writes, with our definitions."""
    flags = {"kube-controller-manager": (f"--controllers={REAL_CONTROLLERS}",)}
    async with LocalCluster(flags=flags) as cluster:
        await cluster.apply(definitions())
        names = [definition["metadata"]["name"] for definition in definitions()]
        await cluster.kubectl("wait", "crd", "--for=condition=Established", "--timeout=30s", *names)
        yield cluster


@pytest.mark.parametrize("name", SCRIPTS)
async def test_both_servers_answer_alike(quiet_server: LocalCluster, name: str) -> None:
    real = await play_for_real(quiet_server.admin, SCRIPTS[name])
    assert await asyncio.to_thread(play_virtually, SCRIPTS[name]) == real  # it brings a loop of its own
