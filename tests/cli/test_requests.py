"""``growth request``: what is listed, and how a removal that failed is tried again."""

from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from bench.fleet_scene import NOW, Json, a_removal, afternoon, world_of
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node_removal_request import RETRY, NodeRemovalRequest
from growth.cli.errors import UsageError, sentence_for
from growth.cli.main import main
from growth.cli.requests import RequestRow, ask_for_retry, lines_of, view
from growth.kube.client import Client
from growth.kube.errors import Forbidden
from growth.kube.patches import MergePatch
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence

NAME = "default-93c5d7e118"
FAILED = a_removal(NAME, "RemovalFailed", 24, 5, wrong="Invalid: it is protected")
READER: Json = {
    "kind": "ClusterRole",
    "metadata": {"name": "reader"},
    "rules": [{"apiGroups": ["growth.dev"], "resources": ["noderemovalrequests"], "verbs": ["list"]}],
}
BINDING: Json = {
    "kind": "ClusterRoleBinding",
    "metadata": {"name": "reader"},
    "roleRef": {"kind": "ClusterRole", "name": "reader"},
    "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "reader"}],
}


async def write(client: Client, body: Json) -> None:
    """A removal as it is after all that happened to it: phases only move one by one."""
    name = body["metadata"]["name"]
    await client.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": name}, "spec": body["spec"]})
    for phase in ("Pending", "Deprovisioning", "RemovalFailed"):
        status = {**body["status"], "phase": phase}
        await client.patch(NODE_REMOVAL_REQUESTS, name, MergePatch({"status": status}), subresource="status")
        if phase == body["status"]["phase"]:
            return


async def read(client: Client) -> NodeRemovalRequest:
    return await client.get(NODE_REMOVAL_REQUESTS, NAME)


def on_a_cluster(tell: Callable[[VirtualCluster], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        await tell(VirtualCluster(1, roles=[READER, BINDING]))

    run_virtually(play())


def test_a_removal_that_failed_is_marked_to_be_tried_again() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        client = cluster.admin()
        await write(client, FAILED)
        said = await ask_for_retry(client, NAME, NOW)
        assert said.startswith(f"{NAME} will be tried again. Growth sets it back to Pending")
        after = await read(client)
        assert (after.metadata.annotations[RETRY], after.status.phase) == ("2026-11-15T12:00:00Z", "RemovalFailed")

    on_a_cluster(tell)


def test_asking_twice_changes_nothing() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        client = cluster.admin()
        await write(client, FAILED)
        await ask_for_retry(client, NAME, NOW)
        before = await read(client)
        assert "is to be tried again already" in await ask_for_retry(client, NAME, NOW)
        assert await read(client) == before

    on_a_cluster(tell)


@pytest.mark.parametrize(
    ("phase", "meaning"),
    [("Pending", "its provider has not been asked yet"), ("Deprovisioning", "its provider is being asked")],
)
def test_one_that_is_under_way_is_left_alone(phase: str, meaning: str) -> None:
    async def tell(cluster: VirtualCluster) -> None:
        client = cluster.admin()
        await write(client, a_removal(NAME, phase, 3, 1))
        with pytest.raises(UsageError, match=f"{NAME} is in the phase {phase}, expected RemovalFailed: {meaning}"):
            await ask_for_retry(client, NAME, NOW)
        assert RETRY not in (await read(client)).metadata.annotations

    on_a_cluster(tell)


def test_a_name_that_is_not_there_is_refused_with_the_closest_one() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        client = cluster.admin()
        with pytest.raises(UsageError, match=f"there is no NodeRemovalRequest '{NAME}'; none has failed"):
            await ask_for_retry(client, NAME, NOW)
        await write(client, FAILED)
        words = f"no NodeRemovalRequest 'default-93c5d7e181', the closest is '{NAME}'; those that failed are {NAME}"
        with pytest.raises(UsageError, match=words):
            await ask_for_retry(client, "default-93c5d7e181", NOW)

    on_a_cluster(tell)


def test_who_may_not_patch_is_told_the_verb() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        await write(cluster.admin(), FAILED)
        with pytest.raises(Forbidden) as refused:
            await ask_for_retry(cluster.client(service_account("default", "reader")), NAME, NOW)
        assert sentence_for(refused.value).startswith("the role lacks the verb 'patch' on noderemovalrequests")
        assert RETRY not in (await read(cluster.admin())).metadata.annotations

    on_a_cluster(tell)


def lines() -> list[RequestRow]:
    snapshot = world_of(afternoon()).snapshot(NOW)
    return lines_of(snapshot.table(NODE_REQUESTS).values(), snapshot.table(NODE_REMOVAL_REQUESTS).values())


def test_what_is_to_go_is_listed_before_what_is_wanted() -> None:
    assert [(line.kind, line.name, line.phase, line.attempts) for line in lines()] == [
        ("NodeRemovalRequest", "default-8d02b46fe5", "Deprovisioning", 2),
        ("NodeRemovalRequest", "default-93c5d7e118", "RemovalFailed", 5),
        ("NodeRequest", "default-a4e0f2b6d8", "Provisioning", 0),
        ("NodeRequest", "default-c7d11e9f30", "Pending", 0),
        ("NodeRequest", "default-e90b3d5a12", "Unmet", 0),
    ]


def shown(rows: list[RequestRow], width: int) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(rows, NOW, width))
    return captured.get().splitlines()


@pytest.mark.parametrize("width", [80, 120])
def test_the_list_fits_the_terminal(width: int) -> None:
    printed = shown(lines(), width)
    assert len(printed) == 6
    assert max(map(len, printed)) <= width
    assert printed[2].split()[:5] == ["gone", "default-93c5d7e118", "RemovalFailed", "24m", "5"]
    assert any(line.startswith("here") and "RateLimited" in line for line in printed)


def test_an_empty_list_says_so() -> None:
    assert "Growth has asked for nothing" in " ".join(shown([], 80))


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["request", *arguments])


@pytest.mark.parametrize("arguments", [("list",), ("retry", NAME)])
def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    result = run(*arguments, "--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()))
    assert is_one_sentence(result, "unreachable", "Connection refused")
