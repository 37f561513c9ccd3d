"""The role that the chart ships: it grants what Growth uses, all of it and nothing more.

Growth's own code runs on a real API server as the chart's ServiceAccount. A verb that is missing is refused there; one
that is granted and never asked for fails the comparison at the end.
"""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from growth.act.action_runner import Clients, carry_out
from growth.api.actions import CreateObject, ReleasePod, Result
from growth.api.annotations import back_off_of
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, EVENTS, JOBS, NAMESPACES, NODES, PODS, SECRETS
from growth.api.machine import MachineRequest
from growth.api.node_pool import UserDataSecret
from growth.api.node_removal_request import RETRY
from growth.api.offering import POOL, Offering
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.queue.kueue_installation import IN_USE
from growth.api.queue.pod import GATE
from growth.api.queue.workload import QUEUE_NAME
from growth.api.references import reference_by_name, reference_to
from growth.api.settings.queue import QueueSettings, RequeuingStrategySettings, WaitForPodsReadySettings
from growth.api.taints import LEAVES, SCALE_DOWN_AT
from growth.cloud.hetzner.user_data import Renderer
from growth.cloud.kwok.catalog import read_catalogue, shipped_catalogue
from growth.cloud.kwok.machine_record import FENCED_AT, config_map_name
from growth.cloud.kwok.plugin import open_kwok
from growth.cloud.plugins import ProviderEnvironment
from growth.cloud.provider import Provider
from growth.decide.pipeline import CAPABILITIES, chosen
from growth.kube.client import Client
from growth.kube.errors import Forbidden, Invalid
from growth.kube.event_recorder import EventRecorder, EventType
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth.kube.patches import MergePatch
from growth.kube.transport import Request, Response, Send, Stream
from growth.kube.verbs import Permission, permission_of, target_of
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import this_process
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.scenarios.cleanup import sweep
from growth_lab.scenarios.replica import QUICK
from tests.builders import Json
from tests.cluster.conftest import wait_until
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

CHART = ROOT / "charts" / "growth"
RBAC = CHART / "rbac.yaml"
NAMESPACE, ACCOUNT = "growth-system", "growth"


class Recording:
    """A sender that notes which permissions its requests need."""

    def __init__(self, send: Send, *, streams_lists: bool = True) -> None:
        self.used_in: set[tuple[str, Permission]] = set()
        """Permissions, and in which namespaces; empty for the whole cluster."""
        self._send = send
        self._streams_lists = streams_lists

    @property
    def used(self) -> set[Permission]:
        return {permission for _, permission in self.used_in}

    async def send(self, request: Request) -> Response:
        self._note(request)
        return await self._send.send(request)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        if not self._streams_lists and "sendInitialEvents" in dict(request.query):
            return self._refused()
        self._note(request)
        return self._send.stream(request)

    @asynccontextmanager
    async def _refused(self) -> AsyncGenerator[Stream]:
        """What a server before 1.34 says to a streamed list."""
        raise Invalid("sendInitialEvents is forbidden", status=422, reason="Invalid")
        yield

    def clock(self) -> float:
        return self._send.clock()

    async def close(self) -> None:
        """The sender belongs to the cluster."""

    def _note(self, request: Request) -> None:
        permission, target = permission_of(request), target_of(request.path)
        if permission and target:
            self.used_in.add((target.namespace, permission))


