"""The chart's admission policies on a real API server make of each object what they make of it on the virtual one."""

from collections.abc import AsyncGenerator

import pytest
import pytest_asyncio

from growth_lab.local_cluster.cluster import LocalCluster
from lab.tests.simulator.api.policy_scenes import SCENES, add_namespaces, install, is_in_force, play
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def guarded() -> AsyncGenerator[LocalCluster]:
    """A control plane of its own: policies hold for all of it."""
    async with LocalCluster() as cluster:
        await add_namespaces(cluster.admin)
        await install(cluster.admin)
        await wait_until(lambda: is_in_force(cluster.admin, "shop"), "the policies are in force")
        yield cluster


@pytest.mark.parametrize("name", SCENES)
async def test_what_the_policies_make_of(guarded: LocalCluster, name: str) -> None:
    assert await play(guarded.admin, list(SCENES).index(name), name) == SCENES[name][-1]
