"""A real API server takes our definitions, fills in defaults and refuses nonsense in words."""

import asyncio
import os
import secrets
from collections.abc import AsyncGenerator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import msgspec
import pytest
import pytest_asyncio
import yaml

from growth.api.crd import definitions
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import Kind
from growth.api.node_move import NodeMoveStatus
from growth.api.node_pool import NodeCounts, NodePoolStatus, OfferingStatus, ServerType
from growth.api.node_request import NodeRequestStatus
from growth.api.phases import MOVE_MOVES, REMOVAL_MOVES, REQUEST_MOVES, may_move
from growth.api.status import StatusCondition, StatusEvent
from growth.kube.errors import Invalid
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.binaries import find_binaries
from growth_lab.local_cluster.cluster import LocalCluster
from tests.api.test_kinds_page import shown_commands, shown_pool

pytestmark = pytest.mark.cluster

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)

# The first example of the autoscaler's design document; only the group is ours.
SEED = """
apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata:
  name: default
spec:
  serverTypes:
    - name: CAX11
      max: 10
    - name: CAX21
      # MAYBE feature - pre-warm to guarantee 1 even without load
      min: 1
      max: 5
    - name: CAX31
      max: 1

---

apiVersion: growth.dev/v1alpha1
kind: NodePool
metadata:
  name: gpu
spec:
  serverTypes:
    - name: GEX44
      max: 5
"""


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def server(control_plane: LocalCluster) -> AsyncGenerator[LocalCluster]:
    """The shared control plane with our definitions."""
    await control_plane.apply(definitions())
    await control_plane.kubectl(
        "wait", "crd", "--for=condition=Established", "--timeout=30s", *(d["metadata"]["name"] for d in definitions())
    )
    yield control_plane
    for kind in (NODE_POOLS, NODE_REQUESTS, NODE_MOVES, NODE_REMOVAL_REQUESTS):
        await control_plane.kubectl("delete", kind.plural, "--all", "--wait=false")


def a_name() -> str:
    return f"p{secrets.token_hex(4)}"


def a_pool(*types: dict[str, Any], name: str = "", **spec: object) -> dict[str, Any]:
    return {"metadata": {"name": name or a_name()}, "spec": {"serverTypes": types or ({"name": "CAX11"},), **spec}}


def a_request(**spec: object) -> dict[str, Any]:
    return {"metadata": {"name": a_name()}, "spec": {"pool": "default", "targetOffering": "hetzner-cax11", **spec}}


async def test_the_definitions_are_established_under_their_short_names_and_category(server: LocalCluster) -> None:
    shown = await server.kubectl("api-resources", "--api-group=growth.dev", "--categories=growth", "--no-headers")
    rows = {words[0]: words[1:] for words in map(str.split, shown.splitlines())}
    assert rows == {
        "nodepools": ["np", "growth.dev/v1alpha1", "false", "NodePool"],
        "noderequests": ["nreq", "growth.dev/v1alpha1", "false", "NodeRequest"],
        "nodemoves": ["nmove", "growth.dev/v1alpha1", "false", "NodeMove"],
        "noderemovalrequests": ["nrem", "growth.dev/v1alpha1", "false", "NodeRemovalRequest"],
    }


async def test_the_server_found_nothing_to_object_to_in_the_schemas(server: LocalCluster) -> None:
    for definition in definitions():
        shown = yaml.safe_load(await server.kubectl("get", "crd", definition["metadata"]["name"], "--output=yaml"))
        conditions = {condition["type"]: condition["status"] for condition in shown["status"]["conditions"]}
        assert conditions == {"NamesAccepted": "True", "Established": "True"}


