"""``growth top`` and ``growth request`` on a real cluster, by somebody who may only look."""

import asyncio
import json
import os
import sys
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from bench.fleet_scene import a_removal
from growth.api.crd import definitions
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS
from growth.api.node_removal_request import RETRY
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster

pytestmark = pytest.mark.cluster

POOL = "looked-at"
_RBAC = "rbac.authorization.k8s.io"
_OURS = ["nodepools", "noderequests", "noderemovalrequests"]
LOOKING: tuple[dict[str, Any], dict[str, Any]] = (
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRole",
        "metadata": {"name": "looks-at-top"},
        "rules": [
            {"apiGroups": [""], "resources": ["pods", "nodes"], "verbs": ["list", "watch"]},
            {"apiGroups": ["growth.dev"], "resources": _OURS, "verbs": ["list", "watch"]},
        ],
    },
    {
        "apiVersion": f"{_RBAC}/v1",
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "looks-at-top"},
        "roleRef": {"apiGroup": _RBAC, "kind": "ClusterRole", "name": "looks-at-top"},
        "subjects": [{"kind": "ServiceAccount", "namespace": "default", "name": "looks-at-top"}],
    },
)


async def growth(kubeconfig: Path, *arguments: str) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "growth", *arguments, "--kubeconfig", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "120"},
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


@pytest_asyncio.fixture(loop_scope="session")
async def a_removal_that_failed(control_plane: LocalCluster) -> AsyncGenerator[str]:
    """A pool with two nodes, of which one could not be removed."""
    admin = control_plane.admin
    await control_plane.apply(definitions())
    await admin.create(NODE_POOLS, {"metadata": {"name": POOL}, "spec": {"serverTypes": [{"name": "cx33"}]}})
    names = await control_plane.add_nodes(2, prefix=POOL, labels={"growth.dev/pool": POOL})
    body = a_removal(names[0], "RemovalFailed", 24, 5, wrong="Invalid: it is protected")
    spec = {**body["spec"], "pool": POOL}
    await admin.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": names[0]}, "spec": spec})
    for phase in ("Pending", "Deprovisioning", "RemovalFailed"):
        status = MergePatch({"status": {**body["status"], "phase": phase}})
        await admin.patch(NODE_REMOVAL_REQUESTS, names[0], status, subresource="status")
    yield names[0]
    await admin.delete(NODE_REMOVAL_REQUESTS, names[0])
    await admin.delete(NODE_POOLS, POOL)
    await control_plane.kubectl("delete", "node", *names)


async def somebody_who_looks(control_plane: LocalCluster) -> Path:
    """Somebody with the rights that the help names, and no others."""
    role, binding = LOOKING
    await control_plane.apply([role, binding])
    return await control_plane.kubeconfig_as("default", "looks-at-top")


async def test_it_needs_only_the_rights_to_look(control_plane: LocalCluster, a_removal_that_failed: str) -> None:
    kubeconfig = await somebody_who_looks(control_plane)
    code, out, err = await growth(kubeconfig, "top", "--pool", POOL)
    assert (code, err) == (0, "")
    assert "1 pool, 2 machines" in out
    assert f"growth request retry {a_removal_that_failed}" in " ".join(out.split())
    code, out, err = await growth(kubeconfig, "top", "--pool", POOL, "--output", "json")
    assert (code, err) == (0, "")
    assert [one["standing"] for one in json.loads(out)["machines"]] == ["failed", "ready"]


async def test_a_removal_is_tried_again_by_somebody_who_may(
    control_plane: LocalCluster, a_removal_that_failed: str
) -> None:
    name = a_removal_that_failed
    code, out, err = await growth(await somebody_who_looks(control_plane), "request", "retry", name)
    assert (code, out) == (2, "")
    assert err.startswith("Error: the role lacks the verb 'patch' on noderemovalrequests")
    code, out, err = await growth(control_plane.kubeconfig, "request", "retry", name)
    assert (code, err) == (0, "")
    assert out.startswith(f"{name} will be tried again")
    assert RETRY in (await control_plane.admin.get(NODE_REMOVAL_REQUESTS, name)).metadata.annotations
    code, out, err = await growth(control_plane.kubeconfig, "request", "list")
    assert (code, err) == (0, "")
    assert any(line.split()[:3] == ["gone", name, "RemovalFailed"] for line in out.splitlines())
