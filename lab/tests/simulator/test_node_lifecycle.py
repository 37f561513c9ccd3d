"""When nodes are called unknown, which taints they get, and how zones brake (facts-failover.md, facts-scheduler.md)."""

import pytest

from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.served_kinds import LEASES, NODES
from growth_lab.simulator.timings import Timings
from lab.tests.simulator.machinery import Machinery, on_machinery

LOST = ["unreachable:NoSchedule", "unreachable:NoExecute"]


@pytest.mark.parametrize("seconds", [20.0, 23.0, 26.9, 29.9])
def test_a_silent_node_is_unknown_within_the_time_that_was_measured(seconds: float) -> None:
    """Fact: NotReady after 43.7 to 51.2 s: 50 s after the last lease renewal plus a 5 s poll."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        await machinery.pass_by(1.3)
        machinery.node("one")
        machinery.pod("there", "one")
        await machinery.pass_by(seconds)
        machinery.kubelets.silence("one")
        took = await machinery.until(lambda: machinery.ready("one") == "Unknown")
        assert 40 <= took <= 55
        assert (machinery.clock.seconds() + 0.01) % 5 < 0.15  # at one of its looks
        assert machinery.pod_ready("there") == "False"
        assert machinery.taints("one") == LOST[:1]
        condition = condition_of(machinery.get_node("one"), "Ready")
        assert condition is not None
        assert condition["reason"] == "NodeStatusUnknown"
        assert await machinery.until(lambda: machinery.taints("one") == LOST) <= 0.3

    on_machinery(play)


def test_a_node_that_returns_loses_its_taints() -> None:
    """Fact: unreachable NoSchedule goes at once, NoExecute within 5 s, out-of-service stays."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        await machinery.pass_by(22)
        machinery.kubelets.silence("one")
        await machinery.pass_by(60)
        machinery.taint("one", {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"})
        machinery.kubelets.revive("one")
        await machinery.pass_by()
        assert machinery.ready("one") == "True"
        assert machinery.taints("one") == ["unreachable:NoExecute", "out-of-service:NoExecute"]
        await machinery.pass_by(5)
        assert machinery.taints("one") == ["out-of-service:NoExecute"]

    on_machinery(play)


def test_a_node_back_within_twenty_seconds_was_never_missed() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        await machinery.pass_by(30)
        before = machinery.get_node("one")
        machinery.kubelets.silence("one")
        await machinery.pass_by(20)
        machinery.kubelets.revive("one")
        await machinery.pass_by(100)
        assert machinery.get_node("one") == before

    on_machinery(play)


def test_a_node_without_ready_condition_loses_not_ready_and_is_unknown_after_its_start_up_time() -> None:
    """Fact: a Node with no Ready condition loses not-ready:NoSchedule and is schedulable."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("mute", labels={})
        await machinery.pass_by(0)
        assert machinery.taints("mute") == []
        assert 60 <= await machinery.until(lambda: machinery.ready("mute") == "Unknown") <= 65
        condition = condition_of(machinery.get_node("mute"), "Ready")
        assert condition is not None
        assert condition["reason"] == "NodeStatusNeverUpdated"

    on_machinery(play)


def test_leases_that_somebody_else_renews_keep_a_node_alive() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("foreign", labels={}, status={"conditions": [{"type": "Ready", "status": "True"}]})
        meta = {"name": "foreign", "namespace": "kube-node-lease"}
        machinery.store.create(LEASES, {"metadata": meta, "spec": {"renewTime": "2026-03-02T09:00:00.000000Z"}})
        for minute in range(1, 10):
            await machinery.pass_by(40)
            renewal = {"spec": {"renewTime": f"2026-03-02T09:0{minute}:00.000000Z"}}
            machinery.store.patch(LEASES, "foreign", "kube-node-lease", renewal)
        assert machinery.ready("foreign") == "True"
        assert 50 <= await machinery.until(lambda: machinery.ready("foreign") == "Unknown") <= 55

    on_machinery(play)


def test_taints_follow_pressures_and_cordons() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one", labels={}, taints=[{"key": "mine", "value": "x", "effect": "NoSchedule"}])
        pressed = {"conditions": [{"type": "DiskPressure", "status": "True"}]}
        machinery.store.patch(NODES, "one", patch={"spec": {"unschedulable": True}, "status": pressed})
        assert machinery.taints("one") == [
            "mine:NoSchedule",
            "disk-pressure:NoSchedule",
            "unschedulable:NoSchedule",
        ]
        machinery.store.patch(NODES, "one", patch={"spec": {"unschedulable": None}, "status": {"conditions": []}})
        assert machinery.taints("one") == ["mine:NoSchedule"]

    on_machinery(play)


def test_an_erased_no_execute_taint_comes_back() -> None:
    """Fact: writing taints from a stale read erased a fresh one; it came back 10 s later."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        await machinery.pass_by(1)
        machinery.kubelets.silence("one")
        await machinery.until(lambda: machinery.taints("one") == LOST)
        machinery.store.patch(NODES, "one", patch={"spec": {"taints": []}})
        assert machinery.taints("one") == LOST[:1]
        assert 5 <= await machinery.until(lambda: machinery.taints("one") == LOST) <= 15

    on_machinery(play)


async def lose(machinery: Machinery, lost: int, healthy: int, zone: str = "a") -> list[str]:
    """A zone of which so many nodes fall silent at once."""
    names = [f"{zone}-lost-{number}" for number in range(lost)]
    for name in (*names, *(f"{zone}-healthy-{number}" for number in range(healthy))):
        machinery.node(name, zone=zone)
    await machinery.pass_by(1)
    for name in names:
        machinery.kubelets.silence(name)
    await machinery.until(lambda: all(machinery.ready(name) == "Unknown" for name in names))
    return names


def emptied(machinery: Machinery, names: list[str]) -> int:
    return sum(LOST[1] in machinery.taints(name) for name in names)


def test_a_zone_that_is_down_is_emptied_one_node_every_ten_seconds() -> None:
    """Fact: one zone fully down: NoExecute at the normal 0.1/s (second node 10.1 s after the first)."""

    async def play(machinery: Machinery) -> None:
        machinery.node("elsewhere", zone="b")
        names = await lose(machinery, 3, 0)
        await machinery.pass_by(1)
        assert emptied(machinery, names) == 1
        assert 9 <= await machinery.until(lambda: emptied(machinery, names) == 2) <= 11
        assert 9 <= await machinery.until(lambda: emptied(machinery, names) == 3) <= 11

    on_machinery(play)


def test_a_small_zone_that_is_mostly_down_is_not_emptied() -> None:
    """Fact: partial disruption, small zone (4 of 5 down): no NoExecute in the 756 s it lasted."""

    async def play(machinery: Machinery) -> None:
        names = await lose(machinery, 4, 1)
        await machinery.pass_by(756)
        assert emptied(machinery, names) == 0
        for name in names[:2]:
            machinery.kubelets.revive(name)
        assert await machinery.until(lambda: emptied(machinery, names) == 1) <= 16

    on_machinery(play)


def test_a_large_zone_that_is_mostly_down_is_emptied_slowly() -> None:
    async def play(machinery: Machinery) -> None:
        names = await lose(machinery, 40, 20)
        await machinery.pass_by(99)
        assert emptied(machinery, names) <= 1
        await machinery.pass_by(202)
        assert 2 <= emptied(machinery, names) <= 4

    on_machinery(play)


def test_if_everything_is_down_nobody_is_emptied() -> None:
    """Fact: everything down: unreachable NoExecute taken off all nodes that had it."""

    async def play(machinery: Machinery) -> None:
        names = await lose(machinery, 1, 2)
        await machinery.pass_by(1)
        assert emptied(machinery, names) == 1
        for number in range(2):
            machinery.kubelets.silence(f"a-healthy-{number}")
        await machinery.pass_by(300)
        every = [*names, "a-healthy-0", "a-healthy-1"]
        assert emptied(machinery, every) == 0
        assert all("unreachable:NoSchedule" in machinery.taints(name) for name in every)
        machinery.kubelets.revive("a-healthy-0")
        assert await machinery.until(lambda: emptied(machinery, every) == 2) <= 30

    on_machinery(play)


def test_shorter_times_keep_the_order() -> None:
    fast = Timings(node_monitor_period=0.5, node_monitor_grace=4.0, node_lease=3.0, node_evictions_per_second=10.0)

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        await machinery.pass_by(3)
        machinery.kubelets.silence("one")
        assert 3 <= await machinery.until(lambda: machinery.taints("one") == LOST) <= 5

    on_machinery(play, timings=fast)


def test_nothing_happens_while_nothing_happens() -> None:
    """A thousand healthy nodes cost nothing: no timer, no write."""

    async def play(machinery: Machinery) -> None:
        for number in range(1000):
            machinery.node(f"node-{number}")
        await machinery.pass_by(10)
        before = machinery.store.version
        await machinery.pass_by(86_400)
        assert machinery.store.version == before

    on_machinery(play)