def granted(documents: list[Json]) -> set[Permission]:
    return {
        Permission(group, resource, verb)
        for document in documents
        for rule in document.get("rules", [])
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


async def install_kinds(cluster: LocalCluster) -> None:
    """Our own kinds and those of the queue, served."""
    for file in (CHART / "crds.yaml", CHART / "queue-crds.yaml"):
        await cluster.apply(file)
        await cluster.kubectl("wait", "--for=condition=Established", f"--filename={file}", "--timeout=30s")


async def see_everything(send: Send) -> None:
    """The World, complete, whether the server streams lists or not."""
    async with watching(Client(send), ClusterCache(remembers=True, queues=True)):
        pass


async def lead(send: Send) -> None:
    """Take the lease, keep it over one renewal, release it."""
    terms = LeaseTerms(lease_duration_seconds=2, renew_deadline_seconds=1, retry_period_seconds=0.2)
    client = Client(send)
    lease = LeaderLease(
        client, "growth", NAMESPACE, "role-test", work=client, terms=terms, now=lambda: datetime.now(UTC)
    )

    async def work(_: Client) -> None:
        await asyncio.sleep(terms.renew_deadline_seconds + terms.retry_period_seconds)

    await lease.run(work)


async def tell_twice(send: Send, admin: Client) -> None:
    """The same thing happens twice to a node: one Event that is changed, not two. A new process goes on with it."""
    node = ObjectReference(kind="Node", name="role-test", uid="role-test", api_version="v1")
    for _ in range(2):
        recorder = EventRecorder(Client(send), "role-test", now=lambda: datetime.now(UTC))
        recorder.record(node, EventType.NORMAL, "RoleTested", "Testing", "it happened")
        await recorder.drain(10)
        assert recorder.dropped == 0

    async def is_reported() -> bool:
        events = (await admin.list(EVENTS, "default")).items
        return any(event.reason == "RoleTested" for event in events)

    await wait_until(is_reported, "the event was told")


@pytest.fixture
def quick_catalogue(tmp_path: Path) -> Path:
    path = tmp_path / "quick.yaml"
    path.write_text("{provider: kwok, extends: kwok, bootDelay: 1s}")
    return path


async def play_a_machine(send: Send, admin: Client, catalogue: Path) -> None:
    """A played machine from its purchase to its end, with a power cut in between."""
    surroundings = ProviderEnvironment(
        Client(send), NAMESPACE, lambda: datetime.now(UTC), {"catalogue": str(catalogue)}
    )
    offering = next(one for one in shipped_catalogue("kwok").offerings if one.id == "kwok-cax11-fsn1")

    async def is_ready(*, ready: bool = True) -> bool:
        found = [node for node in (await admin.list(NODES)).items if node.metadata.name == "role-test"]
        return bool(found) and found[0].is_ready is ready

    async with open_kwok(surroundings) as provider:
        machine = await provider.create(MachineRequest("role-test", offering, "default"))
        await wait_until(is_ready, "the machine became a node")
        await provider.fence(machine.id)
        await wait_until(lambda: is_ready(ready=False), "the fenced node fell silent")
        on = MergePatch({"metadata": {"annotations": {FENCED_AT: None}}})
        await admin.patch(CONFIG_MAPS, config_map_name(machine.name), on, NAMESPACE)
        await wait_until(is_ready, "the node came back")
        await provider.list()
        await provider.delete(machine.id)

        async def is_gone() -> bool:
            return all(node.metadata.name != "role-test" for node in (await admin.list(NODES)).items)

        await wait_until(is_gone, "the node was removed")


CATALOGUE = """
provider: kwok
locations: {fsn1: {}}
serverTypes:
  - {name: good, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01}}
  - {name: bad, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01}, faults: [neverRegisters]}
"""
SETTINGS = msgspec.structs.replace(
    QUICK,
    provision=msgspec.structs.replace(
        QUICK.provision, machine_within=timedelta(seconds=2), keep_ready=timedelta(seconds=1)
    ),
    consolidate=msgspec.structs.replace(QUICK.consolidate, kept_for=timedelta(seconds=1)),
)


QUEUED = msgspec.structs.replace(
    QUICK,
    queue=QueueSettings(
        enabled=True,
        wait_for_pods_ready=WaitForPodsReadySettings(
            enable=True,
            timeout=timedelta(seconds=1),
            requeuing_strategy=RequeuingStrategySettings(backoff_limit_count=0),
        ),
    ),
)


async def grow(send: Send, admin: Client, namespace: str) -> None:
    """A pod that gets its machine, one whose machine never comes, one that joins it, one that nothing fits, a move that
    is carried out; and then everything is given back."""
    for pool in ("good", "bad"):
        await admin.create(
            NODE_POOLS, {"metadata": {"name": f"role-{pool}"}, "spec": {"serverTypes": [{"name": pool}]}}
        )
    for name, pool, cpu in (("lucky", "good", "1"), ("unlucky", "bad", "1"), ("giant", "good", "100")):
        await admin.create(PODS, a_waiting_pod(name, f"role-{pool}", cpu), namespace)

    @asynccontextmanager
    async def open_machines(client: Client) -> AsyncGenerator[Provider]:
        async with open_kwok(ProviderEnvironment(client, NAMESPACE, lambda: datetime.now(UTC))) as provider:
            provider.catalogue = read_catalogue(CATALOGUE)
            yield provider

    async def is_done() -> bool:
        pods = {pod.metadata.name: pod for pod in (await admin.list(PODS, namespace)).items}
        requests = (await admin.list(NODE_REQUESTS)).items
        is_forgotten = all(request.spec.pool != "role-good" for request in requests)
        is_reported = back_off_of(pods["giant"]) is not None
        is_moved = not (await admin.list(NODE_MOVES)).items
        return bool(pods["lucky"].node_name) and is_forgotten and is_reported and is_moved

    client = Client(send)
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=SETTINGS,
        capabilities=CAPABILITIES,
        host=this_process("role-test"),
        providers={"kwok": open_machines},
    )

    async def is_asked_for() -> bool:
        return any(request.spec.pool == "role-bad" for request in (await admin.list(NODE_REQUESTS)).items)

    growing = asyncio.create_task(control(plant, new_health()))
    try:
        await wait_until(is_asked_for, "a machine was asked for")
        await admin.create(PODS, a_waiting_pod("joins", "role-bad", "500m"), namespace)
        await wait_until(is_done, "Growth grew and told")
        await shrink(admin, namespace)
    finally:
        growing.cancel()
        await asyncio.gather(growing, return_exceptions=True)


