"""What may happen in a drawn history, and how it is done to a cluster: each a value with ``do(play)``.

Both worlds may choose among equal nodes as they like, and what follows would differ then. So pods name their node; only
a Deployment's may go anywhere, since it is judged by how many of its pods run, not where.
"""

from typing import Any, Protocol

import msgspec

from growth.api.kinds import (
    CSI_DRIVERS,
    DAEMON_SETS,
    JOBS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    STORAGE_CLASSES,
)
from growth.api.tolerations import Taint
from growth.kube.errors import ApiError, NotFound, TooManyRequests
from growth_lab.scenarios.context import Json, Play
from growth_lab.scenarios.workloads import DEPLOYMENTS, STATEFUL_SETS

HOST = "kubernetes.io/hostname"
ATTACHED = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}


class Happening(Protocol):
    """One step of a history."""

    @property
    def quiet(self) -> float:
        """How long nothing must move until it is over, in seconds, on a cluster with short durations."""
        ...

    async def do(self, play: Play) -> None:
        """Let it happen."""
        ...


class _Step(msgspec.Struct, frozen=True, tag=True):
    name: str
    quiet = 1.5


class NodeComes(_Step, frozen=True):
    taint: str = ""

    async def do(self, play: Play) -> None:
        await play.node(self.name, cpu="8", taints=(self.taint,) if self.taint else (), annotations=ATTACHED)


class NodeGoes(_Step, frozen=True):
    quiet = 3.0

    async def do(self, play: Play) -> None:
        await play.delete(NODES, play.full(self.name))


class NodeFallsSilent(_Step, frozen=True):
    quiet = 9.0

    async def do(self, play: Play) -> None:
        await play.silence(self.name)


class NodeReturns(_Step, frozen=True):
    quiet = 4.0

    async def do(self, play: Play) -> None:
        await play.wake(self.name)


class NodeIsCordoned(_Step, frozen=True):
    is_on: bool = True

    async def do(self, play: Play) -> None:
        await play.change(NODES, play.full(self.name), {"spec": {"unschedulable": self.is_on or None}})


class NodeIsTainted(_Step, frozen=True):
    effect: str = "NoSchedule"
    is_on: bool = True

    async def do(self, play: Play) -> None:
        mine = [Taint("drawn", effect=self.effect)] if self.is_on else []
        await play.change_taints(self.name, lambda taints: [*(one for one in taints if one.key != "drawn"), *mine])


class PodComes(_Step, frozen=True):
    node: str
    cpu: str = "100m"
    tolerates: bool = False
    keeps_away: bool = False
    """From others of its kind on its node."""

    async def do(self, play: Play) -> None:
        spec = _on(play, self.node)
        if self.tolerates:
            spec["tolerations"] = [{"key": "drawn", "operator": "Exists"}]
        if self.keeps_away:
            term = {"topologyKey": HOST, "labelSelector": {"matchLabels": {"app": "loner"}}}
            spec["affinity"] = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}
        labels = {"app": "loner"} if self.keeps_away else {}
        await play.pod(self.name, cpu=self.cpu, labels=labels, **spec)


class PodGoes(_Step, frozen=True):
    grace_seconds: int | None = None

    async def do(self, play: Play) -> None:
        try:
            await play.delete(PODS, self.name, grace_seconds=self.grace_seconds)
        except NotFound:
            return  # it went by itself, as it may have in both worlds


class PodIsEvicted(_Step, frozen=True):
    async def do(self, play: Play) -> None:
        try:
            await play.client.evict(self.name, play.namespace)
        except (NotFound, TooManyRequests):
            return


class BudgetComes(_Step, frozen=True):
    """Protects the pods of an app."""

    minimum: int = 1

    async def do(self, play: Play) -> None:
        spec = {"minAvailable": self.minimum, "selector": {"matchLabels": {"app": self.name}}}
        await play.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": self.name}, "spec": spec})


