"""A cluster comes, suffers and goes; whoever started it and however that one died, nothing is left."""

import asyncio
import contextlib
import json
import os
import signal
import sys
from collections.abc import AsyncGenerator, Sequence
from pathlib import Path

import pytest

from growth.api.kinds import CONFIG_MAPS
from growth.kube.errors import KubeError
from growth_lab.local_cluster import process, state
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.components import COMPONENTS
from growth_lab.local_cluster.errors import NameTaken, StartFailed
from growth_lab.local_cluster.layout import Layout, layout_of
from growth_lab.local_cluster.ports import Ports, is_free
from growth_lab.local_cluster.status import Condition, status_of
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster

GROWTH = (sys.executable, "-c", "from growth.cli.main import main; main()", "cluster")
A_TEST = """
import asyncio
from growth_lab.local_cluster.cluster import LocalCluster

async def main():
    async with LocalCluster("victim"):
        print("ready", flush=True)
        await asyncio.Event().wait()

asyncio.run(main())
"""


@pytest.fixture
def home(tmp_path: Path) -> dict[str, str]:
    """An environment whose clusters are this test's own."""
    return {**os.environ, "GROWTH_STATE": str(tmp_path)}


def ports_of(name: str, home: dict[str, str]) -> Ports:
    _, record = state.load(name, home)
    assert record is not None
    assert record.plan is not None
    return record.plan.ports


def running(layout: Layout) -> list[process.Process]:
    return process.marked(state.MARK, str(layout.root))


def assert_nothing_is_left(layout: Layout, ports: Sequence[int] = ()) -> None:
    assert running(layout) == []
    assert [port for port in ports if not is_free(port)] == []
    assert not layout.root.exists()


async def output_of(child: asyncio.subprocess.Process) -> str:
    output, _ = await child.communicate()
    return output.decode()


