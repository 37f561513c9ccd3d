"""``growth memory`` on a real cluster, by somebody who has just the rights that its help names."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from growth.api.kinds import CONFIG_MAPS
from growth.api.node_memory import MARKER, MEMORIES, NodeContents, text_of
from growth.kube.errors import Conflict
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster

pytestmark = pytest.mark.cluster

MEMORY, TRANSACTIONS, THEIRS = "memory-looked-at", "transactions-looked-at", "memory-of-others"
PLACES = ("--memory-namespace", MEMORY, "--memory-transaction-namespace", TRANSACTIONS)
_RBAC = "rbac.authorization.k8s.io"
OURS = ["nodepools", "noderequests"]
LOOKING: tuple[dict[str, Any], dict[str, Any]] = (
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "looks-at-memory"},
        "rules": [
            {"apiGroups": [""], "resources": ["nodes", "configmaps"], "verbs": ["get", "list"]},
            {"apiGroups": ["growth.dev"], "resources": OURS, "verbs": ["get"]},
        ],
    },
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "looks-at-memory"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "looks-at-memory"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "looks-at-memory"}],
    },
)


async def growth(kubeconfig: Path, *arguments: str, columns: int = 80) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "growth", "memory", *arguments, "--kubeconfig", str(kubeconfig)),
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": str(columns)},
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest_asyncio.fixture(loop_scope="session")
async def node(control_plane: LocalCluster) -> AsyncGenerator[str]:
    """A node that is there and marked, one that is gone, and a memory that nobody can read."""
    admin = control_plane.admin
    for namespace in (MEMORY, TRANSACTIONS, THEIRS):
        await control_plane.add_namespace(namespace)
    (name,) = await control_plane.add_nodes(1, prefix="remembered", labels={MARKER: "0", "team": "blue"})
    memento = NodeContents(
        uid="old", version=7, labels={"team": "blue", "kubernetes.io/os": "linux"}, removed=("away",)
    )
    for memory, text in (("gone-1", text_of(memento)), ("broken-1", "{oops")):
        await admin.create(MEMORIES, {"metadata": {"name": memory}, "data": {"memory": text}}, MEMORY)
    yield name
    await control_plane.kubectl("delete", "node", name)
    await control_plane.kubectl("delete", "namespace", MEMORY, TRANSACTIONS, THEIRS)


async def test_it_needs_only_the_rights_that_it_names(control_plane: LocalCluster, node: str) -> None:
    role, binding = LOOKING
    await control_plane.apply([role, binding])
    kubeconfig = await control_plane.kubeconfig_as("default", "looks-at-memory")
    code, out, err = await growth(kubeconfig, "list", *PLACES)
    assert (code, err) == (0, "")
    assert out.startswith("2 names   ○ 1 gone   ! 1 unreadable\n"), "kube-root-ca.crt is none of ours"
    code, out, err = await growth(kubeconfig, "show", "gone-1", *PLACES, "--output", "json")
    assert (code, err) == (0, "")
    fates = {item["key"]: item["fate"] for item in json.loads(out)["items"]}
    assert fates == {"away": "taken away", "team": "given back", "kubernetes.io/os": "its own"}
    code, out, err = await growth(kubeconfig, "policy", node, *PLACES)
    assert (code, err) == (0, "")
    assert f"{node}: of " in out
    code, out, err = await growth(kubeconfig, "forget", "gone-1", "--yes", *PLACES)
    assert (code, out) == (2, "")
    assert err.startswith("Error: the role lacks the verb 'delete' on configmaps")


async def test_memories_go_out_and_come_in_again(control_plane: LocalCluster, node: str, tmp_path: Path) -> None:
    admin, file = control_plane.kubeconfig, str(tmp_path / "memories.json")
    code, _, err = await growth(admin, "export", file, *PLACES)
    assert (code, err.splitlines()[0]) == (1, f"1 memory in {file}")
    assert "because nobody can read them: broken-1" in err
    code, out, _ = await growth(admin, "forget", "gone-1", "broken-1", "--yes", *PLACES)
    assert (code, out) == (0, "forgot gone-1, broken-1\n")
    code, out, err = await growth(admin, "import", file, *PLACES)
    assert (code, out, err) == (0, "imported 1 memory\n", "")
    client = control_plane.admin
    for name in (node, "gone-2"):
        data = {"example.com---SLASH---rack": "r7", "labels_restored": "8"}
        await client.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": data}, THEIRS)
    code, out, err = await growth(admin, "import", "--from", "configmaps", "--from-namespace", THEIRS, *PLACES)
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == "imported 1 memory"
    assert out.splitlines()[1].endswith(f"it is remembered as it is now: {node}")
    taken: dict[str, Any] = json.loads((await client.get(MEMORIES, "gone-2", MEMORY)).data.memory)
    assert (taken["labels"], taken["version"], taken["uid"]) == ({"example.com/rack": "r7"}, 0, "")


async def test_what_changed_is_not_overwritten_by_what_was_seen(control_plane: LocalCluster, node: str) -> None:
    """The API server refuses a version that is not the current one, on a patch as on a deletion."""
    client = control_plane.admin
    assert node
    seen = (await client.get(MEMORIES, "gone-1", MEMORY)).metadata.resource_version
    await client.patch(MEMORIES, "gone-1", MergePatch({"data": {"claimedBy": "x/y"}}), MEMORY)
    stale = MergePatch({"metadata": {"resourceVersion": str(seen)}, "data": {"memory": "{}"}})
    with pytest.raises(Conflict):
        await client.patch(MEMORIES, "gone-1", stale, MEMORY)
    with pytest.raises(Conflict):
        await client.delete(MEMORIES, "gone-1", MEMORY, resource_version=seen)
