"""Nodes that are played as under kwok: so stories mean the same on a virtual cluster and on ``growth cluster``."""

from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth_lab.simulator.clock import read
from growth_lab.simulator.served_kinds import LEASES, NODES
from lab.tests.simulator.machinery import Machinery, on_machinery


def test_a_node_with_the_label_becomes_ready_whoever_made_it() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.node("other", labels={"a": "b"})
        await machinery.pass_by()
        assert [machinery.ready("one"), machinery.ready("other")] == ["True", ""]
        assert machinery.taints("one") == []
        status = machinery.get_node("one")["status"]
        assert status["phase"] == "Running"
        assert status["nodeInfo"]["bootID"] == machinery.get_node("one")["metadata"]["uid"]
        assert status["capacity"]["cpu"] == "4"

    on_machinery(play)


def test_its_pods_run_at_once_or_after_their_annotation_and_finish_after_theirs() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.pod("quick", "one")
        machinery.pod("slow", "one", annotations={"growth.dev/ready-after": "90s"})
        machinery.pod("job", "one", annotations={"growth.dev/finish-after": "30s"})
        await machinery.pass_by(1)
        assert [machinery.phase(name) for name in ("quick", "slow", "job")] == ["Running", "Pending", "Running"]
        assert machinery.pod_ready("quick") == "True"
        await machinery.pass_by(30)
        assert machinery.phase("job") == "Succeeded"
        state = machinery.get("job")["status"]["containerStatuses"][0]["state"]
        assert state["terminated"]["exitCode"] == 0
        assert machinery.phase("slow") == "Pending"
        await machinery.pass_by(60)
        assert machinery.phase("slow") == "Running"

    on_machinery(play)


def test_a_pod_that_is_deleted_goes_at_once_or_waits_for_its_finalizer() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.pod("plain", "one")
        machinery.pod("held", "one", finalizers=["a.b/c"])
        await machinery.pass_by()
        machinery.delete("plain")
        machinery.delete("held")
        assert machinery.is_leaving("plain")
        await machinery.pass_by()
        assert not machinery.has_pod("plain")
        assert machinery.get("held")["metadata"]["deletionGracePeriodSeconds"] == 0

    on_machinery(play)


def test_without_its_label_a_node_is_silent_and_its_pods_freeze() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.pod("there", "one")
        machinery.pod("job", "one", annotations={"growth.dev/finish-after": "30s"})
        await machinery.pass_by(3)
        machinery.label("one", KWOK_LABEL, None)
        machinery.pod("new", "one")
        machinery.delete("there")
        await machinery.pass_by(40)
        assert machinery.is_leaving("there")
        assert [machinery.phase("new"), machinery.phase("job")] == ["Pending", "Running"]
        assert not machinery.kubelets.is_alive("one")
        machinery.label("one", KWOK_LABEL, KWOK_VALUE)
        await machinery.pass_by()
        assert not machinery.has_pod("there")
        assert machinery.phase("new") == "Running"
        await machinery.pass_by(30)
        assert machinery.phase("job") == "Succeeded"

    on_machinery(play)


def test_a_lease_shows_renewals_that_nobody_wrote() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        await machinery.pass_by(95)
        stored = machinery.store.get(LEASES, "one", "kube-node-lease")
        assert stored is not None
        begin = read(stored["spec"]["renewTime"])
        shown = machinery.heartbeats.as_of_now(stored)
        assert (read(shown["spec"]["renewTime"]) - begin).total_seconds() == 90
        assert shown["spec"]["leaseDurationSeconds"] == 40
        assert shown["metadata"]["ownerReferences"][0]["uid"] == machinery.get_node("one")["metadata"]["uid"]

    on_machinery(play)


def test_renewals_are_written_only_while_somebody_watches() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        await machinery.pass_by(1)
        before = machinery.store.version
        await machinery.pass_by(100)
        assert machinery.store.version == before
        machinery.heartbeats.be_watched(is_watched=True)
        await machinery.pass_by(100)
        assert machinery.store.version == before + 11
        machinery.heartbeats.be_watched(is_watched=False)
        await machinery.pass_by(100)
        assert machinery.store.version == before + 11

    on_machinery(play)


def test_a_silent_nodes_lease_shows_its_last_renewal() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        await machinery.pass_by(25)
        machinery.kubelets.silence("one")
        await machinery.pass_by(100)
        lease = machinery.store.get(LEASES, "one", "kube-node-lease")
        assert lease is not None
        assert lease["spec"]["renewTime"] == "2026-03-02T09:00:20.000000Z"
        assert machinery.heartbeats.as_of_now(lease) == lease

    on_machinery(play)


def test_a_deleted_node_is_not_registered_again_and_a_new_one_of_its_name_lives() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        await machinery.pass_by(1)
        machinery.kubelets.silence("one")
        machinery.store.delete(NODES, "one")
        await machinery.pass_by(100)
        assert machinery.store.get(NODES, "one") is None
        machinery.node("one")
        await machinery.pass_by(1)
        assert machinery.ready("one") == "True"

    on_machinery(play)
