"""What is written down about a played machine, and how it is read again."""

import msgspec
import pytest

from growth.api.core import ConfigMap
from growth.api.kinds import CONFIG_MAPS
from growth.api.machine import request_for
from growth.api.node_pool import NodePool, UserDataSecret
from growth.api.offering import OFFERING
from growth.api.offering import POOL as POOL_LABEL
from growth.cloud.errors import Invalid
from growth.cloud.kwok.catalog import MachineBehavior
from growth.cloud.kwok.faults import faults_from
from growth.cloud.kwok.machine_record import FAULTS, MACHINE_LABEL, manifest, record_from
from growth.cloud.kwok.node_manifest import node_manifest
from growth.decide.fit.template_node import node_from
from tests.builders import Json
from tests.cloud.kwok_records import BOOT, MADE, a_record
from tests.cloud.kwok_trial import GPU, POOL, SMALL


def stored(body: Json, *, namespace: str = "growth-system", uid: str = "uid-1") -> ConfigMap:
    """As the API server would give it back."""
    metadata = {**body["metadata"], "namespace": namespace, "uid": uid}
    return msgspec.convert({**body, "metadata": metadata}, CONFIG_MAPS.type, strict=False)


def body_of(faults: str = "", pool: NodePool = POOL) -> Json:
    return manifest(request_for("default-1", pool, SMALL), MachineBehavior(BOOT, faults_from(faults)), MADE)


def test_a_machine_is_read_as_it_was_written() -> None:
    body = body_of("slowBoot=10m, powerOff=1h")
    assert record_from(stored(body)) == a_record(faults="slowBoot=10m, powerOff=1h")
    assert body["metadata"]["labels"] == {MACHINE_LABEL: "kwok", POOL_LABEL: "default", OFFERING: "kwok-small-fsn1"}


def test_a_start_up_script_is_named_and_never_written_down() -> None:
    script = UserDataSecret("join", key="script")
    spec = msgspec.structs.replace(
        POOL.spec, machine=msgspec.structs.replace(POOL.spec.machine, user_data_secret=script)
    )
    body = manifest(
        request_for("default-1", msgspec.structs.replace(POOL, spec=spec), SMALL), MachineBehavior(BOOT), MADE
    )
    assert record_from(stored(body)).request.user_data_secret == script


def test_two_machines_of_one_name_are_told_apart() -> None:
    one, two = record_from(stored(body_of())), record_from(stored(body_of(), uid="uid-2"))
    assert one.id != two.id
    assert one.boot_id != two.boot_id
    elsewhere = record_from(stored(body_of(), namespace="other"))
    assert elsewhere.provider_id != one.provider_id


def test_a_boot_differs_from_the_one_before_the_power_cut() -> None:
    assert a_record().boot_id == a_record(faults="neverReady").boot_id
    assert a_record().boot_id != a_record(power_cut_at="2026-03-01T10:00:00.000000Z").boot_id


@pytest.mark.parametrize(
    ("where", "key", "value", "sentence"),
    [
        ("data", "request", None, "data.request is missing"),
        ("data", "request", "{", "data: Input data was truncated"),
        ("data", "createdAt", "yesterday", "data: 'yesterday' is not a timestamp"),
        ("data", "bootDelay", "soon", "data: 'soon' is not a duration"),
        ("annotations", FAULTS, "powerOf", f"annotation {FAULTS}: 'powerOf' is no fault: the closest is powerOff"),
    ],
)
def test_what_cannot_be_read_is_named(where: str, key: str, value: str | None, sentence: str) -> None:
    body = body_of()
    place = body["data"] if where == "data" else body["metadata"]["annotations"]
    if value is None:
        del place[key]
    else:
        place[key] = value
    with pytest.raises(Invalid) as raised:
        record_from(stored(body))
    assert f"ConfigMap growth-system/kwok-machine-default-1 is no machine that can be read: {sentence}" in str(
        raised.value
    )


@pytest.mark.parametrize("offering", [SMALL, GPU], ids=lambda offering: offering.server_type)
def test_its_node_is_the_one_that_was_planned(offering: object) -> None:
    chosen = SMALL if offering is SMALL else GPU
    record = msgspec.structs.replace(a_record(), request=request_for("default-1", POOL, chosen))
    node, planned = node_manifest(record), node_from("default-1", POOL, chosen)
    assert node["metadata"]["labels"] == planned.metadata.labels
    assert node["status"]["allocatable"] == planned.status.allocatable
    assert node["status"]["capacity"] == planned.status.capacity
    starting = [taint for taint in node["spec"]["taints"] if taint["key"] == "growth.dev/starting"]
    assert starting == [{"key": "growth.dev/starting", "value": "default-1", "effect": "NoSchedule"}]
    assert {taint.key for taint in planned.spec.taints} <= {taint["key"] for taint in node["spec"]["taints"]}


def test_a_smaller_node_has_whole_units_of_all_but_cpu() -> None:
    request = request_for("default-1", POOL, GPU)
    node = node_manifest(msgspec.structs.replace(a_record(faults="smaller=30%"), request=request))
    assert node["status"]["capacity"] == {
        "cpu": "6",
        "memory": str(int(64 * 2**30 * 0.3)),
        "ephemeral-storage": "1152G",
        "nvidia.com/gpu": "0",
        "pods": "33",
    }
