"""Every verb of the client, and every kind that we read, on a real API server."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from growth.api import kinds
from growth.api.kinds import CONFIG_MAPS, NODES, POD_DISRUPTION_BUDGETS, PODS, Kind
from growth.api.meta import ObjectMeta
from growth.kube.client import PAGE_SIZE
from growth.kube.errors import AlreadyExists, Conflict, Invalid, NotFound, TooManyRequests
from growth.kube.patches import ApplyPatch, JsonPatch, MergePatch
from growth_lab.local_cluster.cluster import LocalCluster
from tests.builders import Json
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster

CONTAINER: Json = {"name": "main", "image": "example/app:1", "resources": {"requests": {"cpu": "100m"}}}
TEMPLATE: Json = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": [CONTAINER]}}
SELECTOR: Json = {"matchLabels": {"app": "x"}}


async def test_an_object_is_made_read_changed_in_three_ways_and_removed(
    control_plane: LocalCluster, namespace: str
) -> None:
    admin = control_plane.admin
    made = await admin.create(CONFIG_MAPS, {"metadata": {"name": "notes"}, "data": {"a": "1"}}, namespace)
    with pytest.raises(AlreadyExists):
        await admin.create(CONFIG_MAPS, {"metadata": {"name": "notes"}}, namespace)
    assert (await admin.get(CONFIG_MAPS, "notes", namespace)) == made

    merged = await admin.patch(CONFIG_MAPS, "notes", MergePatch({"data": {"a": None, "b": "2"}}), namespace)
    assert merged.data == {"b": "2"}
    assert merged.metadata.resource_version > made.metadata.resource_version
    test_then_add = JsonPatch(
        [{"op": "test", "path": "/data/b", "value": "2"}, {"op": "add", "path": "/data/c", "value": "3"}]
    )
    assert (await admin.patch(CONFIG_MAPS, "notes", test_then_add, namespace)).data == {"b": "2", "c": "3"}
    applied = ApplyPatch({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "notes"}, "data": {"d": "4"}})
    assert (await admin.patch(CONFIG_MAPS, "notes", applied, namespace)).data == {"b": "2", "c": "3", "d": "4"}

    stale = MergePatch({"metadata": {"resourceVersion": str(made.metadata.resource_version)}, "data": {"z": "9"}})
    with pytest.raises(Conflict):
        await admin.patch(CONFIG_MAPS, "notes", stale, namespace)
    failing_test = JsonPatch([{"op": "test", "path": "/data/b", "value": "other"}])
    with pytest.raises(Invalid):
        await admin.patch(CONFIG_MAPS, "notes", failing_test, namespace)
    await admin.delete(CONFIG_MAPS, "notes", namespace)
    with pytest.raises(NotFound):
        await admin.get(CONFIG_MAPS, "notes", namespace)


async def test_only_the_object_that_was_meant_is_deleted(control_plane: LocalCluster, namespace: str) -> None:
    admin = control_plane.admin
    made = await admin.create(CONFIG_MAPS, {"metadata": {"name": "notes"}}, namespace)
    with pytest.raises(Conflict):
        await admin.delete(CONFIG_MAPS, "notes", namespace, uid="another")
    changed = await admin.patch(CONFIG_MAPS, "notes", MergePatch({"data": {"a": "1"}}), namespace)
    with pytest.raises(Conflict):
        await admin.delete(
            CONFIG_MAPS, "notes", namespace, uid=made.metadata.uid, resource_version=made.metadata.resource_version
        )
    await admin.delete(
        CONFIG_MAPS, "notes", namespace, uid=made.metadata.uid, resource_version=changed.metadata.resource_version
    )


async def test_a_status_is_changed_apart_from_its_object(control_plane: LocalCluster) -> None:
    admin = control_plane.admin
    await admin.create(NODES, {"metadata": {"name": "status-test"}})
    patch = MergePatch({"status": {"allocatable": {"cpu": "4"}, "capacity": {"cpu": "4"}}})
    node = await admin.patch(NODES, "status-test", patch, subresource="status")
    assert node.status.allocatable == {"cpu": "4"}
    await admin.delete(NODES, "status-test")


async def test_a_long_list_comes_in_pages_of_one_instant(control_plane: LocalCluster, namespace: str) -> None:
    admin = control_plane.admin
    names = [f"n-{number:03d}" for number in range(PAGE_SIZE + 10)]
    bodies = [{"metadata": {"name": name, "labels": {"last": name[-1]}}} for name in names]
    await asyncio.gather(*(admin.create(CONFIG_MAPS, body, namespace) for body in bodies))
    everything = await admin.list(CONFIG_MAPS, namespace)
    assert [item.metadata.name for item in everything.items if item.metadata.name in names] == names
    assert int(everything.resource_version) > max(item.metadata.resource_version for item in everything.items) - 1
    sevens = await admin.list(CONFIG_MAPS, namespace, label_selector="last=7")
    assert [item.metadata.name for item in sevens.items] == [name for name in names if name.endswith("7")]
    one = await admin.list(CONFIG_MAPS, namespace, field_selector="metadata.name=n-004")
    assert [item.metadata.name for item in one.items] == ["n-004"]


async def test_an_eviction_that_a_budget_forbids_comes_back_at_once(
    control_plane: LocalCluster, namespace: str
) -> None:
    admin = control_plane.admin
    (node,) = await control_plane.add_nodes(1)
    pod = await admin.create(
        PODS,
        {"metadata": {"name": "kept", "labels": {"app": "x"}}, "spec": {"containers": [CONTAINER], "nodeName": node}},
        namespace,
    )
    budget = {"metadata": {"name": "all"}, "spec": {"maxUnavailable": 0, "selector": SELECTOR}}
    await admin.create(POD_DISRUPTION_BUDGETS, budget, namespace)

    async def is_counted() -> bool:
        return (await admin.get(POD_DISRUPTION_BUDGETS, "all", namespace)).status.observed_generation > 0

    async def is_ready() -> bool:
        ready = (await admin.get(PODS, "kept", namespace)).condition("Ready")
        return ready is not None and ready.status == "True"

    # A pod that does not run yet may go, whatever a budget says.
    await wait_until(is_ready, "the pod ran")
    await wait_until(is_counted, "the budget was counted")
    with pytest.raises(TooManyRequests):
        await admin.evict("kept", namespace, uid=pod.metadata.uid)
    await admin.delete(POD_DISRUPTION_BUDGETS, "all", namespace)
    with pytest.raises(Conflict):
        await admin.evict("kept", namespace, uid="another")
    await admin.evict("kept", namespace, uid=pod.metadata.uid)

    async def is_gone() -> bool:
        return not (await admin.list(PODS, namespace)).items

    await wait_until(is_gone, "the evicted pod left")
    await admin.delete(NODES, node)


async def test_the_server_tells_its_version(control_plane: LocalCluster) -> None:
    assert (await control_plane.admin.server_version()).startswith("v1.36")


BODIES: dict[Kind[Any], Json] = {
    kinds.NAMESPACES: {},
    kinds.NODES: {"spec": {"providerID": "test://1", "taints": [{"key": "a", "value": "b", "effect": "NoSchedule"}]}},
    kinds.PODS: {"spec": {"containers": [CONTAINER]}},
    kinds.CONFIG_MAPS: {"data": {"a": "1"}},
    kinds.SECRETS: {"data": {"a": "MQ=="}, "type": "Opaque"},
    kinds.PERSISTENT_VOLUMES: {
        "spec": {
            "capacity": {"storage": "1Gi"},
            "accessModes": ["ReadWriteOnce"],
            "csi": {"driver": "csi.example.com", "volumeHandle": "v-1"},
            "nodeAffinity": {
                "required": {
                    "nodeSelectorTerms": [
                        {"matchExpressions": [{"key": "zone", "operator": "In", "values": ["fsn1"]}]},
                    ]
                }
            },
        }
    },
    kinds.PERSISTENT_VOLUME_CLAIMS: {
        "spec": {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    },
    kinds.STORAGE_CLASSES: {
        "provisioner": "csi.example.com",
        "allowedTopologies": [{"matchLabelExpressions": [{"key": "zone", "values": ["fsn1"]}]}],
    },
    kinds.CSI_NODES: {
        "spec": {"drivers": [{"name": "csi.example.com", "nodeID": "n", "allocatable": {"count": 16}}]},
    },
    kinds.VOLUME_ATTACHMENTS: {
        "spec": {"attacher": "csi.example.com", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    },
    kinds.CSI_DRIVERS: {"spec": {"storageCapacity": True}},
    kinds.CSI_STORAGE_CAPACITIES: {
        "storageClassName": "fast",
        "capacity": "10Gi",
        "nodeTopology": {"matchLabels": {"zone": "fsn1"}},
    },
    kinds.DAEMON_SETS: {"spec": {"selector": SELECTOR, "template": TEMPLATE}},
    kinds.JOBS: {
        "spec": {"suspend": True, "template": {"spec": {"containers": [CONTAINER], "restartPolicy": "Never"}}}
    },
    kinds.POD_DISRUPTION_BUDGETS: {"spec": {"maxUnavailable": 1, "selector": SELECTOR}},
    kinds.PRIORITY_CLASSES: {"value": 7},
    kinds.LEASES: {"spec": {"holderIdentity": "me", "leaseDurationSeconds": 15}},
    kinds.EVENTS: {
        "reason": "Tested",
        "action": "Testing",
        "note": "it happened",
        "type": "Normal",
        "eventTime": "2026-11-15T12:00:00.000000Z",
        "reportingController": "growth.dev/growth",
        "reportingInstance": "test",
        "regarding": {"kind": "Node", "name": "x", "apiVersion": "v1"},
    },
}

READS: dict[Kind[Any], Callable[[Any], object]] = {
    kinds.NODES: lambda node: [taint.key for taint in node.spec.taints if taint.key == "a"] == ["a"],
    kinds.PODS: lambda pod: pod.spec.containers[0].resources.requests == {"cpu": "100m"},
    kinds.PERSISTENT_VOLUMES: lambda volume: volume.spec.csi.volume_handle == "v-1",
    kinds.PERSISTENT_VOLUME_CLAIMS: lambda claim: claim.spec.resources.requests == {"storage": "1Gi"},
    kinds.STORAGE_CLASSES: lambda kind: kind.allowed_topologies[0].match_label_expressions[0].values == ("fsn1",),
    kinds.CSI_NODES: lambda node: node.spec.drivers[0].allocatable.count == 16,
    kinds.VOLUME_ATTACHMENTS: lambda attachment: attachment.spec.source.persistent_volume_name == "v",
    kinds.CSI_DRIVERS: lambda driver: driver.spec.storage_capacity,
    kinds.CSI_STORAGE_CAPACITIES: lambda room: (room.storage_class_name, room.capacity) == ("fast", "10Gi"),
    kinds.DAEMON_SETS: lambda daemons: daemons.spec.template.spec.containers[0].name == "main",
    kinds.JOBS: lambda job: job.spec.suspend and job.spec.template.spec.containers[0].name == "main",
    kinds.POD_DISRUPTION_BUDGETS: lambda budget: budget.spec.selector.match_labels == {"app": "x"},
    kinds.PRIORITY_CLASSES: lambda priority: priority.value == 7,
    kinds.LEASES: lambda lease: lease.spec.holder_identity == "me",
    kinds.EVENTS: lambda event: (event.reason, event.note) == ("Tested", "it happened"),
    kinds.CONFIG_MAPS: lambda texts: texts.data == {"a": "1"},
    kinds.SECRETS: lambda secret: (secret.data, secret.type) == ({"a": b"1"}, "Opaque"),
    kinds.NAMESPACES: lambda namespace: namespace.metadata.labels["kubernetes.io/metadata.name"] == "kind-test",
}


@pytest.mark.parametrize("kind", BODIES, ids=lambda kind: kind.name)
async def test_every_kind_is_read_as_the_server_writes_it(
    control_plane: LocalCluster, namespace: str, kind: Kind[Any]
) -> None:
    admin = control_plane.admin
    # An Event about something without a namespace has its place in the default one.
    where = "default" if kind is kinds.EVENTS else namespace if kind.namespaced else ""
    made = await admin.create(kind, {**BODIES[kind], "metadata": {"name": "kind-test"}}, where)
    meta: ObjectMeta = made.metadata
    assert (meta.name, meta.namespace, bool(meta.uid), meta.resource_version > 0) == ("kind-test", where, True, True)
    assert READS[kind](made)
    assert READS[kind](next(item for item in (await admin.list(kind, where)).items if item.metadata.uid == meta.uid))
    await admin.delete(kind, "kind-test", where, uid=meta.uid)


def test_every_kind_that_we_speak_is_tried() -> None:
    spoken: set[Kind[Any]] = {value for value in vars(kinds).values() if isinstance(value, Kind)}
    assert spoken == set(BODIES) == set(READS)