async def shrink(admin: Client, namespace: str) -> None:
    """Both pools are deleted with all that they have; a node whose machine is gone still has a pod; and somebody wishes
    for another attempt where none has failed."""
    meta = {"name": "role-ghost", "labels": {POOL: "role-good"}, "annotations": {SCALE_DOWN_AT: "2026-01-01T00:00:00Z"}}
    taints = [msgspec.to_builtins(LEAVES)]
    await admin.create(NODES, {"metadata": meta, "spec": {"providerID": "role://ghost", "taints": taints}})
    left = a_waiting_pod("left", "role-good", "100m")
    await admin.create(PODS, {**left, "spec": {**left["spec"], "nodeName": "role-ghost"}}, namespace)
    await admin.create(
        NODE_REMOVAL_REQUESTS,
        {"metadata": {"name": "role-ghost", "annotations": {RETRY: "please"}}, "spec": {"pool": "role-good"}},
    )
    for pool in ("role-good", "role-bad"):
        await admin.delete(NODE_POOLS, pool)

    async def is_gone() -> bool:
        requests, removals = (await admin.list(NODE_REQUESTS)).items, (await admin.list(NODE_REMOVAL_REQUESTS)).items
        if requests or removals or (await admin.list(NODE_POOLS)).items:
            return False
        # Other tests on this control plane leave nodes behind, some of them of pools of theirs.
        pools = [node.metadata.labels.get(POOL, "") for node in (await admin.list(NODES)).items]
        return not any(pool.startswith("role-") for pool in pools)

    await wait_until(is_gone, "Growth gave everything back", 120)


def a_waiting_pod(name: str, pool: str, cpu: str) -> Json:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu}}}
    return {"metadata": {"name": name}, "spec": {"containers": [container], "nodeSelector": {"growth.dev/pool": pool}}}


