"""Machines that are booted: registration, late devices, silence, reboot, loss of power, volumes in use."""

import pytest

from growth_lab.simulator.nodes import Machine
from growth_lab.simulator.nodes.kubelets import UnknownMachine
from growth_lab.simulator.served_kinds import CLAIMS, NODES, VOLUMES
from lab.tests.simulator.machinery import Machinery, on_machinery

ROOM = {"cpu": "8", "memory": "32Gi", "pods": "110"}
BODY = {
    "metadata": {"name": "big", "labels": {"kubernetes.io/hostname": "big", "kubernetes.io/os": "linux"}},
    "spec": {"providerID": "test://1", "taints": [{"key": "growth.dev/starting", "effect": "NoSchedule"}]},
    "status": {"capacity": ROOM, "allocatable": ROOM},
}


def test_a_machine_registers_unready_and_becomes_ready() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.kubelets.boot(Machine(node=BODY, register_after=30, ready_after=10))
        await machinery.pass_by(29)
        assert machinery.store.get(NODES, "big") is None
        await machinery.pass_by(2)
        assert machinery.ready("big") == "False"
        assert machinery.taints("big") == ["growth.dev/starting:NoSchedule", "not-ready:NoSchedule"]
        assert machinery.heartbeats.is_beating("big")
        await machinery.pass_by(10)
        assert machinery.ready("big") == "True"
        assert machinery.taints("big") == ["growth.dev/starting:NoSchedule"]
        assert machinery.get_node("big")["metadata"]["labels"]["beta.kubernetes.io/os"] == "linux"

    on_machinery(play)


def test_a_machine_may_never_become_ready() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.kubelets.boot(Machine(node=BODY, ready_after=None))
        await machinery.pass_by(3600)
        assert machinery.ready("big") == "False"
        assert machinery.taints("big")[1:] == ["not-ready:NoSchedule", "not-ready:NoExecute"]

    on_machinery(play)


def test_devices_come_late() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.kubelets.boot(Machine(node=BODY, late_resources={"nvidia.com/gpu": "1"}, late_after=20))
        await machinery.pass_by(19)
        assert "nvidia.com/gpu" not in machinery.get_node("big")["status"]["allocatable"]
        await machinery.pass_by(2)
        assert machinery.get_node("big")["status"]["allocatable"]["nvidia.com/gpu"] == "1"
        assert machinery.ready("big") == "True"

    on_machinery(play)


def test_pods_take_their_time_but_no_more_than_their_grace() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.kubelets.boot(Machine(node=BODY, pods_start_in=5, pods_end_in=20))
        await machinery.pass_by()
        machinery.pod("slow", "big", terminationGracePeriodSeconds=60)
        machinery.pod("hurried", "big", terminationGracePeriodSeconds=3)
        assert 5 <= await machinery.until(lambda: machinery.phase("slow") == "Running") <= 5.2
        machinery.delete("slow")
        machinery.delete("hurried")
        assert 3 <= await machinery.until(lambda: not machinery.has_pod("hurried")) <= 3.2
        assert 16 <= await machinery.until(lambda: not machinery.has_pod("slow")) <= 18

    on_machinery(play)


def test_a_short_reboot_is_told_by_the_boot_id_alone() -> None:
    """Fact: back within 20 s: no NotReady, no taint, no event. Only bootID tells."""

    async def play(machinery: Machinery) -> None:
        machinery.kubelets.boot(Machine(node=BODY))
        machinery.pod("there", "big")
        await machinery.pass_by(60)
        before = machinery.get_node("big")
        machinery.kubelets.reboot("big", down_seconds=15)
        await machinery.pass_by(60)
        after = machinery.get_node("big")
        assert before["status"]["nodeInfo"]["bootID"] != after["status"]["nodeInfo"]["bootID"]
        assert before["status"]["conditions"] == after["status"]["conditions"]
        assert before["spec"] == after["spec"]
        assert machinery.phase("there") == "Running"

    on_machinery(play)


def test_after_a_long_silence_a_kubelet_calls_its_pods_ready_again() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.kubelets.boot(Machine(node=BODY))
        machinery.pod("there", "big")
        await machinery.pass_by(60)
        machinery.kubelets.silence("big")
        await machinery.pass_by(60)
        assert [machinery.ready("big"), machinery.pod_ready("there")] == ["Unknown", "False"]
        machinery.kubelets.revive("big")
        await machinery.pass_by(6)
        assert [machinery.ready("big"), machinery.pod_ready("there")] == ["True", "True"]
        assert machinery.taints("big") == ["growth.dev/starting:NoSchedule"]

    on_machinery(play)


def test_a_machine_without_power_registers_again_when_it_is_switched_on() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.kubelets.boot(Machine(node=BODY))
        await machinery.pass_by(1)
        old = machinery.get_node("big")["status"]["nodeInfo"]["bootID"]
        machinery.kubelets.power_off("big")
        machinery.store.delete(NODES, "big")
        await machinery.pass_by(100)
        assert machinery.store.get(NODES, "big") is None
        machinery.kubelets.power_on("big")
        await machinery.pass_by(1)
        assert machinery.ready("big") == "True"
        assert machinery.get_node("big")["status"]["nodeInfo"]["bootID"] != old

    on_machinery(play)


def test_a_destroyed_machine_leaves_its_node_behind() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.kubelets.boot(Machine(node=BODY))
        await machinery.pass_by(1)
        machinery.kubelets.destroy("big")
        await machinery.pass_by(100)
        assert machinery.ready("big") == "Unknown"

    on_machinery(play)


def test_what_was_never_booted_cannot_be_silenced() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.kubelets.boot(Machine(node=BODY))
        with pytest.raises(UnknownMachine, match="no machine or node is named 'bog'; booted machines are: big"):
            machinery.kubelets.silence("bog")

    on_machinery(play)


def test_a_pod_waits_for_its_volume_and_holds_it_until_it_is_gone() -> None:
    """Fact: a volume is not detached while volumesInUse lists it."""

    async def play(machinery: Machinery) -> None:
        store, name = machinery.store, "kubernetes.io/csi/csi.test^vol-1"
        store.create(
            VOLUMES, {"metadata": {"name": "data"}, "spec": {"csi": {"driver": "csi.test", "volumeHandle": "vol-1"}}}
        )
        store.create(CLAIMS, {"metadata": {"name": "data", "namespace": "default"}, "spec": {"volumeName": "data"}})
        machinery.kubelets.boot(Machine(node=BODY, mounts_volumes=True, pods_end_in=10))
        await machinery.pass_by(1)
        machinery.pod("there", "big", volumes=[{"name": "data", "persistentVolumeClaim": {"claimName": "data"}}])
        await machinery.pass_by(1)
        assert machinery.phase("there") == "Pending"
        assert machinery.get_node("big")["status"]["volumesInUse"] == [name]
        store.patch(NODES, "big", patch={"status": {"volumesAttached": [{"name": name, "devicePath": ""}]}})
        await machinery.pass_by(1)
        assert machinery.phase("there") == "Running"
        machinery.delete("there")
        await machinery.pass_by(9)
        assert machinery.get_node("big")["status"]["volumesInUse"] == [name]
        await machinery.pass_by(2)
        assert "volumesInUse" not in machinery.get_node("big")["status"]

    on_machinery(play)
