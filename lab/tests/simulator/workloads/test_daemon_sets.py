"""DaemonSets: which nodes get a pod, how it is pinned, and when it goes."""

from typing import Any

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import DAEMON_SETS, NODES, PODS
from growth_lab.simulator.workloads import Workloads
from growth_lab.simulator.workloads.daemon_pods import node_of
from growth_lab.simulator.workloads.pod_state import state_of
from lab.tests.simulator.rehearsal import Rehearsal, a_template, a_workload, rehearse

NOT_READY = {"key": "node.kubernetes.io/not-ready", "effect": "NoSchedule"}


def start(scene: Rehearsal, template: Json | None = None, **spec: Any) -> Json:  # noqa: ANN401
    Workloads(scene.clock, scene.store, scene.timings)
    return scene.store.create(DAEMON_SETS, a_workload("agent", template, **spec))


def places(scene: Rehearsal) -> list[str]:
    return sorted(node_of(pod) for pod in scene.pods() if state_of(pod).is_active)


def run_in_place(scene: Rehearsal) -> None:
    for pod in scene.pods():
        if not pod["spec"].get("nodeName"):
            scene.run(pod, node_of(pod))


def test_every_node_gets_one_pinned_by_name() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.add_node("node-1")
        start(scene)
        await scene.wait()
        scene.add_node("node-2")
        await scene.wait()
        assert places(scene) == ["node-1", "node-2"]
        spec = scene.pods()[0]["spec"]
        assert "nodeName" not in spec
        assert spec["affinity"] == {
            "nodeAffinity": {
                "requiredDuringSchedulingIgnoredDuringExecution": {
                    "nodeSelectorTerms": [
                        {"matchFields": [{"key": "metadata.name", "operator": "In", "values": ["node-1"]}]}
                    ]
                }
            }
        }
        assert spec["tolerations"] == [
            {"key": f"node.kubernetes.io/{key}", "operator": "Exists", "effect": effect}
            for key, effect in (
                ("not-ready", "NoExecute"),
                ("unreachable", "NoExecute"),
                ("disk-pressure", "NoSchedule"),
                ("memory-pressure", "NoSchedule"),
                ("pid-pressure", "NoSchedule"),
                ("unschedulable", "NoSchedule"),
            )
        ]

    rehearse(play)


def test_only_nodes_that_match_and_are_tolerated() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.add_node("plain")
        scene.add_node("gpu", metadata={"labels": {"gpu": "yes"}})
        scene.add_node("booting", metadata={"labels": {"gpu": "yes"}}, spec={"taints": [NOT_READY]})
        cordoned = [{"key": "node.kubernetes.io/unschedulable", "effect": "NoSchedule"}]
        scene.add_node("cordoned", metadata={"labels": {"gpu": "yes"}}, spec={"taints": cordoned})
        start(scene, a_template("agent", nodeSelector={"gpu": "yes"}))
        await scene.wait()
        assert places(scene) == ["cordoned", "gpu"]
        scene.store.patch(NODES, "booting", patch={"spec": {"taints": []}})
        await scene.wait()
        assert places(scene) == ["booting", "cordoned", "gpu"]

    rehearse(play)


def test_a_node_that_stops_matching_loses_its_pod_and_one_that_is_only_barred_keeps_it() -> None:
    async def play(scene: Rehearsal) -> None:
        for name in ("moved", "barred", "cleared"):
            scene.add_node(name, metadata={"labels": {"gpu": "yes"}})
        start(scene, a_template("agent", nodeSelector={"gpu": "yes"}))
        await scene.wait()
        run_in_place(scene)
        scene.store.patch(NODES, "moved", patch={"metadata": {"labels": {"gpu": None}}})
        for name, effect in (("barred", "NoSchedule"), ("cleared", "NoExecute")):
            scene.store.patch(NODES, name, patch={"spec": {"taints": [{"key": "mine", "effect": effect}]}})
        await scene.wait()
        assert places(scene) == ["barred"]
        assert scene.status(DAEMON_SETS, "agent")["numberMisscheduled"] == 1

    rehearse(play)


