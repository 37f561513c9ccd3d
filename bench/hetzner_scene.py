"""A virtual cluster whose machines are servers of a sandbox, and Growth at work in it, with its usual settings."""

import asyncio
import base64
import os
from collections.abc import AsyncGenerator, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from growth.api.settings.model import HetznerSettings, ProvidersSettings, Settings
from growth.cloud.hetzner.plugin import open_hetzner
from growth.cloud.plugins import ProviderEnvironment
from growth.cloud.provider import Provider
from growth.decide.pipeline import CAPABILITIES
from growth.kube.client import Client
from growth.run.provider_poller import options_of
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.hetzner_sandbox.faults import Slow
from growth_lab.hetzner_sandbox.http_server import Gate, serving
from growth_lab.hetzner_sandbox.kwok_nodes import KwokNodes
from growth_lab.hetzner_sandbox.messages import request_from
from growth_lab.hetzner_sandbox.requests_adapter import ENDPOINT
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from growth_lab.hetzner_sandbox.timings import boots_in
from growth_lab.scenarios.hetzner import open_in_sandbox
from growth_lab.simulator import served_kinds
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster

NAMESPACE: Final = "growth-system"
USER_DATA: Final = "--node-labels=__GROWTH_LABELS__ --register-with-taints=__GROWTH_TAINTS__"
BOOT_SECONDS: Final = 10.0
# More than half of a cx23's two cores: no two fit on one.
_CPU: Final = "1100m"
_POLL_SECONDS: Final = 0.25
_PURCHASE_SECONDS: Final = 1.0
_ANSWER_SECONDS: Final = 0.1
_ALL: Final = 1_000_000

OpenProvider = Callable[[ProviderEnvironment], AbstractAsyncContextManager[Provider]]


class Scene:
    """What is there, seen from outside."""

    def __init__(self, cluster: VirtualCluster, sandbox: Sandbox, gate: Gate) -> None:
        self._store, self.sandbox, self._gate = cluster.store, sandbox, gate

    @property
    def most_at_once(self) -> int:
        """How many calls were under way at one time."""
        return self._gate.most

    def pods(self, count: int) -> None:
        """So many that need a machine each."""
        requests = {"cpu": _CPU, "memory": "512Mi"}
        for number in range(count):
            body = {
                "metadata": {"name": f"web-{number}", "namespace": "default"},
                "spec": {"containers": [{"name": "main", "image": "main", "resources": {"requests": requests}}]},
            }
            self._store.create(served_kinds.PODS, body)

    async def until_running(self, count: int) -> None:
        """Wait until so many pods run."""
        while self._running() < count:  # noqa: ASYNC110 - many pods have no one event
            await asyncio.sleep(_POLL_SECONDS)

    def end_pods(self) -> None:
        """Nobody needs any of the machines any more."""
        for pod in list(self._store.all(served_kinds.PODS)):
            meta = pod["metadata"]
            self._store.delete(served_kinds.PODS, meta["name"], meta["namespace"], grace_seconds=0)

    async def until_no_server_is_left(self, seconds: float) -> None:
        """Wait until all servers are gone, for so long at most: those that stay are counted, not waited for."""
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                while self.sandbox.servers():  # noqa: ASYNC110
                    await asyncio.sleep(_POLL_SECONDS)

    def node_names(self) -> set[str]:
        """All nodes."""
        return {node["metadata"]["name"] for node in self._store.all(served_kinds.NODES)}

    def _running(self) -> int:
        return sum(pod.get("status", {}).get("phase") == "Running" for pod in self._store.all(served_kinds.PODS))


@asynccontextmanager
async def over_http() -> AsyncGenerator[Scene]:
    """In real time: an HTTP server on a thread of its own, and the provider as ``growth run`` opens it."""
    cluster, sandbox = _cluster_and_sandbox()
    # What people see of the real API: a tenth of a second, and more for a purchase.
    sandbox.order(Slow(method="POST", path="/servers", seconds=_PURCHASE_SECONDS, times=_ALL))
    sandbox.order(Slow(seconds=_ANSWER_SECONDS, times=_ALL))
    with serving(sandbox) as door:
        async with _growth(cluster, sandbox, door.endpoint, open_hetzner, door.gate) as scene:
            yield scene


