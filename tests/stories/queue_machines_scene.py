"""What stories about the machines of jobs have in common: flavors of them, jobs for them, and what was bought."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import JOBS, NODES, PODS, Kind
from growth.api.meta import FrozenValue, ObjectMeta
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from growth.api.queue.workload import PRIORITY_CLASS, QUEUE_NAME, Workload
from growth_lab.scenarios.context import Play


class QuotaStatus(FrozenValue, frozen=True):
    """What is in force of a ResourceQuota."""

    hard: Mapping[str, str] = msgspec.field(default_factory=dict[str, str])


class ResourceQuota(FrozenValue, frozen=True):
    """How much there may be in a namespace."""

    metadata: ObjectMeta
    status: QuotaStatus = QuotaStatus()


RESOURCE_QUOTAS: Final = Kind("", "v1", "resourcequotas", "ResourceQuota", namespaced=True, type=ResourceQuota)
# With no node at all the real scheduler looks again only every ten seconds; nobody in these stories may use this one.
TAINTED: Final = ("dedicated=other:NoSchedule",)
IMPATIENT: Final = {"emptyAfter": "1s", "delayAfterScaleUp": "0s"}


async def flavors(play: Play, label: str, cpu: Mapping[str, str], **spec: Any) -> None:  # noqa: ANN401
    """Flavors of nodes that bear this label with their names, tried in this order, with so much quota each."""
    quotas: list[dict[str, Any]] = []
    for name, amount in cpu.items():
        await play.create(RESOURCE_FLAVORS, {"metadata": {"name": name}, "spec": {"nodeLabels": {label: name}}})
        resources = [{"name": "cpu", "nominalQuota": amount}, {"name": "memory", "nominalQuota": "64Gi"}]
        quotas.append({"name": name, "resources": resources})
    groups = [{"coveredResources": ["cpu", "memory"], "flavors": quotas}]
    stated: dict[str, Any] = {"resourceGroups": groups, "namespaceSelector": {}, **spec}
    await play.create(CLUSTER_QUEUES, {"metadata": {"name": "all"}, "spec": stated})
    await play.create(LOCAL_QUEUES, {"metadata": {"name": "door"}, "spec": {"clusterQueue": "all"}})


async def a_job(play: Play, name: str, pods: int = 1, *, cpu: str = "1500m", priority_class: str = "") -> None:
    """A job that may use any node."""
    spec = play.pod_spec(cpu, restartPolicy="Never", terminationGracePeriodSeconds=0)
    del spec["nodeSelector"]
    template = {"metadata": {"labels": {"app": name}}, "spec": spec}
    labels = {QUEUE_NAME: "door", **({PRIORITY_CLASS: priority_class} if priority_class else {})}
    count = {"parallelism": pods, "completions": pods}
    body = {"metadata": {"name": name, "labels": labels}, "spec": {"suspend": True, "template": template, **count}}
    await play.create(JOBS, body)


async def allow_no_pods(play: Play) -> None:
    """A job may be started, and its pods are refused."""
    await play.create(RESOURCE_QUOTAS, {"metadata": {"name": "none"}, "spec": {"hard": {"pods": "0"}}})

    async def is_in_force() -> bool:
        return bool((await play.client.get(RESOURCE_QUOTAS, "none", play.namespace)).status.hard)

    await play.until_found(is_in_force, "no pods are allowed")


async def allow_pods(play: Play) -> None:
    """Now they are made; the Job controller tries again at times."""
    await play.delete(RESOURCE_QUOTAS, "none")


def flavor_of(workload: Workload) -> str:
    """Where it is admitted; empty if it is not."""
    admission = workload.status.admission
    return admission.pod_set_assignments[0].flavors["cpu"] if admission is not None else ""


def asked_for(play: Play) -> list[NodeRequest]:
    """All machines that are asked for, or there."""
    return list(play.trace.objects[NODE_REQUESTS].values())


def ever_asked_for(play: Play) -> int:
    """How many machines were asked for in all."""
    return len({one.uid for one in play.trace.seen if one.subject.startswith(f"{NODE_REQUESTS.name} ")})


def ever_made(play: Play) -> int:
    """How many pods were made in all."""
    return len({one.uid for one in play.trace.seen if one.subject.startswith(f"{PODS.name} ")})


async def until_nothing_is_left(play: Play) -> None:
    """Wait until no machine is asked for or there."""

    async def is_so() -> bool:
        nodes = (await play.client.list(NODES)).items
        return not asked_for(play) and not any(POOL in node.metadata.labels for node in nodes)

    await play.until_found(is_so, "no machine is left")