async def ask_for_what_is_there(send: Send, admin: Client) -> None:
    """A crash after a creation: the next process creates again, and looks whether what is there is what it wants."""
    client = Client(send)
    doors = Clients(
        client, EventRecorder(client, "role-test", now=lambda: datetime.now(UTC)), lambda: datetime.now(UTC)
    )
    spec: Json = {"spec": {"pool": "role-good", "targetOffering": "kwok-good-fsn1"}}
    wishes = [
        CreateObject(subject=reference_by_name(NODE_REQUESTS, "role-test"), why="", body=spec),
        CreateObject(
            subject=reference_by_name(NODE_REMOVAL_REQUESTS, "role-test"), why="", body={"spec": {"pool": "role-good"}}
        ),
        # What becomes of it, Growth decides: ``grow``.
        CreateObject(
            subject=reference_by_name(NODE_MOVES, "role-test"), why="", body={"spec": {"nodes": ["role-gone"]}}
        ),
    ]
    for wish in (*wishes, *wishes):
        assert (await carry_out(wish, doors)).result is Result.DONE
    await admin.delete(NODE_REQUESTS, "role-test")
    await admin.delete(NODE_REMOVAL_REQUESTS, "role-test")


async def end_a_pod(send: Send, admin: Client, namespace: str) -> None:
    """A pod whose machine is dead."""
    container = {"name": "main", "image": "main"}
    made = await admin.create(PODS, {"metadata": {"name": "dead"}, "spec": {"containers": [container]}}, namespace)
    doors = Clients(
        Client(send), EventRecorder(Client(send), "role-test", now=lambda: datetime.now(UTC)), lambda: datetime.now(UTC)
    )
    release = ReleasePod(subject=reference_to(PODS, made.metadata), why="its machine is off")
    assert (await carry_out(release, doors)).result is Result.DONE


async def start_a_server(send: Send, admin: Client) -> None:
    """What a server at Hetzner is told: its user data is read, and a join token is made for it."""
    spec = {"pool": "role-good", "targetOffering": "hetzner-cax11-fsn1"}
    made = await admin.create(NODE_REQUESTS, {"metadata": {"name": "role-server"}, "spec": spec})
    text = {"user-data": b"join __GROWTH_JOIN_TOKEN__"}
    await admin.create(SECRETS, {"metadata": {"name": "growth-user-data"}, "data": text}, NAMESPACE)
    offering = Offering("hetzner-cax11-fsn1", "hetzner", "cax11", "fsn1", 0.01)
    request = MachineRequest(
        "role-server", offering, "role-good", user_data_secret=UserDataSecret("growth-user-data"), uid=made.metadata.uid
    )
    renderer = Renderer(Client(send), NAMESPACE, "role-test", lambda: datetime.now(UTC))
    assert (await renderer.render(request)).startswith("join ")
    await admin.delete(SECRETS, "growth-user-data", NAMESPACE)
    await admin.delete(NODE_REQUESTS, "role-server")


async def a_job_that_was_suspended(admin: Client, namespace: str, job: Json) -> None:
    """By hand, and its start time is still there: nobody may change its template as long as it is."""
    meta = {"name": "old", "labels": {QUEUE_NAME: "door"}}
    await admin.create(JOBS, {"metadata": meta, "spec": {**job, "suspend": True}}, namespace)

    async def is_settled() -> bool:
        return any(one.type == "Suspended" for one in (await admin.get(JOBS, "old", namespace)).status.conditions)

    await wait_until(is_settled, "the controller is done with it")
    started = MergePatch({"status": {"startTime": "2026-01-01T00:00:00Z"}})
    await admin.patch(JOBS, "old", started, namespace, subresource="status")


