"""The real scheduler's verdict: cases are built on a real control plane, many at a time, and their pods watched.

Only etcd, the API server and the scheduler run. Without the controller-manager nothing changes what a case created:
no volume is bound behind our back, no node is called unready. Admission that would need controllers is off.
"""

import asyncio
from collections.abc import AsyncGenerator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any

import msgspec

from growth.api import kinds
from growth.api.change import Change
from growth.api.kinds import NODES, PODS, Kind
from growth.api.pod import Pod
from growth.kube.client import Client
from growth.kube.errors import ApiError, NotFound
from growth.kube.informer import Informer
from growth.kube.patches import MergePatch
from growth.kube.transport import Method, Request
from growth_lab.local_cluster.cluster import LocalCluster
from tests.decide.stages import a_snapshot
from tests.fidelity.draft import Case, Existing, Json
from tests.fidelity.themes import OVERHEAD, RUNTIME_CLASS

# The scheduler hears of nodes, pods and volumes on different watches; after this long it has heard of all.
SETTLE_SECONDS = 0.7
VERDICT_SECONDS = 25.0
_AT_ONCE = 24

_FLAGS = {
    "kube-apiserver": (
        "--disable-admission-plugins=TaintNodesByCondition,ServiceAccount,StorageObjectInUseProtection",
        "--feature-gates=RestartAllContainersOnContainerExits=true",
        "--max-requests-inflight=2000",
        "--max-mutating-requests-inflight=1000",
    ),
}
_BY_NAME: dict[str, Kind[Any]] = {known.name: known for known in vars(kinds).values() if isinstance(known, Kind)}
_COMMON: tuple[Json, ...] = (
    {
        "apiVersion": "node.k8s.io/v1",
        "kind": "RuntimeClass",
        "metadata": {"name": RUNTIME_CLASS},
        "handler": "main",
        "overhead": {"podFixed": OVERHEAD},
    },
    *(
        {
            "apiVersion": "scheduling.k8s.io/v1",
            "kind": "PriorityClass",
            "metadata": {"name": f"fidelity-{name}"},
            "value": value,
            "preemptionPolicy": "Never",
        }
        for name, value in (("high", 10), ("low", -10))
    ),
)


class Answer(msgspec.Struct, frozen=True):
    """What the scheduler said: the node it chose, or the reason of its refusal ("" if it never answered)."""

    node: str
    reason: str
    message: str = ""


class Played(msgspec.Struct, frozen=True):
    """A case as the API server took it, ready to be judged by us, and the scheduler's answer."""

    case: Case
    snapshot: Any
    pod: Pod
    answer: Answer


class Refused(msgspec.Struct, frozen=True):
    """A case that the API server did not take."""

    case: Case
    why: str


