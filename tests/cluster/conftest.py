"""The real control plane for tests: one shared by all tests of a worker, and a namespace for each test.

All tests below run on one event loop, the one on which the shared cluster's clients live. Under pytest-xdist each
worker is its own process with its own cluster, on its own ports; nothing is shared between workers.
"""

import asyncio
import secrets
import time
from collections.abc import AsyncGenerator, Awaitable, Callable

import pytest
import pytest_asyncio

from growth.api.kinds import NAMESPACES
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings

Condition = Callable[[], Awaitable[bool]]


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    for item in items:
        if "tests/cluster/" in item.nodeid and pytest_asyncio.is_async_test(item):
            item.add_marker(pytest.mark.asyncio(loop_scope="session"), append=False)


@pytest_asyncio.fixture(scope="session", loop_scope="session")
async def control_plane() -> AsyncGenerator[LocalCluster]:
    """A cluster that tests share: bring your own namespace and node names, and leave its components alone."""
    async with LocalCluster(timings=Timings.fast()) as cluster:
        yield cluster


@pytest_asyncio.fixture(loop_scope="session")
async def namespace(control_plane: LocalCluster) -> AsyncGenerator[str]:
    """A namespace of the test's own, removed after it."""
    name = f"test-{secrets.token_hex(4)}"
    await control_plane.add_namespace(name)
    yield name
    await control_plane.admin.delete(NAMESPACES, name)


async def wait_until(condition: Condition, what: str, seconds: float = 30.0) -> float:
    """Wait for a condition; returns how long it took. Fails with the sentence of what did not happen."""
    started = time.monotonic()
    while not await condition():
        if time.monotonic() - started > seconds:
            pytest.fail(f"within {seconds:g} s it did not happen that {what}")
        await asyncio.sleep(0.05)
    return time.monotonic() - started
