"""The life of a cluster without any autoscaler: what both worlds must do alike before anything is built on them."""

from growth.api.kinds import (
    CSI_DRIVERS,
    DAEMON_SETS,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
)
from growth.api.out_of_service import SHUTDOWN
from growth_lab.scenarios.context import ZONE, Json, Play
from growth_lab.scenarios.scenario import Stories
from growth_lab.scenarios.workloads import DEPLOYMENTS, STATEFUL_SETS

STORIES = Stories("cluster life")


@STORIES.story(is_first=True, any_node=True)
async def pods_are_scheduled_spread_and_refused(play: Play) -> None:
    """Three pods that must be spread over zones get one each; who asks for more than any node has is refused."""
    for zone in ("zone-a", "zone-b", "zone-c"):
        await play.node(f"node-{zone}", zone=zone)
    await play.ready("node-zone-a", "node-zone-b", "node-zone-c")
    spread = {"maxSkew": 1, "topologyKey": ZONE, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _app("web")}
    for number in range(3):
        await play.pod(f"web-{number}", labels={"app": "web"}, topologySpreadConstraints=[spread])
    await play.pod("giant", cpu="100")
    await play.until(lambda: len(play.running("web")) == 3, "three pods run")
    await play.until(lambda: any(one.what == "refused" for one in play.trace.seen), "the giant is refused")
    assert len({play.node_of(pod) for pod in play.running("web")}) == 3


@STORIES.story(is_first=True)
async def a_node_boots_goes_silent_and_returns(play: Play) -> None:
    """Its pods are let go after their patience, and the returning kubelet ends them."""
    await play.node("steady")
    await play.node("fickle")
    await play.ready("steady", "fickle")
    await play.pod("app", nodeName=play.full("fickle"))
    await play.until(play.pod_is("app"), "the pod runs")
    await play.silence("fickle")
    await play.until(lambda: _seen(play, "Pod app leaving"), "the pod is let go")
    await play.wake("fickle")
    await play.until(lambda: _seen(play, "Pod app gone"), "the pod is gone")
    await play.until(lambda: not play.trace.nodes["fickle"].spec.taints, "the node is free of taints")


@STORIES.story(is_first=True)
async def a_node_is_drained_as_its_budget_allows(play: Play) -> None:
    """Cordoned, its pods evicted one after the other; the budget says no while one is missing."""
    await play.node("old")
    await play.ready("old")
    await play.create(DEPLOYMENTS, _workload(play, "web", replicas=3))
    await play.create(
        POD_DISRUPTION_BUDGETS,
        {"metadata": {"name": "web"}, "spec": {"maxUnavailable": 1, "selector": _app("web")}},
    )
    await play.until(lambda: len(play.running("web")) == 3, "three pods run")
    play.always(lambda: len(play.running("web")) >= 2, "that two pods of web run")
    await play.change(NODES, play.full("old"), {"spec": {"unschedulable": True}})
    await play.node("new")
    await play.ready("new")
    for pod in play.running("web"):
        await play.until_allowed(pod.metadata.name)
    await play.until(lambda: _all_on(play, "web", "new", 3), "all pods are on the new node")


@STORIES.story(is_first=True)
async def a_dead_node_out_of_service_gives_up_its_volume(play: Play) -> None:
    """A StatefulSet's pod and its volume move once the taint says that the machine is really off."""
    await storage(play)
    play.always(lambda: len(play.trace.objects[VOLUME_ATTACHMENTS]) <= 1, "that the volume is attached to one node")
    managed = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
    await play.node("dies", annotations=managed)
    await play.ready("dies")
    await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "data-db-0"}, "spec": claim(play)})
    await play.until(lambda: _seen(play, "has a volume"), "the claim has its volume")
    await play.create(STATEFUL_SETS, _workload(play, "db", replicas=1, volume="data"))
    await play.until(lambda: _seen(play, "attached"), "the volume is attached")
    in_use = [f"kubernetes.io/csi/{driver(play)}^handle-0"]
    await play.change(NODES, play.full("dies"), {"status": {"volumesInUse": in_use}}, subresource="status")
    await play.node("heir", annotations=managed)
    await play.ready("heir")
    await play.silence("dies")
    await play.until(lambda: _seen(play, "Node dies unknown"), "the node is NotReady")
    await play.change_taints("dies", lambda taints: [*taints, SHUTDOWN])
    await play.until(play.pod_is("db-0", node="heir"), "the pod runs on the other node")
    await play.until(lambda: sum(one.what == "attached" for one in play.trace.seen) == 2, "so does its volume")


