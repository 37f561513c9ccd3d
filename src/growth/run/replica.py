"""Everything wired: informers feed the World, deciders look at it, executors act, one replica leads.

``growth run`` and the virtual cluster call the same function. All that differs is given: the senders, the time, where
long thoughts are thought.

    watching ──► World ──┬─► the loop of every replica ──► its executor
                         └─► the leader's loop ──► its executor, behind the lease's fence

Where nothing is for one replica alone, nobody leads, and the lease is neither read nor written.
"""

import asyncio
import logging
from collections.abc import Coroutine, Mapping, Sequence
from typing import Any, Final

import msgspec

from growth.act.action_runner import Clients
from growth.act.effect_hooks import EffectHooks
from growth.act.executor import SILENCE_SECONDS as EXECUTOR_SILENCE_SECONDS
from growth.act.executor import Executor
from growth.api.kinds import Kind
from growth.api.node_memory import MEMORIES
from growth.api.provider_state import ProviderState
from growth.api.queue.kinds import WORKLOADS
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability
from growth.kube.client import Client
from growth.kube.event_recorder import EventRecorder
from growth.kube.informer import Informer
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth.observe.cache import ClusterCache
from growth.run.health import ProcessHealth
from growth.run.informers import catch_up, watching
from growth.run.metrics import ActionMetrics, Metrics
from growth.run.provider_poller import OpenProvider, ProviderPoller
from growth.run.reconciler import SILENCE_SECONDS as LOOP_SILENCE_SECONDS
from growth.run.reconciler import Reconciler
from growth.run.runtime import Runtime
from growth.run.watchdog import Heartbeats

_LOG: Final = logging.getLogger(__name__)

# What was sent may take so long to be answered when we are asked to stop, and events so long to be told. Together with
# the lease (its renew deadline at most) this stays under the 30 s that Kubernetes gives a pod.
_LAST_ACTIONS_SECONDS: Final = 5.0
_LAST_EVENTS_SECONDS: Final = 2.0


class ReplicaConfig(msgspec.Struct, frozen=True, kw_only=True):
    """What one replica is made of.

    ``client`` does the work and ``lease_client`` keeps the lease: with connections of their own, so that a renewal
    never waits behind a thousand writes. On a virtual cluster both may be the same.
    """

    client: Client
    lease_client: Client
    settings: Settings
    capabilities: Sequence[AnyCapability]
    host: Runtime
    providers: Mapping[str, OpenProvider] = {}
    """Who has machines for us, by name; opened anew for each term of leadership."""
    points: EffectHooks = EffectHooks()


def new_health() -> ProcessHealth:
    """The health of a replica that is about to start; call it on the event loop."""
    return ProcessHealth(Heartbeats(asyncio.get_running_loop().time), Metrics())


async def control(plant: ReplicaConfig, health: ProcessHealth) -> None:
    """Run one replica until it is cancelled; then end what is under way, release the lease and return.

    Raises a KubeError that needs a person (a missing right, a kind that is not there) if that happens at the start.
    """
    running = [capability for capability in plant.capabilities if capability.is_enabled(plant.settings)]
    plant = msgspec.structs.replace(plant, capabilities=running)
    watched = {kind for capability in plant.capabilities for kind in capability.watches}
    cache = ClusterCache(plant.host.now, remembers=MEMORIES in watched, queues=WORKLOADS in watched)
    loops: list[Reconciler] = []

    def observed() -> None:
        for loop in loops:
            loop.wake()

    kinds = _kinds(plant.capabilities, cache)
    try:
        async with watching(
            plant.client,
            cache,
            kinds,
            late=_late(plant.capabilities),
            settings=plant.settings,
            heartbeats=health.heartbeats,
            observed=observed,
            spare=plant.host.spare,
        ) as informers:
            health.is_synced = True
            _LOG.info("the cluster is read: %d nodes, %d pods wait", len(cache.nodes), len(cache.waiting))
            await _Replica(plant, health, cache, loops, informers).run()
    finally:
        health.is_stopping = True


def _kinds(capabilities: Sequence[AnyCapability], cache: ClusterCache) -> list[Kind[Any]]:
    """What the capabilities have to see, in the World's order; everything if there is none that could say it."""
    wanted = {kind for capability in capabilities for kind in capability.watches}
    if unknown := sorted(kind.plural for kind in wanted - set(cache.listeners())):
        raise LookupError(f"the World keeps no {', '.join(unknown)}, which some capability has to see")
    return [kind for kind in cache.listeners() if kind in wanted or not capabilities]


def _late(capabilities: Sequence[AnyCapability]) -> set[Kind[Any]]:
    """What only those have to see for whom nobody waits."""
    wanted = {kind for capability in capabilities for kind in capability.watches if capability.is_late}
    return wanted - {kind for capability in capabilities for kind in capability.watches if not capability.is_late}


