"""Pods that nobody else ends (facts-failover.md: PodGC)."""

from growth_lab.simulator.pod_conditions import condition_of
from growth_lab.simulator.served_kinds import NODES, PODS
from lab.tests.simulator.machinery import Machinery, on_machinery

OUT = {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"}


def test_a_pod_on_a_node_out_of_service_goes_when_the_node_is_unready() -> None:
    """Fact: OOS set at NotReady: pod gone 2.6 to 19.6 s after the taint, at a tick of 20 s."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("there", "one")
        machinery.pod("held", "one", finalizers=["a.b/c"])
        await machinery.pass_by(33)
        machinery.kubelets.silence("one")
        await machinery.until(lambda: machinery.ready("one") == "Unknown")
        machinery.taint("one", OUT)
        assert 0.1 < await machinery.until(lambda: not machinery.has_pod("there")) <= 20.1
        assert machinery.phase("held") == "Failed"
        assert machinery.is_leaving("held")

    on_machinery(play)


def test_it_waits_for_the_node_to_be_unready_and_for_the_pod_to_be_leaving() -> None:
    """Fact: tainted 5 s after death, still Ready: terminating at once, PodGC waits for NotReady."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("there", "one")
        machinery.pod("tough", "one", tolerations=[{"operator": "Exists"}])
        await machinery.pass_by(31)
        machinery.kubelets.silence("one")
        await machinery.pass_by(5)
        machinery.taint("one", OUT)
        await machinery.pass_by(30)
        assert machinery.is_leaving("there")
        assert 10 <= await machinery.until(lambda: not machinery.has_pod("there")) <= 40
        await machinery.pass_by(60)
        assert machinery.phase("tough") == "Running"
        machinery.delete("tough")
        assert await machinery.until(lambda: not machinery.has_pod("tough")) <= 20.1

    on_machinery(play)


def test_the_key_alone_counts_and_tolerations_do_not() -> None:
    """Facts: effect NoSchedule evicts nobody, but after a plain delete PodGC acts as with NoExecute; it checks no
    tolerations, unlike the text of the proposal; a taint that comes late finds the pod terminating already."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("plain", "one")
        machinery.pod("tough", "one", tolerations=[{"operator": "Exists"}])
        await machinery.pass_by(31)
        machinery.kubelets.silence("one")
        await machinery.until(lambda: machinery.ready("one") == "Unknown")
        for name in ("plain", "tough"):
            machinery.delete(name)
        await machinery.pass_by(60)
        assert machinery.is_leaving("plain")
        assert machinery.is_leaving("tough")
        machinery.taint("one", {"key": OUT["key"], "value": "whatever", "effect": "NoSchedule"})
        assert await machinery.until(lambda: not machinery.has_pod("plain")) <= 20.1
        assert not machinery.has_pod("tough")

    on_machinery(play)


def test_a_node_that_is_ready_again_is_left_to_its_kubelet() -> None:
    """Fact: PodGC asks whether the node is Ready, whatever its taints are."""

    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.pod("held", "one", finalizers=["a.b/c"])
        await machinery.pass_by(31)
        machinery.taint("one", OUT)
        await machinery.pass_by(60)
        assert machinery.ready("one") == "True"
        assert machinery.is_leaving("held")
        assert machinery.phase("held") == "Running"

    on_machinery(play)


def test_whoever_has_failed_already_stays_as_it_is() -> None:
    """A pod that Growth said has failed is not written to again; it is only deleted."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("there", "one", finalizers=["a.b/c"])
        await machinery.pass_by(31)
        machinery.kubelets.silence("one")
        await machinery.until(lambda: machinery.ready("one") == "Unknown")
        machinery.taint("one", OUT)
        machinery.store.patch(PODS, "there", "default", {"status": {"phase": "Failed", "reason": "NodeOutOfService"}})
        await machinery.pass_by(41)
        assert machinery.get("there")["status"]["reason"] == "NodeOutOfService"
        machinery.store.patch(PODS, "there", "default", {"metadata": {"finalizers": None}})
        assert not machinery.has_pod("there")

    on_machinery(play)


def test_a_taint_that_was_taken_back_leaves_the_pod_terminating() -> None:
    """Fact: taint removed after 0.3 s: pod stuck Terminating; new taint, gone at a tick."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("there", "one")
        await machinery.pass_by(31)
        machinery.kubelets.silence("one")
        await machinery.until(lambda: machinery.ready("one") == "Unknown")
        machinery.taint("one", OUT)
        await machinery.pass_by(0.3)
        taints = [taint for taint in machinery.get_node("one")["spec"]["taints"] if taint["key"] != OUT["key"]]
        machinery.store.patch(NODES, "one", patch={"spec": {"taints": taints}})
        await machinery.pass_by(60)
        assert machinery.is_leaving("there")
        machinery.taint("one", OUT)
        assert await machinery.until(lambda: not machinery.has_pod("there")) <= 20.1

    on_machinery(play)


def test_pods_of_a_deleted_node_go_after_quarantine() -> None:
    """Fact: node deleted: pod gone after 45 to 55 s (40 s quarantine + tick)."""

    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.pod("there", "one")
        machinery.pod("held", "one", finalizers=["a.b/c"])
        await machinery.pass_by(28)
        machinery.store.delete(NODES, "one")
        assert 40 <= await machinery.until(lambda: not machinery.has_pod("there")) <= 60
        condition = condition_of(machinery.get("held"), "DisruptionTarget")
        assert condition is not None
        assert condition["reason"] == "DeletionByPodGC"
        assert machinery.phase("held") == "Failed"

    on_machinery(play)


def test_a_node_that_comes_back_in_time_keeps_its_pods() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.pod("there", "one")
        await machinery.pass_by(28)
        machinery.store.delete(NODES, "one")
        await machinery.pass_by(35)
        machinery.node("one")
        await machinery.pass_by(300)
        assert machinery.phase("there") == "Running"

    on_machinery(play)


def test_a_pod_that_names_a_node_that_never_was_goes_as_well() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.pod("lost", "nowhere")
        assert 40 <= await machinery.until(lambda: not machinery.has_pod("lost")) <= 61

    on_machinery(play)


def test_a_terminating_pod_without_a_node_is_called_failed() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.pod("waiting", "", finalizers=["a.b/c"])
        machinery.delete("waiting")
        assert machinery.is_leaving("waiting")
        assert await machinery.until(lambda: machinery.phase("waiting") == "Failed") <= 20.1
        machinery.store.patch(PODS, "waiting", "default", {"metadata": {"finalizers": None}})
        assert not machinery.has_pod("waiting")

    on_machinery(play)


def test_of_ended_pods_only_so_many_are_kept() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        for number in range(5):
            machinery.pod(f"job-{number}", "one", annotations={"growth.dev/finish-after": "1s"})
            await machinery.pass_by(2)
        await machinery.pass_by(30)
        assert [number for number in range(5) if machinery.has_pod(f"job-{number}")] == [2, 3, 4]

    on_machinery(play, ended_pods_kept=3)
