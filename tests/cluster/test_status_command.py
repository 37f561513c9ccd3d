"""``growth status`` on a real cluster, by somebody who may only look: the exit code is what scripts go by."""

import json
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio

from bench.status_scene import a_night
from growth.api.crd import definitions
from growth.api.growth_status import GROWTH_STATUS, STATUS, ClusterStatus
from growth.api.kinds import CONFIG_MAPS, LEASES, NAMESPACES
from growth.api.timestamp import format_micro_time
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.test_top_command import growth

pytestmark = pytest.mark.cluster

NAMESPACE = "status-command"
_RBAC = "rbac.authorization.k8s.io"


def _role(kind: str, rules: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """A role of this kind and its binding."""
    meta = {"name": NAMESPACE, "namespace": NAMESPACE} if kind == "Role" else {"name": NAMESPACE}
    subject = {"kind": "ServiceAccount", "namespace": NAMESPACE, "name": "looks"}
    reference = {"apiGroup": _RBAC, "kind": kind, "name": NAMESPACE}
    return [
        {"apiVersion": f"{_RBAC}/v1", "kind": kind, "metadata": meta, "rules": rules},
        {
            "apiVersion": f"{_RBAC}/v1",
            "kind": f"{kind}Binding",
            "metadata": meta,
            "roleRef": reference,
            "subjects": [subject],
        },
    ]


# The rights that docs/registry.md names.
LOOKING = [
    *_role(
        "Role",
        [
            {"apiGroups": [""], "resources": ["configmaps"], "resourceNames": [GROWTH_STATUS], "verbs": ["get"]},
            {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
        ],
    ),
    *_role("ClusterRole", [{"apiGroups": ["growth.dev"], "resources": ["nodepools"], "verbs": ["list"]}]),
]


@pytest_asyncio.fixture(loop_scope="session")
async def looker(control_plane: LocalCluster) -> AsyncGenerator[Path]:
    """A namespace in which Growth could live, and the kubeconfig of somebody who may look at it."""
    admin = control_plane.admin
    await control_plane.apply(definitions())
    await admin.create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
    await control_plane.apply(LOOKING)
    yield await control_plane.kubeconfig_as(NAMESPACE, "looks")
    await control_plane.kubectl("delete", "clusterrole,clusterrolebinding", NAMESPACE)
    await admin.delete(NAMESPACES, NAMESPACE)


async def write(control_plane: LocalCluster, status: ClusterStatus) -> None:
    """A leader lives, and says this."""
    data = {STATUS: msgspec.json.encode(status).decode()}
    renewed = format_micro_time(datetime.now(UTC))
    spec = {"holderIdentity": "growth-1", "leaseDurationSeconds": 60, "renewTime": renewed}
    objects = ((CONFIG_MAPS, GROWTH_STATUS, {"data": data}), (LEASES, "growth", {"spec": spec}))
    manifests: list[dict[str, Any]] = [
        {
            "apiVersion": kind.api_version,
            "kind": kind.name,
            "metadata": {"name": name, "namespace": NAMESPACE},
            **body,
        }
        for kind, name, body in objects
    ]
    await control_plane.apply(manifests)


async def test_the_exit_code_tells_how_the_cluster_is(control_plane: LocalCluster, looker: Path) -> None:
    code, out, err = await growth(looker, "status", "--namespace", NAMESPACE)
    assert (code, err) == (1, "")
    assert f"there is no Lease {NAMESPACE}/growth" in " ".join(out.split())
    await write(control_plane, ClusterStatus(states={"Ready": 1}, ready=1))
    code, out, err = await growth(looker, "status", "--namespace", NAMESPACE)
    assert (code, err) == (0, "")
    assert out.lstrip().startswith("HEALTHY")
    await write(control_plane, a_night()[0])
    code, out, err = await growth(looker, "status", "--namespace", NAMESPACE, "--output", "json")
    assert (code, err) == (1, "")
    told = json.loads(out)
    assert (told["health"], told["is_halted"], told["leader"]["holder"]) == ("unhealthy", True, "growth-1")
    code, out, err = await growth(looker, "status", "--namespace", "default")
    assert (code, out) == (2, "")
    assert err.startswith("Error: the role lacks the verb 'get' on configmaps")