@STORIES.story(is_first=True)
async def a_job_finishes(play: Play) -> None:
    """Four pods, two at a time, each of which is done after a second."""
    await play.node("worker")
    await play.ready("worker")
    template = {
        "metadata": {"labels": {"app": "sum"}, "annotations": {"growth.dev/finish-after": "1s"}},
        "spec": play.pod_spec(restartPolicy="Never"),
    }
    spec = {"completions": 4, "parallelism": 2, "template": template}
    await play.create(JOBS, {"metadata": {"name": "sum"}, "spec": spec})
    await play.until(lambda: _seen(play, "Job sum Complete"), "the job is complete")


@STORIES.story(is_first=True)
async def a_daemon_comes_with_a_new_node(play: Play) -> None:
    """One pod on each node, also on those that come later, and none on a node whose taint it does not bear."""
    await play.node("first")
    await play.ready("first")
    await play.create(DAEMON_SETS, _workload(play, "agent"))
    await play.until(lambda: len(play.running("agent")) == 1, "the agent runs")
    await play.node("tainted", taints=("dedicated=gpu:NoSchedule",))
    await play.node("second")
    await play.until(lambda: len(play.running("agent")) == 2, "it runs on the new node, too")
    is_open = "Node tainted untainted node.kubernetes.io/not-ready:NoSchedule"
    await play.until(lambda: _seen(play, is_open), "the other one is ready, too")
    assert {play.node_of(pod) for pod in play.running("agent")} == {"first", "second"}


@STORIES.story()
async def a_daemon_goes_with_its_node(play: Play) -> None:
    """Nobody is there to end the pod of a node that was deleted; the pod collector does, after its quarantine."""
    await play.node("stays")
    await play.node("goes")
    await play.ready("stays", "goes")
    await play.create(DAEMON_SETS, _workload(play, "agent"))
    await play.until(lambda: len(play.running("agent")) == 2, "two agents run")
    await play.delete(NODES, play.full("goes"))
    await play.until(lambda: len(play.trace.pods) == 1, "its pod is gone with the node")


def _app(name: str) -> Json:
    return {"matchLabels": {"app": name}}


def _seen(play: Play, words: str) -> bool:
    return any(words in f"{one.subject} {one.what}" for one in play.trace.seen)


def _all_on(play: Play, app: str, node: str, count: int) -> bool:
    pods = [pod for pod in play.trace.pods.values() if pod.metadata.labels.get("app") == app]
    return len(pods) == count and all(play.node_of(pod) == node and pod.status.phase == "Running" for pod in pods)


def _workload(play: Play, app: str, *, replicas: int | None = None, volume: str = "") -> Json:
    mounted = {"volumeMounts": [{"name": volume, "mountPath": "/data"}]} if volume else {}
    pod = play.pod_spec()
    container = {**pod["containers"][0], **mounted}
    spec = {
        "selector": _app(app),
        "template": {"metadata": {"labels": {"app": app}}, "spec": {**pod, "containers": [container]}},
        **({"replicas": replicas} if replicas is not None else {}),
    }
    if volume:
        spec |= {"serviceName": app, "volumeClaimTemplates": [{"metadata": {"name": volume}, "spec": claim(play)}]}
    return {"metadata": {"name": app}, "spec": spec}


def claim(play: Play) -> Json:
    return {
        "accessModes": ["ReadWriteOnce"],
        "storageClassName": play.full("disk"),
        "resources": {"requests": {"storage": "1Gi"}},
    }


def driver(play: Play) -> str:
    return f"{play.namespace}.growth.dev"


async def storage(play: Play) -> None:
    """A class without provisioner, a driver that must attach, and one volume."""
    name = play.full("disk")
    await play.create(STORAGE_CLASSES, {"metadata": {"name": name}, "provisioner": "kubernetes.io/no-provisioner"})
    await play.create(CSI_DRIVERS, {"metadata": {"name": driver(play)}, "spec": {"attachRequired": True}})
    await play.create(
        PERSISTENT_VOLUMES,
        {
            "metadata": {"name": name},
            "spec": {
                "capacity": {"storage": "1Gi"},
                "accessModes": ["ReadWriteOnce"],
                "storageClassName": name,
                "csi": {"driver": driver(play), "volumeHandle": "handle-0"},
            },
        },
    )