@asynccontextmanager
async def boxed() -> AsyncGenerator[Scene]:
    """On any clock: all in this process, and no thread."""
    cluster, sandbox = _cluster_and_sandbox()

    def open_here(surroundings: ProviderEnvironment) -> AbstractAsyncContextManager[Provider]:
        return open_in_sandbox(surroundings, sandbox)

    async with _growth(cluster, sandbox, ENDPOINT, open_here, Gate()) as scene:
        yield scene


def _cluster_and_sandbox() -> tuple[VirtualCluster, Sandbox]:
    cluster = VirtualCluster(roles=shipped_roles())
    return cluster, Sandbox(cluster.clock.now, timings=boots_in(BOOT_SECONDS))


@asynccontextmanager
async def _growth(
    cluster: VirtualCluster, sandbox: Sandbox, endpoint: str, opener: OpenProvider, gate: Gate
) -> AsyncGenerator[Scene]:
    _prepare(cluster, sandbox)
    os.environ["HCLOUD_TOKEN"] = TOKEN
    settings = Settings(
        providers=ProvidersSettings(enabled="hetzner"),
        hetzner=HetznerSettings(cluster_name="bench", endpoint=endpoint),
    )
    client, now = cluster.client(service_account(*ACCOUNT)), cluster.clock.now
    options = options_of("hetzner", settings)

    def open_with(leader: Client) -> AbstractAsyncContextManager[Provider]:
        return opener(ProviderEnvironment(leader, NAMESPACE, now, options))

    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=settings,
        capabilities=CAPABILITIES,
        host=played("bench", now),
        providers={"hetzner": open_with},
    )
    tasks = [
        asyncio.create_task(KwokNodes(cluster.admin(), sandbox).run()),
        asyncio.create_task(control(plant, new_health())),
    ]
    try:
        yield Scene(cluster, sandbox, gate)
        for task in tasks:
            if task.done():
                task.result()
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


def _prepare(cluster: VirtualCluster, sandbox: Sandbox) -> None:
    """A project with a network and a firewall, and a pool that uses all there is."""
    subnets = [{"type": "cloud", "ip_range": "10.0.0.0/16", "network_zone": "eu-central"}]
    _ask(sandbox, "/networks", {"name": "inner", "ip_range": "10.0.0.0/16", "subnets": subnets})
    _ask(sandbox, "/firewalls", {"name": "wall"})
    sandbox.calls.clear()
    store = cluster.store
    store.create(served_kinds.NAMESPACES, {"metadata": {"name": NAMESPACE}})
    store.create(served_kinds.LEASES, {"metadata": {"name": "growth", "namespace": NAMESPACE}, "spec": {}})
    text = base64.b64encode(USER_DATA.encode()).decode()
    secret = {"metadata": {"name": "growth-user-data", "namespace": NAMESPACE}, "data": {"user-data": text}}
    store.create(served_kinds.SECRETS, secret)
    machine = {
        "image": "debian-13",
        "network": "inner",
        "firewalls": ["wall"],
        "spread": True,
        "userDataSecret": {"name": "growth-user-data"},
    }
    spec = {
        "serverTypes": [{"name": "CX23"}],
        "locations": ["fsn1", "nbg1", "hel1"],
        "machine": machine,
        # Not the usual minutes, so that the bench ends soon.
        "scaleDown": {"emptyAfter": "10s", "delayAfterScaleUp": "0s"},
        "disruption": {"maxUnavailable": "50%"},
    }
    pools = next(one for one in served_kinds.OURS if one.kind == "NodePool")
    store.create(pools, {"metadata": {"name": "default"}, "spec": spec})


def _ask(sandbox: Sandbox, path: str, body: dict[str, Any]) -> None:
    answer = sandbox.answer(request_from("POST", f"/v1{path}", f"Bearer {TOKEN}", msgspec.json.encode(body)))
    if answer.status >= 300:
        raise RuntimeError(f"the sandbox refused {path}: {answer.body}")
