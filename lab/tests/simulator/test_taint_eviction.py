"""Who goes when a node gets a NoExecute taint (facts-failover.md, "Who does what")."""

from growth_lab.simulator.pod_conditions import condition_of
from lab.tests.simulator.machinery import Machinery, on_machinery

BROKEN = {"key": "broken", "effect": "NoExecute"}


def test_pods_go_at_once_later_or_never_by_what_they_tolerate() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.kubelets.silence("one")  # so that pods stay to be looked at
        machinery.pod("none", "one")
        machinery.pod("some", "one", tolerations=[{**BROKEN, "operator": "Exists", "tolerationSeconds": 60}])
        machinery.pod("all", "one", tolerations=[{"operator": "Exists"}])
        machinery.taint("one", BROKEN)
        await machinery.pass_by()
        assert [machinery.is_leaving(name) for name in ("none", "some", "all")] == [True, False, False]
        condition = condition_of(machinery.get("none"), "DisruptionTarget")
        assert condition is not None
        assert condition["reason"] == "DeletionByTaintManager"
        assert machinery.get("none")["metadata"]["deletionGracePeriodSeconds"] == 30
        await machinery.pass_by(59)
        assert not machinery.is_leaving("some")
        await machinery.pass_by(2)
        assert [machinery.is_leaving("some"), machinery.is_leaving("all")] == [True, False]

    on_machinery(play)


def test_a_lost_nodes_pods_are_let_go_after_five_minutes() -> None:
    """Fact: pod gets deletionTimestamp 351.4 s after the node died, and stays Terminating."""

    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("there", "one")
        await machinery.pass_by(30)
        machinery.kubelets.silence("one")
        assert 340 <= await machinery.until(lambda: machinery.is_leaving("there")) <= 356
        await machinery.pass_by(1000)
        assert machinery.is_leaving("there")

    on_machinery(play)


def test_a_return_in_time_takes_the_order_back() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("healthy")
        machinery.node("one")
        machinery.pod("there", "one")
        await machinery.pass_by(30)
        machinery.kubelets.silence("one")
        await machinery.pass_by(200)
        machinery.kubelets.revive("one")
        await machinery.pass_by(1000)
        assert not machinery.is_leaving("there")
        assert machinery.phase("there") == "Running"

    on_machinery(play)


def test_a_pod_that_comes_to_a_tainted_node_goes_again() -> None:
    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.taint("one", BROKEN)
        machinery.pod("new", "one")
        await machinery.pass_by()
        assert not machinery.has_pod("new")

    on_machinery(play)


def test_out_of_service_evicts_at_once_even_pods_with_time_for_lost_nodes() -> None:
    """Fact: taint to deletionTimestamp under 0.1 s; effect NoSchedule evicts nobody."""

    async def play(machinery: Machinery) -> None:
        machinery.node("one")
        machinery.kubelets.silence("one")
        machinery.pod("there", "one")
        machinery.taint("one", {"key": "node.kubernetes.io/out-of-service", "effect": "NoSchedule"})
        await machinery.pass_by(60)
        assert not machinery.is_leaving("there")
        machinery.taint("one", {"key": "node.kubernetes.io/out-of-service", "effect": "NoExecute"})
        await machinery.pass_by()
        assert machinery.is_leaving("there")

    on_machinery(play)