class Arena:
    """One control plane, on which batches of cases are played."""

    def __init__(self, cluster: LocalCluster) -> None:
        self._cluster = cluster
        self._client: Client = cluster.admin
        self._pods: dict[str, Pod] = {}
        self._heard = asyncio.Event()
        self._slots = asyncio.Semaphore(_AT_ONCE)

    @property
    def cluster(self) -> LocalCluster:
        return self._cluster

    async def follow(self) -> None:
        """Watch all pods, for ever."""
        await Informer(self._client, PODS, self._hear).run()

    def _hear(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            self._pods[change.now.metadata.uid] = change.now
        self._heard.set()

    async def play(self, cases: Sequence[Case], settle_seconds: float = SETTLE_SECONDS) -> list[Played | Refused]:
        """Build all of these cases, then create their pods and wait for the scheduler's answers."""
        built = await asyncio.gather(*(self._build(case) for case in cases))
        await asyncio.sleep(settle_seconds)
        results = await asyncio.gather(*(self._ask(one) for one in built))
        await asyncio.gather(*(self._clear(case) for case in cases))
        return list(results)

    async def _build(self, case: Case) -> "_Built | Refused":
        built = _Built(case)
        try:
            for namespace in case.namespaces:
                built.objects.append(await self._create(namespace))
            built.nodes += await asyncio.gather(*(self._create(node) for node in case.nodes))
            built.objects += await asyncio.gather(*(self._create_with_status(case, one) for one in case.objects))
            built.pods += await asyncio.gather(*(self._create_existing(there) for there in case.existing))
        except ApiError as error:
            return Refused(case, str(error))
        return built

    async def _ask(self, built: "_Built | Refused") -> Played | Refused:
        if isinstance(built, Refused):
            return built
        try:
            pod: Pod = await self._create(built.case.pod)
            if pod.spec.scheduling_gates:
                built.objects += [await self._create(_owned(late, pod)) for late in built.case.late]
                await asyncio.sleep(SETTLE_SECONDS)
                ungate = MergePatch({"spec": {"schedulingGates": None}})
                pod = await self._client.patch(PODS, pod.metadata.name, ungate, pod.metadata.namespace)
        except ApiError as error:
            return Refused(built.case, str(error))
        answer = await self._answer(pod.metadata.uid)
        if answer.reason == "Unschedulable":
            answer = msgspec.structs.replace(answer, message=await self._message(pod))
        return Played(built.case, a_snapshot(built.nodes, built.pods, built.objects), pod, answer)

    async def _answer(self, uid: str) -> Answer:
        deadline = asyncio.get_running_loop().time() + VERDICT_SECONDS
        while True:
            self._heard.clear()
            pod = self._pods.get(uid)
            answer = answer_of(pod) if pod is not None else None
            if answer is not None:
                return answer
            left = deadline - asyncio.get_running_loop().time()
            if left <= 0:
                return Answer("", "")
            try:
                await asyncio.wait_for(self._heard.wait(), left)
            except TimeoutError:
                continue

    async def _message(self, pod: Pod) -> str:
        """The words of the refusal, which our own structs do not keep."""
        path = PODS.path(pod.metadata.name, pod.metadata.namespace)
        async with self._slots:
            seen = msgspec.json.decode((await self._client.request(Request(Method.GET, path))).body)
        return next((known["message"] for known in seen["status"]["conditions"] if known["type"] == "PodScheduled"), "")

    async def _create(self, manifest: Json) -> Any:  # noqa: ANN401 - the type follows from the manifest's kind
        kind = _BY_NAME[manifest["kind"]]
        async with self._slots:
            return await self._client.create(kind, manifest, manifest["metadata"].get("namespace", ""))

    async def _create_with_status(self, case: Case, manifest: Json) -> Any:  # noqa: ANN401
        made = await self._create(manifest)
        status = case.object_status.get(manifest["metadata"]["name"])
        return made if status is None else await self._set_status(manifest, status)

    async def _create_existing(self, there: Existing) -> Pod:
        manifest = there.manifest
        name, namespace = manifest["metadata"]["name"], manifest["metadata"]["namespace"]
        pod: Pod = await self._create(manifest)
        if there.status is not None:
            pod = await self._set_status(manifest, there.status)
        match there.fate:
            case "terminating":
                await self._client.delete(PODS, name, namespace)
                pod = await self._client.get(PODS, name, namespace)
            case "finished":
                pod = await self._set_status(manifest, {"phase": "Succeeded"})
            case "nominated":
                await self._answer(pod.metadata.uid)
                pod = await self._set_status(manifest, {"nominatedNodeName": there.node})
            case _:
                pass
        return pod

    async def _set_status(self, manifest: Json, status: Json) -> Any:  # noqa: ANN401
        kind, meta = _BY_NAME[manifest["kind"]], manifest["metadata"]
        patch = MergePatch({"status": status})
        async with self._slots:
            return await self._client.patch(kind, meta["name"], patch, meta.get("namespace", ""), subresource="status")

    async def _clear(self, case: Case) -> None:
        """Take away everything but the namespaces, pods first."""
        names = [namespace["metadata"]["name"] for namespace in case.namespaces]
        for kind in (PODS, kinds.PERSISTENT_VOLUME_CLAIMS, kinds.CSI_STORAGE_CAPACITIES):
            if kind is PODS or case.objects or case.late:
                for name in names:
                    await self._delete_all(kind.collection(name))
        doomed = [manifest for manifest in (*case.nodes, *case.objects) if "namespace" not in manifest["metadata"]]
        for manifest in doomed:
            kind = _BY_NAME[manifest["kind"]]
            try:
                async with self._slots:
                    await self._client.delete(kind, manifest["metadata"]["name"])
            except NotFound:
                continue
        gone = set(names)
        self._pods = {uid: pod for uid, pod in self._pods.items() if pod.metadata.namespace not in gone}

    async def _delete_all(self, path: str) -> None:
        body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        async with self._slots:
            await self._client.request(Request(Method.DELETE, path, body=body))


class _Built:
    """A case as far as it stands before its pod is created."""

    def __init__(self, case: Case) -> None:
        self.case = case
        self.nodes: list[Any] = []
        self.objects: list[Any] = []
        self.pods: list[Pod] = []


def answer_of(pod: Pod) -> Answer | None:
    """The scheduler's answer, once it has one. A node is named before slow volume binding, which never ends here."""
    if pod.node_name or pod.status.nominated_node_name:
        return Answer(pod.node_name or pod.status.nominated_node_name, "")
    condition = pod.condition("PodScheduled")
    if condition is None or condition.status != "False" or condition.reason == "SchedulingGated":
        return None
    return Answer("", condition.reason)


def _owned(manifest: Json, pod: Pod) -> Json:
    meta: Mapping[str, Any] = manifest["metadata"]
    uid = pod.metadata.uid if meta["owner"] == "pod" else "00000000-0000-0000-0000-000000000000"
    owner = {"apiVersion": "v1", "kind": "Pod", "name": pod.metadata.name, "uid": uid, "controller": True}
    fields = {name: value for name, value in meta.items() if name != "owner"}
    return {**manifest, "metadata": {**fields, "ownerReferences": [owner]}}


@asynccontextmanager
async def an_arena() -> AsyncGenerator[Arena]:
    """A control plane of etcd, API server and scheduler, and a watch on its pods; all gone afterwards."""
    async with LocalCluster(flags=_FLAGS) as cluster:
        for component in ("kube-controller-manager", "kwok"):
            await cluster.kill(component)
        await cluster.apply(_COMMON)
        arena = Arena(cluster)
        # A pod that is asked for before there is any node waits for seconds; one node that nobody fits prevents it.
        taints = [{"key": "fidelity", "value": "nobody", "effect": "NoSchedule"}]
        await cluster.admin.create(NODES, {"metadata": {"name": "nobody"}, "spec": {"taints": taints}})
        following = asyncio.create_task(arena.follow())
        try:
            yield arena
        finally:
            following.cancel()
            await asyncio.gather(following, return_exceptions=True)