def test_out_of_service_keeps_daemons_away_until_it_is_removed() -> None:
    """facts-failover, "Return": DaemonSet pods came back only when the taint was removed."""

    async def play(scene: Rehearsal) -> None:
        taint = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
        scene.add_node("node-1", spec={"taints": [taint]})
        start(scene)
        await scene.wait(25)
        assert places(scene) == []
        scene.store.patch(NODES, "node-1", patch={"spec": {"taints": []}})
        await scene.wait()
        assert places(scene) == ["node-1"]

    rehearse(play)


def test_a_terminating_pod_holds_the_place_and_a_failed_one_is_removed() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.add_node("node-1")
        start(scene)
        await scene.wait()
        run_in_place(scene)
        old = scene.pods()[0]
        scene.delete(old)
        await scene.wait()
        assert len(scene.pods()) == 1
        scene.delete(old, 0)
        await scene.wait()
        assert places(scene) == ["node-1"]
        for failure_seconds in (0.1, 1.1):
            run_in_place(scene)
            scene.set_phase(scene.pods()[0], "Failed")
            await scene.wait(failure_seconds)
            assert places(scene) == ["node-1"]

    rehearse(play)


def test_the_pending_pod_of_a_node_that_is_gone_goes_too() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.add_node("node-1")
        scene.add_node("node-2")
        start(scene)
        await scene.wait()
        running = next(pod for pod in scene.pods() if node_of(pod) == "node-2")
        scene.run(running, "node-2")
        scene.store.delete(NODES, "node-1")
        scene.store.delete(NODES, "node-2")
        await scene.wait()
        assert scene.names() == [running["metadata"]["name"]]  # the pod collector's business
        assert scene.status(DAEMON_SETS, "agent")["desiredNumberScheduled"] == 0

    rehearse(play)


def test_the_status_counts_nodes() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.add_node("node-1")
        scene.add_node("node-2")
        start(scene)
        await scene.wait()
        scene.run(scene.pods()[0], node_of(scene.pods()[0]))
        await scene.wait()
        assert scene.status(DAEMON_SETS, "agent") == {
            "observedGeneration": 1,
            "desiredNumberScheduled": 2,
            "currentNumberScheduled": 2,
            "numberMisscheduled": 0,
            "numberReady": 1,
            "numberAvailable": 1,
            "numberUnavailable": 1,
            "updatedNumberScheduled": 2,
        }

    rehearse(play)


def test_an_update_replaces_one_after_the_other() -> None:
    async def play(scene: Rehearsal) -> None:
        for number in range(3):
            scene.add_node(f"node-{number}")
        start(scene)
        await scene.wait()
        run_in_place(scene)
        await scene.wait()
        template = {"spec": {"containers": [{"name": "app", "image": "shop/app:2"}]}}
        scene.store.patch(DAEMON_SETS, "agent", "default", {"spec": {"template": template}})
        for updated in (0, 1, 2):
            await scene.wait()
            leaving = [pod for pod in scene.pods() if state_of(pod).is_terminating]
            assert len(leaving) == 1
            new = [pod for pod in scene.pods() if pod["spec"]["containers"][0]["image"] == "shop/app:2"]
            assert len(new) == updated
            scene.delete(leaving[0], 0)
            await scene.wait()
            run_in_place(scene)
        await scene.wait()
        assert scene.status(DAEMON_SETS, "agent")["updatedNumberScheduled"] == 3

    rehearse(play)


def test_heartbeats_of_nodes_cost_nothing() -> None:
    async def play(scene: Rehearsal) -> None:
        scene.add_node("node-1")
        start(scene)
        await scene.wait()
        version = scene.store.version
        scene.store.patch(NODES, "node-1", patch={"status": {"conditions": [{"type": "Ready", "status": "True"}]}})
        await scene.wait()
        assert scene.store.version == version + 1
        assert scene.store.count(PODS) == 1

    rehearse(play)