async def test_the_seeds_manifests_apply_and_get_their_defaults(server: LocalCluster) -> None:
    await server.kubectl("apply", "--filename=-", text=SEED)
    pool = await server.admin.get(NODE_POOLS, "default")
    assert pool.spec.server_types == (ServerType("CAX11", 0, 10), ServerType("CAX21", 1, 5), ServerType("CAX31", 0, 1))
    stored = yaml.safe_load(await server.kubectl("get", "np", "default", "--output=yaml"))
    assert stored["spec"] == {
        "serverTypes": [
            {"name": "CAX11", "min": 0, "max": 10, "priority": 0},
            {"name": "CAX21", "min": 1, "max": 5, "priority": 0},
            {"name": "CAX31", "min": 0, "max": 1, "priority": 0},
        ],
        "priority": 0,
        "scaleDown": {
            "enabled": True,
            "emptyAfter": "10m",
            "unreadyAfter": "20m",
            "delayAfterScaleUp": "10m",
            "removeUnreachable": False,
        },
        "disruption": {
            "mode": "observe",
            "maxUnavailable": "10%",
            "minNodeAge": "1h",
            "minSaving": "5%",
            "payBackWithin": "1h",
        },
        "deletionPolicy": "Drain",
        "machine": {"publicIPv4": True, "publicIPv6": True, "spread": False},
    }
    assert "status" not in stored


@pytest.mark.parametrize(
    ("pool", "sentence"),
    [
        (a_pool({"name": "CAX11", "min": 3, "max": 1}), "min must not be greater than max"),
        ({"metadata": {"name": "none"}, "spec": {"serverTypes": []}}, "a NodePool needs at least one server type"),
        ({"metadata": {"name": "none"}, "spec": {}}, "a NodePool needs at least one server type"),
        (a_pool({"name": "CAX11"}, {"name": "CAX11"}), "two server types have the same name"),
        (a_pool({"name": "CAX11"}, {"name": "cax11"}), "two server types have the same name"),
        (a_pool({"name": "a/b"}), "must be a server type's name"),
        (a_pool(limits={"cpu": -1}), "spec.limits.cpu: Invalid value: -1: must not be negative"),
        (a_pool(limits={"memory": "-1Gi"}), 'spec.limits.memory: Invalid value: "-1Gi": must not be negative'),
        (a_pool(limits={"costPerHour": "-0.5"}), "must not be negative"),
        (a_pool(limits={"nodes": -1}), "must not be negative"),
        (a_pool(limits={"memory": "1 Gi"}), "must be a quantity"),
        (a_pool(machine={"reserved": {"cpu": "-1"}}), "must not be negative"),
        (a_pool(scaleDown={"emptyAfter": "ten minutes"}), "must be a duration such as 90s, 10m or 1h30m"),
        (a_pool(disruption={"maxUnavailable": "110%"}), "must be a number such as 2 or a share such as 10%"),
        (a_pool(labels={"growth.dev/pool": "other"}), "labels under growth.dev/ are set by Growth itself"),
        (a_pool(labels={"-": "x"}), "every key must be a label key"),
        (a_pool(labels={"team": "a b"}), "every value must be a label value"),
        (a_pool(taints=[{"key": "gpu"}]), "every taint needs an effect"),
        (a_pool(deletionPolicy="Forget"), 'supported values: "Drain", "Orphan"'),
        (a_pool(name="p" * 53), "a pool's name has at most 52 characters"),
    ],
)
async def test_a_pool_that_makes_no_sense_is_refused_in_words(
    server: LocalCluster, pool: dict[str, Any], sentence: str
) -> None:
    with pytest.raises(Invalid) as refusal:
        await server.admin.create(NODE_POOLS, pool)
    assert sentence in str(refusal.value)


async def test_a_pool_with_everything_is_taken_and_read_back(server: LocalCluster) -> None:
    everything = a_pool(
        {"name": "CAX11", "min": 1, "max": 3, "priority": 5},
        name="p" * 52,
        provider="hetzner",
        locations=["fsn1"],
        labels={"team": "web", "example.org/tier": ""},
        taints=[{"key": "dedicated", "value": "web", "effect": "NoSchedule"}],
        startupTaints=[{"key": "example.org/warming", "effect": "NoExecute"}],
        limits={"cpu": 64, "memory": "1.5Ti", "nodes": 5, "costPerHour": "1.5"},
        disruption={"maxUnavailable": 2},
        machine={
            "image": "debian-13",
            "userDataSecret": {"name": "boot"},
            "reserved": {"cpu": "100m"},
            "sshKeys": ["me", "4711"],
            "firewalls": ["wall"],
            "spread": True,
            "publicIPv4": False,
        },
    )
    pool = await server.admin.create(NODE_POOLS, everything)
    assert (pool.spec.limits.cpu, pool.spec.limits.memory, pool.spec.limits.cost_per_hour) == (64, "1.5Ti", "1.5")
    assert pool.spec.machine.user_data_secret is not None
    assert pool.spec.machine.user_data_secret.key == "user-data"
    machine = pool.spec.machine
    assert (machine.ssh_keys, machine.firewalls) == (("me", "4711"), ("wall",))
    assert (machine.spread, machine.public_ipv4, machine.public_ipv6) == (True, False, True)
    assert [str(taint) for taint in (*pool.spec.taints, *pool.spec.startup_taints)] == [
        "dedicated=web:NoSchedule",
        "example.org/warming:NoExecute",
    ]