class _Replica:
    """The part that acts, once the World is complete."""

    def __init__(
        self,
        plant: ReplicaConfig,
        health: ProcessHealth,
        cache: ClusterCache,
        loops: list[Reconciler],
        informers: Sequence[Informer[Any]],
    ) -> None:
        self._plant = plant
        self._informers = informers
        self._health = health
        self._cache = cache
        self._loops = loops
        host = plant.host
        self._recorder = EventRecorder(plant.client, host.identity, now=host.now)
        health.metrics.follow(cache, self._recorder)
        election = plant.settings.leader_election
        self._lease = LeaderLease(
            plant.lease_client,
            election.lease_name,
            plant.settings.namespace,
            host.identity,
            work=plant.client,
            terms=LeaseTerms(
                lease_duration_seconds=election.lease_duration.total_seconds(),
                renew_deadline_seconds=election.renew_deadline.total_seconds(),
                retry_period_seconds=election.retry_period.total_seconds(),
            ),
            now=host.now,
        )
        health.holder = lambda: self._lease.holder
        capabilities = plant.capabilities
        health.has_leader = not capabilities or any(one.scope == "leader" for one in capabilities)

    async def run(self) -> None:
        """Until cancelled, or until one part fails: then the others end, too, in good order."""
        telling = asyncio.create_task(self._recorder.run())
        try:
            leading = [self._lease.run(self._lead)] if self._health.has_leader else []
            await _together(self._work(), *leading)
        finally:
            self._health.is_stopping = True
            telling.cancel()
            await asyncio.wait({telling})
            await self._recorder.drain(_LAST_EVENTS_SECONDS)

    async def _work(self) -> None:
        """What every replica does."""
        plant = self._plant
        clients = Clients(plant.client, self._recorder, plant.host.now, points=plant.points)
        await self._decide("replica", [one for one in plant.capabilities if one.scope != "leader"], clients)

    async def _lead(self, client: Client) -> None:
        """What the leader does, with a client that cannot write after its term."""
        plant = self._plant
        self._health.is_leader = True
        self._health.metrics.leader.set(1)
        try:
            await catch_up(self._informers)
            clouds = ProviderPoller(
                plant.providers,
                every_seconds=plant.settings.providers.read_every.total_seconds(),
                tell=self._hear_of_cloud,
                now=plant.host.now,
            )
            async with clouds.following(client):
                clients = Clients(client, self._recorder, plant.host.now, clouds.providers, plant.points)
                await self._decide("leader", [one for one in plant.capabilities if one.scope == "leader"], clients)
        finally:
            self._cache.forget_clouds()
            self._health.metrics.provider_up.clear()
            self._health.is_leader = False
            self._health.metrics.leader.set(0)

    def _hear_of_cloud(self, cloud: ProviderState) -> None:
        self._cache.hear_of_cloud(cloud)
        self._health.metrics.provider_up.labels(cloud.provider).set(0 if cloud.problem else 1)
        for loop in self._loops:
            loop.wake()

    async def _decide(self, role: str, capabilities: Sequence[AnyCapability], clients: Clients) -> None:
        """The loop and the executor of one role, until cancelled; then what was sent is waited for."""
        metrics, heartbeats = self._health.metrics, self._health.heartbeats
        loop_beat = heartbeats.register(f"the loop of the {role}", LOOP_SILENCE_SECONDS)
        executor_beat = heartbeats.register(f"the executor of the {role}", EXECUTOR_SILENCE_SECONDS)
        deciding = Reconciler(
            role,
            self._cache,
            capabilities,
            self._plant.settings,
            self._plant.host,
            metrics=metrics,
            heartbeat=loop_beat,
            enabled=frozenset(capability.name for capability in self._plant.capabilities),
        )
        executor = Executor(clients, wake=deciding.wake, witness=ActionMetrics(metrics, role), pulse=executor_beat)
        self._loops.append(deciding)
        try:
            await deciding.run(executor)
        finally:
            deciding.shut_down(executor)
            self._loops.remove(deciding)
            heartbeats.end(loop_beat)
            await executor.close(_LAST_ACTIONS_SECONDS)
            heartbeats.end(executor_beat)


async def _together(*parts: Coroutine[Any, Any, None]) -> None:
    """All of them until one ends or we are cancelled; then the others are cancelled once and waited for."""
    tasks = [asyncio.create_task(part) for part in parts]
    try:
        await asyncio.wait(tasks, return_when=asyncio.FIRST_COMPLETED)
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
    for task in tasks:
        if not task.cancelled():
            task.result()