@contextlib.asynccontextmanager
async def growth(home: dict[str, str], *arguments: str) -> AsyncGenerator[asyncio.subprocess.Process]:
    """``growth cluster ...`` as a process of its own, with both outputs in one."""
    child = await asyncio.create_subprocess_exec(
        *GROWTH,
        *arguments,
        env=home,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        # Tests that run in the background inherit a Ctrl-C that is ignored; a person's shell never does that.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    )
    try:
        yield child
    finally:
        if child.returncode is None:
            child.kill()
            await child.wait()


async def test_down_leaves_neither_process_nor_port_nor_file(home: dict[str, str]) -> None:
    async with LocalCluster("whole", environment=home) as cluster:
        ports = ports_of("whole", home).numbers()
        assert len(running(cluster.layout)) == len(COMPONENTS)
        assert [port for port in ports if is_free(port)] == []
    assert_nothing_is_left(cluster.layout, ports)
    assert list(cluster.layout.root.parent.iterdir()) == []


async def test_two_clusters_stand_side_by_side(home: dict[str, str]) -> None:
    async with LocalCluster("left", environment=home) as left:
        with pytest.raises(NameTaken, match="growth cluster down --name left"):
            await LocalCluster("left", environment=home).start()
        async with LocalCluster("right", environment=home) as right:
            assert not set(ports_of("left", home).numbers()) & set(ports_of("right", home).numbers())
            await left.admin.create(CONFIG_MAPS, {"metadata": {"name": "only-left"}}, "default")
            seen = [found.metadata.name for found in (await right.admin.list(CONFIG_MAPS, "default")).items]
            assert "only-left" not in seen
        assert_nothing_is_left(right.layout)
        assert (await status_of("left", home)).condition is Condition.UP
        assert (await left.admin.get(CONFIG_MAPS, "only-left", "default")).metadata.name == "only-left"


async def test_components_can_be_killed_restarted_and_paused(home: dict[str, str]) -> None:
    async with LocalCluster("hurt", environment=home) as cluster:
        url = cluster.url
        await cluster.admin.create(CONFIG_MAPS, {"metadata": {"name": "kept"}}, "default")

        await cluster.kill("kube-apiserver")
        hurt = await status_of("hurt", home)
        assert hurt.condition is Condition.HURT
        assert {found.name: found.condition for found in hurt.components}["kube-apiserver"] is Condition.ENDED
        await cluster.restart("kube-apiserver")
        assert cluster.url == url
        assert (await cluster.admin.get(CONFIG_MAPS, "kept", "default")).metadata.name == "kept"

        await cluster.restart("etcd")

        async def data_is_back() -> bool:
            try:
                return (await cluster.admin.get(CONFIG_MAPS, "kept", "default")).metadata.name == "kept"
            except KubeError:  # the API server has to notice that its connection is new
                return False

        await wait_until(data_is_back, "data outlives kill -9 of etcd")

        cluster.pause("kube-scheduler")
        paused = {found.name: found.condition for found in (await status_of("hurt", home)).components}
        assert paused["kube-scheduler"] is Condition.PAUSED
        cluster.resume("kube-scheduler")

        for component in ("kube-controller-manager", "kube-scheduler", "kwok"):
            await cluster.restart(component)

        async def all_is_well() -> bool:
            return (await status_of("hurt", home)).condition is Condition.UP

        await wait_until(all_is_well, "everything is up again")
    assert_nothing_is_left(cluster.layout)


async def test_a_component_that_cannot_start_says_why_and_leaves_nothing(home: dict[str, str]) -> None:
    cluster = LocalCluster("wrong", flags={"kube-apiserver": ["--no-such-flag"]}, environment=home)
    with pytest.raises(StartFailed, match="unknown flag: --no-such-flag"):
        await cluster.start()
    assert_nothing_is_left(cluster.layout)


async def test_a_test_process_killed_with_9_leaves_no_process(home: dict[str, str]) -> None:
    layout = layout_of("victim", home)
    child = await asyncio.create_subprocess_exec(sys.executable, "-c", A_TEST, env=home, stdout=asyncio.subprocess.PIPE)
    assert child.stdout is not None
    assert await child.stdout.readline() == b"ready\n"
    assert len(running(layout)) == len(COMPONENTS)
    child.kill()
    await child.wait()

    async def all_died() -> bool:
        return not running(layout)

    await wait_until(all_died, "its control plane died with it", seconds=5)
    assert state.remove_leftovers(home) == ["victim"]
    assert_nothing_is_left(layout)


async def test_a_cluster_outlives_its_command_and_is_ended_by_another(home: dict[str, str]) -> None:
    async with growth(home, "up", "--name", "stays", "--nodes", "2", "--output", "json") as child:
        started = json.loads(await output_of(child))
        assert child.returncode == 0
    assert started["nodes"] == 2
    async with growth(home, "status", "--name", "stays", "--output", "json") as child:
        assert json.loads(await output_of(child))["condition"] == "up"
        assert child.returncode == 0
    kubeconfig = started["cluster"]["kubeconfig"]
    async with growth(home, "kubeconfig", "--name", "stays") as child:
        assert (await output_of(child)).strip() == kubeconfig
    async with growth(home, "down", "--name", "stays") as child:
        assert await output_of(child) == f"cluster stays is gone ({len(COMPONENTS)} processes ended)\n"
    assert_nothing_is_left(layout_of("stays", home))


async def test_a_cluster_whose_starter_was_killed_is_found_by_list_and_ended_by_down(home: dict[str, str]) -> None:
    layout = layout_of("orphan", home)
    async with growth(home, "up", "--name", "orphan") as child:

        async def has_begun() -> bool:
            return len(running(layout)) >= 2

        await wait_until(has_begun, "the first components run")
        child.kill()
        await child.wait()
    assert running(layout), "without a starter they go on"
    async with growth(home, "list", "--output", "json") as child:
        assert [(found["name"], found["condition"]) for found in json.loads(await output_of(child))] == [
            ("orphan", "abandoned")
        ]
    async with growth(home, "down", "--name", "orphan") as child:
        assert "cluster orphan is gone" in await output_of(child)
    assert_nothing_is_left(layout)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["Ctrl-C", "a polite kill"])
async def test_interrupting_up_leaves_nothing(home: dict[str, str], number: signal.Signals) -> None:
    layout = layout_of("never", home)
    async with growth(home, "up", "--name", "never") as child:

        async def has_begun() -> bool:
            return len(running(layout)) >= 2

        await wait_until(has_begun, "the first components run")
        child.send_signal(number)
        assert "Aborted" in await output_of(child)
        assert child.returncode == 1
    assert_nothing_is_left(layout)