@pytest.mark.parametrize(
    ("request_", "sentence"),
    [
        (a_request(targetOffering=""), "a NodeRequest must name what to buy"),
        ({"metadata": {"name": "bare"}}, "spec: Required value"),
    ],
)
async def test_a_request_for_nothing_is_refused_in_words(
    server: LocalCluster, request_: dict[str, Any], sentence: str
) -> None:
    spec = {name: value for name, value in request_.get("spec", {}).items() if value is not None}
    with pytest.raises(Invalid) as refusal:
        await server.admin.create(NODE_REQUESTS, request_ | ({"spec": spec} if spec else {}))
    assert sentence in str(refusal.value)


async def test_request_of_the_page_applies_and_belongs_to_the_pool_that_owns_it(
    server: LocalCluster, tmp_path: Path
) -> None:
    await server.apply([shown_pool()])
    (tmp_path / "kubectl").symlink_to(find_binaries(os.environ)["kubectl"])
    surroundings = {
        "PATH": f"{tmp_path}:{os.environ['PATH']}",
        "KUBECONFIG": str(server.kubeconfig),
        "HOME": str(tmp_path),
    }
    process = await asyncio.create_subprocess_exec("sh", "-e", "-c", shown_commands(), env=surroundings)
    assert await process.wait() == 0
    made = await server.admin.get(NODE_REQUESTS, "default-by-hand")
    assert (made.pool, made.pool_problem, made.spec.pool) == ("default", "", "")
    assert "default" in (await server.kubectl("get", "nreq", "default-by-hand", "-o", "wide")).split()


@pytest.mark.parametrize("change", [{"targetOffering": "hetzner-cax21"}, {"location": "fsn1"}, {"pool": "other"}])
async def test_a_request_cannot_be_changed_later(server: LocalCluster, change: dict[str, str]) -> None:
    made = await server.admin.create(NODE_REQUESTS, a_request())
    with pytest.raises(Invalid) as refusal:
        await server.admin.patch(NODE_REQUESTS, made.metadata.name, MergePatch({"spec": change}))
    assert "a NodeRequest cannot be changed: delete it and create another one" in str(refusal.value)


async def test_a_removal_needs_no_more_than_a_name_and_cannot_be_changed_either(server: LocalCluster) -> None:
    made = await server.admin.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": a_name()}})
    assert made.node_name == made.metadata.name
    change = MergePatch({"spec": {"nodeName": "another"}})
    with pytest.raises(Invalid) as refusal:
        await server.admin.patch(NODE_REMOVAL_REQUESTS, made.metadata.name, change)
    assert "a NodeRemovalRequest cannot be changed" in str(refusal.value)


async def test_a_move_of_nothing_is_refused_and_none_can_be_changed(server: LocalCluster) -> None:
    empty: tuple[dict[str, Any], ...] = ({}, {"nodes": []}, {"reason": "Cheaper"})
    for spec in empty:
        with pytest.raises(Invalid, match="a NodeMove must name the nodes that go"):
            await server.admin.create(NODE_MOVES, {"metadata": {"name": a_name()}, "spec": spec})
    made = await server.admin.create(NODE_MOVES, {"metadata": {"name": a_name()}, "spec": {"nodes": ["one"]}})
    with pytest.raises(Invalid, match="a NodeMove cannot be changed: delete it, and it is undone"):
        await server.admin.patch(NODE_MOVES, made.metadata.name, MergePatch({"spec": {"nodes": ["two"]}}))