async def queue(send: Send, admin: Client, namespace: str) -> None:
    """A job that waits its turn, cannot start, is put back, and is deactivated in the end; another one that was started
    before; a plain pod that is let go, cannot start either, and is ended; and what Kueue left on queue and flavor."""
    await admin.create(RESOURCE_FLAVORS, {"metadata": {"name": "role-any", "finalizers": [IN_USE]}})
    quota = {"name": "role-any", "resources": [{"name": "cpu", "nominalQuota": 3}]}
    spec: dict[str, Any] = {
        "namespaceSelector": {},
        "resourceGroups": [{"coveredResources": ["cpu"], "flavors": [quota]}],
    }
    await admin.create(CLUSTER_QUEUES, {"metadata": {"name": "role-all", "finalizers": [IN_USE]}, "spec": spec})
    await admin.create(LOCAL_QUEUES, {"metadata": {"name": "door"}, "spec": {"clusterQueue": "role-all"}}, namespace)
    waiting = a_waiting_pod("job", "role-none", "1")["spec"]
    job = {"template": {"spec": {**waiting, "restartPolicy": "Never"}}}
    await admin.create(JOBS, {"metadata": {"name": "job", "labels": {QUEUE_NAME: "door"}}, "spec": job}, namespace)

    async def has_begun() -> bool:
        return (await admin.get(JOBS, "job", namespace)).status.start_time is not None

    await wait_until(has_begun, "the job began before there was a queue")
    await a_job_that_was_suspended(admin, namespace, job)
    plain = a_waiting_pod("plain", "role-none", "1")
    gated = {**plain["spec"], "schedulingGates": [{"name": GATE}]}
    await admin.create(PODS, {"metadata": {"name": "plain", "labels": {QUEUE_NAME: "door"}}, "spec": gated}, namespace)

    async def is_put_aside() -> bool:
        workloads = (await admin.list(WORKLOADS, namespace)).items
        jobs = (await admin.list(JOBS, namespace)).items
        is_idle = all(one.status.start_time is None and one.spec.suspend for one in jobs)
        has_ended = all(pod.metadata.name != "plain" for pod in (await admin.list(PODS, namespace)).items)
        is_aside = any(not one.spec.active and one.status.admission is None for one in workloads)
        return is_idle and is_aside and has_ended

    client = Client(send)
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=QUEUED,
        capabilities=chosen(["queue"]),
        host=this_process("role-test-queue"),
    )
    queueing = asyncio.create_task(control(plant, new_health()))
    try:
        await wait_until(is_put_aside, "the job was put aside, and the pod was ended", 60)
        for kind, name in ((CLUSTER_QUEUES, "role-all"), (RESOURCE_FLAVORS, "role-any")):
            await admin.delete(kind, name)

        async def are_let_go() -> bool:
            return not (await admin.list(CLUSTER_QUEUES)).items and not (await admin.list(RESOURCE_FLAVORS)).items

        await wait_until(are_let_go, "what Kueue had put its finalizer on was let go")
    finally:
        queueing.cancel()
        await asyncio.gather(queueing, return_exceptions=True)
        for name in ("job", "old"):
            await admin.delete(JOBS, name, namespace)


async def test_the_role_grants_what_growth_uses_and_nothing_more(
    control_plane: LocalCluster, quick_catalogue: Path, namespace: str
) -> None:
    documents: list[Any] = list(yaml.safe_load_all(RBAC.read_text()))
    await control_plane.apply(RBAC)
    await install_kinds(control_plane)
    client = await control_plane.client_as(NAMESPACE, ACCOUNT)
    streaming, paging = Recording(client.transport), Recording(client.transport, streams_lists=False)
    await see_everything(streaming)
    await see_everything(paging)
    await lead(streaming)
    await tell_twice(streaming, control_plane.admin)
    await play_a_machine(streaming, control_plane.admin, quick_catalogue)
    await ask_for_what_is_there(streaming, control_plane.admin)
    await start_a_server(streaming, control_plane.admin)
    await end_a_pod(streaming, control_plane.admin, namespace)
    await grow(streaming, control_plane.admin, namespace)
    await queue(streaming, control_plane.admin, namespace)
    await sweep(control_plane.admin)
    used = streaming.used | paging.used
    assert sorted(map(str, granted(documents) - used)) == [], "granted and never used"
    assert sorted(map(str, used - granted(documents))) == [], "used and never granted"


async def test_what_the_role_does_not_grant_is_refused_by_name(control_plane: LocalCluster) -> None:
    await control_plane.apply(RBAC)
    client = await control_plane.client_as(NAMESPACE, ACCOUNT)
    with pytest.raises(Forbidden, match="the role lacks the verb 'delete' on namespaces") as refused:
        await client.delete(NAMESPACES, "any")
    assert refused.value.permission == Permission("", "namespaces", "delete")
