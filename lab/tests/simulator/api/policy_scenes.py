"""Objects that name a queue, or do not, and what the chart's admission policies make of them, on any API server."""

from typing import Any, Final

from growth.api.kinds import JOBS, NAMESPACES, PODS, Kind
from growth.api.queue.job import QUEUED_JOBS
from growth.kube.client import Client
from growth.run.shipped_manifests import shipped_policies
from growth_lab.scenarios.cleanup import POLICIES, POLICY_BINDINGS
from tests.builders import Json

GATE: Final = "kueue.x-k8s.io/admission"
QUEUE: Final[Json] = {"kueue.x-k8s.io/queue-name": "door"}
MANAGED: Final[Json] = {**QUEUE, "kueue.x-k8s.io/managed": "true"}
_SPEC: Final[Json] = {"containers": [{"name": "main", "image": "main"}]}
_OWNER: Final[Json] = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": "1"}


def a_job(labels: Json, **spec: Any) -> Json:  # noqa: ANN401
    return {"metadata": {"labels": labels}, "spec": {"template": {"spec": {**_SPEC, "restartPolicy": "Never"}}, **spec}}


def a_pod(labels: Json, *, owner: Json | None = None, **spec: Any) -> Json:  # noqa: ANN401
    owners = {"ownerReferences": [{**_OWNER, **owner}]} if owner is not None else {}
    return {"metadata": {"labels": labels, **owners}, "spec": {**_SPEC, **spec}}


SCENES: Final[dict[str, tuple[str, Kind[Any], Json, Any]]] = {
    "a job that names a queue": ("shop", JOBS, a_job(QUEUE), True),
    "a job that is suspended already": ("shop", JOBS, a_job(QUEUE, suspend=True), True),
    "a job without a queue": ("shop", JOBS, a_job({}), False),
    "a job in kube-system": ("kube-system", JOBS, a_job(QUEUE), False),
    "a job beside Growth": ("growth-system", JOBS, a_job(QUEUE), False),
    "a pod that names a queue": ("shop", PODS, a_pod(QUEUE), (MANAGED, [GATE])),
    "a pod with a gate of another": (
        "shop",
        PODS,
        a_pod(QUEUE, schedulingGates=[{"name": "other.dev/gate"}]),
        (MANAGED, ["other.dev/gate", GATE]),
    ),
    "a pod that is gated already": (
        "shop",
        PODS,
        a_pod(QUEUE, schedulingGates=[{"name": GATE}, {"name": "other.dev/gate"}]),
        (MANAGED, [GATE, "other.dev/gate"]),
    ),
    "a pod without a queue": ("shop", PODS, a_pod({}), ({}, [])),
    "a pod that a controller made": ("shop", PODS, a_pod(QUEUE, owner={"controller": True}), (QUEUE, [])),
    "a pod that belongs to somebody": ("shop", PODS, a_pod(QUEUE, owner={}), (MANAGED, [GATE])),
    "a pod that names its node": ("shop", PODS, a_pod(QUEUE, nodeName="there"), (QUEUE, [])),
    "a pod of a group": (
        "shop",
        PODS,
        a_pod({**QUEUE, "kueue.x-k8s.io/pod-group-name": "three"}),
        ({**QUEUE, "kueue.x-k8s.io/pod-group-name": "three"}, []),
    ),
    "a pod in kube-system": ("kube-system", PODS, a_pod(QUEUE), (QUEUE, [])),
}


async def install(client: Client) -> None:
    """The policies, as ``growth manifests`` brings them."""
    for policy in shipped_policies():
        await client.create(POLICIES if policy["kind"] == POLICIES.name else POLICY_BINDINGS, policy)


async def is_in_force(client: Client, namespace: str) -> bool:
    """Whether the API server (1.36) goes by them already, which it begins to within a second or so, by each for itself:
    a job of no pods is suspended, and a pod that fits no node is gated."""
    about = {"generateName": "asks-", "labels": QUEUE}
    job = await client.create(QUEUED_JOBS, {**a_job(QUEUE, parallelism=0), "metadata": about}, namespace)
    await client.delete(JOBS, job.metadata.name, namespace)
    pod = await client.create(PODS, {**a_pod(QUEUE, nodeSelector={"asks": "only"}), "metadata": about}, namespace)
    await client.delete(PODS, pod.metadata.name, namespace, grace_seconds=0)
    return job.spec.suspend and bool(pod.spec.scheduling_gates)


async def play(client: Client, number: int, name: str) -> Any:  # noqa: ANN401 - as the scene says it
    """What becomes of one: whether a job is suspended, or a pod's labels and gates."""
    namespace, kind, body, _ = SCENES[name]
    named = {**body, "metadata": {**body["metadata"], "name": f"scene-{number}"}}
    if kind is JOBS:
        made = await client.create(QUEUED_JOBS, named, namespace)
        return made.spec.suspend
    pod = await client.create(PODS, named, namespace)
    return pod.metadata.labels, [gate.name for gate in pod.spec.scheduling_gates]


async def add_namespaces(client: Client) -> None:
    """Those of the scenes that are not on every cluster."""
    known = {one.metadata.name for one in (await client.list(NAMESPACES)).items}
    for name in {namespace for namespace, *_ in SCENES.values()} - known:
        await client.create(NAMESPACES, {"metadata": {"name": name}})