async def test_people_see_at_a_glance_how_far_a_move_is(server: LocalCluster) -> None:
    spec = {"nodes": ["one", "two"], "savesPerHour": "0.012"}
    made = await server.admin.create(NODE_MOVES, {"metadata": {"name": a_name()}, "spec": spec})
    status = NodeMoveStatus("Draining", NOON, "its pods are asked to leave")
    patch = MergePatch({"status": msgspec.to_builtins(status)})
    await server.admin.patch(NODE_MOVES, made.metadata.name, patch, subresource="status")
    header, row = (await server.kubectl("get", "nmove", made.metadata.name)).splitlines()
    assert header.split() == ["NAME", "REASON", "NODES", "SAVES/H", "PHASE", "SINCE", "AGE"]
    assert row.split()[1:5] == ["Cheaper", '["one","two"]', "0.012", "Draining"]
    wide = await server.kubectl("get", "nmove", made.metadata.name, "--output=wide")
    assert "its pods are asked to leave" in wide


async def test_a_status_is_written_whole_and_read_back_the_same(server: LocalCluster) -> None:
    pool = await server.admin.create(NODE_POOLS, a_pool())
    full = NodePoolStatus(
        NodeCounts(ready=3, unready=1),
        "0.0153",
        (StatusCondition("Healthy", "True", "MostReady", "3 of 4 nodes are ready.", NOON),),
        (
            OfferingStatus(
                *("hetzner-cax11-fsn1", 2, NOON, NOON, None, "OutOfStock", "no stock"),
                lacks={"memory": "200Mi"},
                image="debian-13",
                surprises=1,
            ),
        ),
    )
    for status in (full, NodePoolStatus(NodeCounts()), NodePoolStatus()):
        patch = MergePatch({"status": msgspec.to_builtins(status)})
        await server.admin.patch(NODE_POOLS, pool.metadata.name, patch, subresource="status")
        assert (await server.admin.get(NODE_POOLS, pool.metadata.name)).status == status


async def test_people_see_at_a_glance_what_a_request_is_waiting_for(server: LocalCluster) -> None:
    made = await server.admin.create(NODE_REQUESTS, a_request())
    status = NodeRequestStatus(
        "Provisioning",
        NOON,
        "kwok://1",
        events=(StatusEvent(NOON, "nodeRequested"), StatusEvent(NOON, "accepted", "ok")),
    )
    patch = MergePatch({"status": msgspec.to_builtins(status)})
    await server.admin.patch(NODE_REQUESTS, made.metadata.name, patch, subresource="status")
    header, row = (await server.kubectl("get", "nreq", made.metadata.name, "--output=wide")).splitlines()
    assert header.split() == [
        "NAME",
        "POOL",
        "OFFERING",
        "PHASE",
        "SINCE",
        "MACHINE",
        "REPLACES",
        "OWNER",
        "LAST",
        "AGE",
    ]
    words = row.split()
    assert words[1:4] == ["default", "hetzner-cax11", "Provisioning"]
    assert "kwok://1" in words
    assert "accepted" in words


@pytest.mark.parametrize(
    ("kind", "spec", "table", "path"),
    [
        (NODE_REQUESTS, a_request()["spec"], {**REQUEST_MOVES}, ["Pending", "Provisioning", "Ready"]),
        (NODE_MOVES, {"nodes": ["one"]}, {**MOVE_MOVES}, ["Buying", "Draining", "Undoing", "Undone"]),
        (NODE_REMOVAL_REQUESTS, {}, {**REMOVAL_MOVES}, ["Pending", "Deprovisioning", "RemovalFailed"]),
    ],
    ids=["request", "move", "removal"],
)
async def test_the_server_allows_the_moves_of_the_table_and_no_others(
    server: LocalCluster, kind: Kind[Any], spec: object, table: dict[str, tuple[str, ...]], path: list[str]
) -> None:
    name = a_name()
    await server.admin.create(kind, {"metadata": {"name": name}, "spec": spec})

    async def move(phase: str) -> None:
        await server.admin.patch(kind, name, MergePatch({"status": {"phase": phase}}), subresource="status")

    for before, after in zip(path, [*path[1:], path[-1]], strict=True):
        for phase in table:
            if not may_move(table, before, phase):
                with pytest.raises(Invalid, match=f"a phase only moves from {path[0]} to"):
                    await move(phase)
        await move(after)
