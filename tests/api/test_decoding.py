"""What comes over the wire, with its nulls, its strings for integers and its many fields that nobody reads."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from growth.api.decoding import ListMeta, Reader, bookmark, watch_line
from growth.api.interning import InternTables
from growth.api.kinds import CSI_NODES, DAEMON_SETS, NODES, PODS, Kind
from growth.api.meta import Condition, ObjectMeta, OwnerReference
from growth.api.pod import Container, ContainerPort, ContainerStatus, Pod, PodSpec, PodStatus, ResourceRequirements
from growth.api.storage import CsiNode, CsiNodeSpec
from growth.api.tolerations import Toleration
from growth.api.workloads import DaemonSet
from tests.builders import BORN, Json, a_bookmark, a_list, a_node, a_pod, uid_of

BIRTH = datetime(2026, 3, 1, 8, tzinfo=UTC)


def wire(value: Json) -> bytes:
    return json.dumps(value).encode()


def read(kind: Kind[Any], value: Json) -> Any:  # noqa: ANN401 - each caller knows its kind
    return Reader(kind, InternTables()).object(wire(value))


def test_of_a_whole_pod_exactly_what_we_use_remains() -> None:
    sent = a_pod("web-1", version=812, annotations={"growth.dev/do-not-disrupt": "true", "example.org/noise": "x"})
    assert len(wire(sent)) > 3_500
    assert read(PODS, sent) == Pod(
        metadata=ObjectMeta(
            name="web-1",
            namespace="default",
            uid=uid_of("pod", "default", "web-1"),
            resource_version=812,
            creation_timestamp=BIRTH,
            labels={"app": "web", "pod-template-hash": "7d4b9c6f5"},
            annotations={"growth.dev/do-not-disrupt": "true"},
            owner_references=(
                OwnerReference(
                    "ReplicaSet", "web-7d4b9c6f5", uid_of("replicaset", "default", "web"), "apps/v1", controller=True
                ),
            ),
        ),
        spec=PodSpec(
            containers=(
                Container("app", ResourceRequirements({"cpu": "250m", "memory": "512Mi"}), (ContainerPort(),)),
            ),
            tolerations=tuple(
                Toleration(f"node.kubernetes.io/{key}", "Exists", effect="NoExecute")
                for key in ("not-ready", "unreachable")
            ),
            local_volumes=("cache",),
        ),
        node_name="node-1",
        status=PodStatus(
            phase="Running",
            start_time=BIRTH,
            conditions=(
                Condition("Ready", "True", last_transition_time=BIRTH),
                Condition("PodScheduled", "True", last_transition_time=BIRTH),
            ),
        ),
    )


def test_a_pending_pod_says_why_it_waits() -> None:
    pod: Pod = read(PODS, a_pod(node=""))
    assert pod.node_name == ""
    assert pod.condition("PodScheduled") == Condition("PodScheduled", "False", "Unschedulable", BIRTH)
    assert pod.condition("Ready") is None


@pytest.mark.parametrize(
    ("status", "kept"),
    [
        pytest.param({"name": "app"}, (), id="a container that says nothing holds what its spec asks for"),
        pytest.param(
            {"name": "app", "allocatedResources": {"cpu": "250m", "memory": "512Mi"}},
            (),
            id="a container that holds just what its spec asks for says nothing new",
        ),
        pytest.param(
            {"name": "app", "allocatedResources": {"cpu": "1"}},
            (ContainerStatus("app", allocated_resources={"cpu": "1"}),),
            id="a container that was given something else is kept",
        ),
        pytest.param(
            {"name": "app", "resources": {"requests": {"cpu": "1"}, "limits": {"cpu": "2"}}},
            (ContainerStatus("app", ResourceRequirements({"cpu": "1"})),),
            id="a container that still holds something else is kept",
        ),
    ],
)
@pytest.mark.parametrize("field", ["containerStatuses", "initContainerStatuses"])
def test_container_statuses_are_kept_where_they_differ_from_the_spec(
    field: str, status: Json, kept: tuple[ContainerStatus, ...]
) -> None:
    pod: Pod = read(PODS, a_pod(status={"containerStatuses": [], field: [status]}))
    assert pod.status.container_statuses == kept


def test_only_volumes_that_bind_a_pod_to_a_place_are_kept() -> None:
    volumes = [
        {"name": "data", "persistentVolumeClaim": {"claimName": "data-db-0"}},
        {"name": "scratch", "ephemeral": {"volumeClaimTemplate": {"spec": {"accessModes": ["ReadWriteOnce"]}}}},
        {"name": "config", "configMap": {"name": "db"}},
    ]
    pod: Pod = read(PODS, a_pod(spec={"volumes": volumes}))
    assert [volume.name for volume in pod.spec.volumes] == ["data", "scratch"]
    assert pod.spec.local_volumes == ()


def test_of_volumes_on_the_disk_of_the_node_the_names_are_kept() -> None:
    volumes = [
        {"name": "cache", "emptyDir": {"sizeLimit": "1Gi"}},
        {"name": "shm", "emptyDir": {"medium": "Memory"}},
        {"name": "logs", "hostPath": {"path": "/var/log"}},
        {"name": "config", "configMap": {"name": "db"}},
    ]
    pod: Pod = read(PODS, a_pod(spec={"volumes": volumes}))
    assert (pod.spec.volumes, pod.spec.local_volumes) == ((), ("cache", "logs"))


def test_a_node_is_read_with_its_odd_spellings() -> None:
    node = read(NODES, a_node("n1", provider_id="hcloud://42", taints=[{"key": "a", "effect": "NoSchedule"}]))
    assert (node.spec.provider_id, node.is_ready) == ("hcloud://42", True)
    assert node.status.node_info.boot_id == uid_of("boot", "n1")
    assert node.status.allocatable["pods"] == "110"
    assert not read(NODES, a_node(ready=False)).is_ready


@pytest.mark.parametrize(("kind", "sent"), [(NODES, a_node()), (PODS, a_pod())], ids=["node", "pod"])
def test_a_condition_in_any_word_is_read_since_the_server_takes_any(kind: Kind[Any], sent: Json) -> None:
    sent["status"]["conditions"] = [{"type": "Ready", "status": "Maybe"}]
    assert read(kind, sent).status.conditions == (Condition("Ready", "Maybe"),)


@pytest.mark.parametrize("version", ["7", 7], ids=["a version in a string", "a version as a number"])
def test_a_resource_version_is_an_integer(version: object) -> None:
    assert read(NODES, {"metadata": {"name": "n", "resourceVersion": version}}).metadata.resource_version == 7


def test_a_version_beyond_32_bits_keeps_all_its_digits() -> None:
    sent = {"metadata": {"name": "n", "resourceVersion": str(2**63 - 1)}}
    assert read(NODES, sent).metadata.resource_version == 2**63 - 1


@pytest.mark.parametrize(
    ("kind", "sent", "expected"),
    [
        pytest.param(
            CSI_NODES,
            {"metadata": {"name": "n"}, "spec": {"drivers": None}},
            CsiNode(ObjectMeta(name="n"), CsiNodeSpec(drivers=None)),
            id="a node without storage drivers has null for their list",
        ),
        pytest.param(
            DAEMON_SETS,
            {
                "metadata": {"name": "d", "creationTimestamp": BORN},
                "spec": {"template": {"metadata": {"creationTimestamp": None}}},
            },
            DaemonSet(ObjectMeta(name="d", creation_timestamp=BIRTH)),
            id="a template was never created, its time is null",
        ),
    ],
)
def test_nulls_that_go_writes_for_empty_fields_are_read(kind: Kind[Any], sent: Json, expected: object) -> None:
    assert read(kind, sent) == expected


@pytest.mark.parametrize("kind", ["Pod", "Node"])
def test_a_bookmark_is_read_in_spite_of_its_nulls(kind: str) -> None:
    line = watch_line(wire({"type": "BOOKMARK", "object": a_bookmark(4711, kind=kind)}))
    assert line.type == "BOOKMARK"
    assert bookmark(line.object).metadata.resource_version == 4711
    assert not bookmark(line.object).ends_initial_events


def test_the_bookmark_that_ends_a_streamed_list_is_told_from_the_others() -> None:
    line = watch_line(wire({"type": "BOOKMARK", "object": a_bookmark(9, ends_initial_events=True)}))
    assert bookmark(line.object).ends_initial_events


def test_a_page_names_the_next_one() -> None:
    items, _, page = Reader(PODS, InternTables()).page(
        wire(a_list([a_pod("a"), a_pod("b")], version=5, next_page="token"))
    )
    assert [pod.metadata.name for pod in items] == ["a", "b"]
    assert page == ListMeta(resource_version="5", next_page="token")


@pytest.mark.parametrize("kind", [PODS, NODES], ids=["slimmed kinds", "kinds kept as they are"])
def test_an_empty_list_may_come_as_null(kind: Kind[Any]) -> None:
    items, _, page = Reader(kind, InternTables()).page(wire(a_list(None, version=3)))
    assert (items, page) == ([], ListMeta(resource_version="3"))
