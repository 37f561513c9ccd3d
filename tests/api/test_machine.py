"""What is asked for, so that the node which was planned comes out of it."""

from datetime import UTC, datetime

import msgspec

from growth.api.machine import Machine, Power, PowerReading, request_for
from growth.api.meta import ObjectMeta
from growth.api.node_pool import MachineTemplate as MachineSettings
from growth.api.node_pool import NodePool, NodePoolSpec, Reserved, UserDataSecret
from growth.api.offering import Offering
from growth.api.taints import closed
from growth.api.tolerations import NO_SCHEDULE, Taint
from growth.decide.fit.template_node import node_from

OFFERING = Offering(
    id="shop-small-here",
    provider="shop",
    server_type="small",
    location="here",
    price_per_hour=0.01,
    resources={"cpu": "2", "memory": "4Gi", "example.org/gpu": "1"},
    reserved={"cpu": "100m", "memory": "256Mi"},
    labels={"disk": "fast"},
)
GPU, AGENT = Taint("gpu", "", NO_SCHEDULE), Taint("agent", "", NO_SCHEDULE)
POOL = NodePool(
    ObjectMeta(name="web"),
    NodePoolSpec(
        labels={"team": "shop"},
        taints=(GPU,),
        startup_taints=(AGENT,),
        machine=MachineSettings(image="debian-13", network="inner", reserved=Reserved(memory="512Mi")),
    ),
)


def test_a_request_makes_the_node_that_was_planned() -> None:
    request, planned = request_for("web-1", POOL, OFFERING), node_from("web-1", POOL, OFFERING)
    assert request.node_labels == planned.metadata.labels
    assert request.allocatable == planned.status.allocatable


def test_a_request_says_all_that_the_pool_says_about_machines() -> None:
    machine = MachineSettings(
        image="debian-13",
        network="inner",
        ssh_keys=("me", "4711"),
        firewalls=("wall",),
        spread=True,
        public_ipv4=False,
        public_ipv6=False,
        user_data_secret=UserDataSecret("join"),
    )
    pool = NodePool(ObjectMeta(name="web"), NodePoolSpec(machine=machine))
    request = request_for("web-1", pool, OFFERING)
    for field in msgspec.structs.fields(machine):
        if field.name != "reserved":
            assert getattr(request, field.name) == getattr(machine, field.name), field.name


def test_addresses_are_spelled_as_people_spell_them() -> None:
    machine = msgspec.json.decode('{"publicIPv4": false, "sshKeys": ["me"]}', type=MachineSettings)
    assert (machine.public_ipv4, machine.public_ipv6, machine.ssh_keys) == (False, True, ("me",))


def test_what_the_pool_says_about_reserved_resources_wins_over_the_offering() -> None:
    request = request_for("web-1", POOL, OFFERING)
    assert request.reserved == {"cpu": "100m", "memory": "512Mi"}
    assert request.allocatable == {"cpu": "1900m", "memory": "3758096384", "example.org/gpu": "1"}


def test_a_node_registers_with_all_its_taints_and_closed() -> None:
    assert request_for("web-1", POOL, OFFERING).node_taints == (GPU, AGENT, closed("web-1"))


def test_the_list_is_evidence_about_power() -> None:
    now = datetime(2026, 3, 1, tzinfo=UTC)
    machine = Machine("7", "shop://7", "web-1", OFFERING.id, "web", now, Power.OFF, now, is_changing=True)
    assert machine.reading == PowerReading("7", Power.OFF, now, is_changing=True)