class AppComes(_Step, frozen=True):
    """A Deployment, StatefulSet or DaemonSet."""

    kind: str
    replicas: int = 1
    node: str = ""

    async def do(self, play: Play) -> None:
        labels = {"app": self.name}
        spec: dict[str, Any] = {
            "selector": {"matchLabels": labels},
            "template": {"metadata": {"labels": labels}, "spec": play.pod_spec(**_on(play, self.node))},
        }
        if self.kind != "DaemonSet":
            spec["replicas"] = self.replicas
        if self.kind == "StatefulSet":
            spec["serviceName"] = self.name
        kind = {"Deployment": DEPLOYMENTS, "StatefulSet": STATEFUL_SETS, "DaemonSet": DAEMON_SETS}[self.kind]
        await play.create(kind, {"metadata": {"name": self.name}, "spec": spec})


class AppIsScaled(_Step, frozen=True):
    kind: str
    replicas: int

    async def do(self, play: Play) -> None:
        kind = {"Deployment": DEPLOYMENTS, "StatefulSet": STATEFUL_SETS}[self.kind]
        await play.change(kind, self.name, {"spec": {"replicas": self.replicas}})


class AppGoes(_Step, frozen=True):
    kind: str

    async def do(self, play: Play) -> None:
        kind = {"Deployment": DEPLOYMENTS, "StatefulSet": STATEFUL_SETS, "DaemonSet": DAEMON_SETS}[self.kind]
        await play.delete(kind, self.name)


class JobComes(_Step, frozen=True):
    quiet = 4.0
    node: str
    completions: int = 1
    parallelism: int = 1

    async def do(self, play: Play) -> None:
        template = {
            "metadata": {"labels": {"app": self.name}, "annotations": {"growth.dev/finish-after": "1s"}},
            "spec": play.pod_spec(restartPolicy="Never", **_on(play, self.node)),
        }
        spec = {"completions": self.completions, "parallelism": self.parallelism, "template": template}
        await play.create(JOBS, {"metadata": {"name": self.name}, "spec": spec})


class DiskComes(_Step, frozen=True):
    """A volume, its claim, and a pod on a node that uses it."""

    quiet = 3.0
    node: str

    async def do(self, play: Play) -> None:
        disk, driver = play.full(self.name), f"{play.namespace}.growth.dev"
        await _once(play, STORAGE_CLASSES, play.full("disks"), {"provisioner": "kubernetes.io/no-provisioner"})
        await _once(play, CSI_DRIVERS, driver, {"spec": {"attachRequired": True}})
        common = {"accessModes": ["ReadWriteOnce"], "storageClassName": play.full("disks")}
        volume = {
            **common,
            "capacity": {"storage": "1Gi"},
            "csi": {"driver": driver, "volumeHandle": disk},
            "claimRef": {"namespace": play.namespace, "name": self.name},
        }
        claim = {**common, "resources": {"requests": {"storage": "1Gi"}}}
        await play.create(PERSISTENT_VOLUMES, {"metadata": {"name": disk}, "spec": volume})
        await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": self.name}, "spec": claim})
        claims = play.trace.objects[PERSISTENT_VOLUME_CLAIMS]
        await play.until(lambda: self.name in claims and claims[self.name].spec.volume_name, "the claim is bound")
        used = [{"name": "data", "persistentVolumeClaim": {"claimName": self.name}}]
        await play.pod(self.name, volumes=used, **_on(play, self.node))


class ClaimGoes(_Step, frozen=True):
    async def do(self, play: Play) -> None:
        await play.delete(PERSISTENT_VOLUME_CLAIMS, self.name)


def _on(play: Play, node: str) -> dict[str, Any]:
    selector = play.pod_spec()["nodeSelector"]
    return {"nodeSelector": {**selector, **({HOST: play.full(node)} if node else {})}}


async def _once(play: Play, kind: Any, name: str, body: Json) -> None:  # noqa: ANN401 - any kind
    try:
        await play.create(kind, {"metadata": {"name": name}, **body})
    except ApiError as error:
        if error.status != 409:
            raise
