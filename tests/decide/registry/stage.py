"""A small cluster for the registry: nodes in any shape, machines, requests, removals, and a World that hears of them.

Everything is called ``default-1``, is ``small`` in ``fsn1`` and belongs to the pool ``default`` unless a test says
otherwise. The clock stands at ``NOW``, the provider answered right now, and nodes are a day old and were started once.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import Action, Hold, Outcome, OutcomeKey
from growth.api.annotations import STARTED_AT
from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS, STATUS, ClusterStatus
from growth.api.kinds import CONFIG_MAPS, NODES, PODS, Kind
from growth.api.machine import Machine, Power
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec, NodeRemovalRequestStatus
from growth.api.node_request import NodeRequest, NodeRequestSpec, NodeRequestStatus
from growth.api.offering import HOSTNAME, INSTANCE_TYPE, OFFERING, POOL, ZONE
from growth.api.phases import RemovalPhase, RequestPhase
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.api.status import StatusCondition, StatusEvent
from growth.api.taints import LEAVES, SCALE_DOWN_AT, closed
from growth.api.timestamp import format_time
from growth.api.tolerations import NO_SCHEDULE, Taint
from growth.decide.capacity.provider_failures import MET
from growth.decide.contract import AnyCapability, Decision
from growth.decide.facts.cluster_state import ClusterState, Unit
from growth.decide.registry.step import step
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from tests.decide import marketplace as market
from tests.decide.passes import Given, deciding

NOW, SECOND, MINUTE, HOUR = market.NOW, market.SECOND, market.MINUTE, market.HOUR
NAME, ANOTHER = "default-1", "default-2"
SMALL, LARGE = market.an_offering(), market.an_offering("large", price=3.0, resources={"cpu": "8", "pods": "110"})
SETTINGS: Final = Settings()
MACHINE_WITHIN, READY_WITHIN = SETTINGS.provision.machine_within, SETTINGS.provision.ready_within
UNREADY_AFTER: Final = timedelta(minutes=20)
BORN: Final = NOW - 24 * HOUR
# As the node lifecycle controller sets it.
UNREACHABLE: Final = Taint("node.kubernetes.io/unreachable", "", NO_SCHEDULE)
a_pool = market.a_pool


def a_machine(
    name: str = NAME,
    *,
    offering: str = SMALL.id,
    pool: str = "default",
    provider_id: str | None = None,
    created_at: datetime = BORN,
    power: Power = Power.ON,
) -> Machine:
    own = f"kwok://{name}" if provider_id is None else provider_id
    return Machine(f"{own}/1", own, name, offering, pool, created_at, power, NOW)


def a_cloud(
    *machines: Machine | str, read_at: datetime | None = NOW, problem: str = "", provider: str = "kwok"
) -> ProviderState:
    """The provider's last word: these machines, by name if they are nothing special."""
    listed = [a_machine(one) if isinstance(one, str) else one for one in machines]
    return market.a_cloud(SMALL, LARGE, machines=listed, read_at=read_at, problem=problem, provider=provider)


def a_node(
    name: str = NAME,
    *,
    ready: bool = True,
    since: datetime | None = None,
    born: datetime = BORN,
    is_closed: bool = False,
    started: bool | None = None,
    pool: str = "default",
    offering: str = SMALL.id,
    provider_id: str | None = None,
    goes_at: datetime | None = None,
) -> Node:
    """A node; ``since`` is the transition of its Ready condition. One that is closed was not started, unless told."""
    launched = {OFFERING: offering, INSTANCE_TYPE: offering.split("-")[1], ZONE: "fsn1"} if offering else {}
    marks = {POOL: pool, **launched} if pool else {}
    was_started = bool(pool) and not is_closed if started is None else started
    annotations = {STARTED_AT: format_time(born)} if was_started else {}
    if goes_at is not None:
        annotations[SCALE_DOWN_AT] = format_time(goes_at)
    taints = (
        *((closed(name),) if is_closed else ()),
        *((LEAVES,) if goes_at is not None else ()),
        *(() if ready else (UNREACHABLE,)),
    )
    said = Condition("Ready", "True" if ready else "Unknown", last_transition_time=since or born)
    own = f"kwok://{name}" if pool else f"elsewhere://{name}"
    return Node(
        ObjectMeta(
            name=name,
            uid=f"node-{name}",
            resource_version=3,
            labels={HOSTNAME: name, **marks},
            annotations=annotations,
            creation_timestamp=born,
        ),
        NodeSpec(provider_id=own if provider_id is None else provider_id, taints=taints),
        NodeStatus(capacity=market.PROMISED, allocatable=market.PROMISED, conditions=(said,)),
    )


def a_foreign_node(name: str = "other-1", **fields: Any) -> Node:  # noqa: ANN401
    """A node of somebody else's."""
    return a_node(name, pool="", **fields)


def a_request(
    name: str = NAME,
    phase: RequestPhase = "Provisioning",
    *,
    since: datetime | None = NOW - MINUTE,
    asked_at: datetime | None = None,
    offering: str = SMALL.id,
    pool: str = "default",
    reason: str = "",
    provider_id: str | None = None,
    planned_for: Iterable[Pod] = (),
) -> NodeRequest:
    """A request that is in its phase for a minute; ``reason`` says why it could not be met."""
    made = asked_at or (since or NOW) - SECOND
    met = (StatusCondition(MET, "False", reason, f"it was {reason}", since),) if reason else ()
    own = f"kwok://{name}" if phase in ("Provisioning", "Ready", "Deprovisioning") else ""
    uids = ",".join(pod.metadata.uid for pod in planned_for)
    return NodeRequest(
        ObjectMeta(
            name=name,
            uid=f"request-{name}",
            resource_version=7,
            creation_timestamp=made,
            annotations={"growth.dev/planned-for": uids} if uids else {},
        ),
        NodeRequestSpec(pool, offering),
        NodeRequestStatus(
            phase=phase, phase_since=since, provider_id=own if provider_id is None else provider_id, conditions=met
        ),
    )


def a_removal(
    name: str = NAME,
    phase: RemovalPhase = "Pending",
    *,
    at: datetime = NOW - MINUTE,
    reason: str = "",
    provider_id: str | None = None,
) -> NodeRemovalRequest:
    """A removal that was asked for at this instant; ``reason`` is what its provider said last."""
    meta = ObjectMeta(name=name, uid=f"removal-{name}", resource_version=7, creation_timestamp=at)
    own = f"kwok://{name}" if provider_id is None else provider_id
    spec = NodeRemovalRequestSpec("default", name, own, "nobody needed it")
    events = (StatusEvent(at, "machineDeletionFailed", reason),) if reason else ()
    return NodeRemovalRequest(meta, spec, NodeRemovalRequestStatus(phase, events=events))


def a_status_map(status: ClusterStatus | str, *, version: int = 9) -> ConfigMap:
    """``growth-status`` as it stands in the cluster."""
    text = status if isinstance(status, str) else msgspec.json.encode(status).decode()
    meta = ObjectMeta(
        name=GROWTH_STATUS, namespace=SETTINGS.namespace, uid="status", resource_version=version, creation_timestamp=NOW
    )
    return ConfigMap(meta, data={STATUS: text})


Thing = ProviderState | Node | Pod | NodePool | NodeRequest | NodeRemovalRequest | ConfigMap
_KINDS: Final[Mapping[type[Any], Kind[Any]]] = {
    Node: NODES,
    Pod: PODS,
    NodePool: NODE_POOLS,
    NodeRequest: NODE_REQUESTS,
    NodeRemovalRequest: NODE_REMOVAL_REQUESTS,
    ConfigMap: CONFIG_MAPS,
}


class Watch:
    """A World, a clock that tests turn, and the registry, stepped as the loop steps it."""

    def __init__(self, *things: Thing, settings: Settings = SETTINGS, now: datetime = NOW) -> None:
        self.world, self.now, self.settings = ClusterCache(), now, settings
        self.steady_since: datetime | None = None
        self.cluster: ClusterState | None = None
        self._listeners = self.world.listeners()
        self._pods: dict[str, Pod] = {}
        self.add(*things)

    def add(self, *things: Thing) -> None:
        """These come, or take the place of what had their names."""
        for thing in things:
            if isinstance(thing, ProviderState):
                self.world.hear_of_cloud(thing)
            else:
                before = self._pods.get(thing.metadata.uid) if isinstance(thing, Pod) else None
                happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
                self._listeners[_KINDS[type(thing)]]([Change(happened, thing, before)])
                if isinstance(thing, Pod):
                    self._pods[thing.metadata.uid] = thing

    def remove(self, *things: Node | NodePool | NodeRequest | NodeRemovalRequest) -> None:
        """These are gone."""
        for thing in things:
            self._listeners[_KINDS[type(thing)]]([Change(ChangeType.DELETED, thing, thing)])

    def snapshot(self) -> Snapshot:
        return self.world.snapshot(self.now)

    def look(self, after: timedelta = timedelta(0)) -> ClusterState:
        """One step, so much later."""
        self.now += after
        self.cluster = step(self.cluster, self.snapshot(), self.settings, self.steady_since)
        return self.cluster

    def restart(self) -> ClusterState:
        """What a process knows that begins now."""
        self.cluster = None
        return self.look()

    def decide(
        self,
        capability: AnyCapability,
        memory: object = None,
        outcomes: Mapping[OutcomeKey, Outcome] | None = None,
    ) -> Decision[Any]:
        """What a decider says that reads the registry as it is now."""
        cluster = self.look()
        state = Given(outcomes or {}, carry=memory, steady_since=self.steady_since, cluster=cluster)
        return deciding(capability)(self.snapshot(), state, self.settings)


def seen(*things: Thing, now: datetime = NOW, settings: Settings = SETTINGS) -> ClusterState:
    """The registry of a process that was just started and sees this."""
    return Watch(*things, settings=settings, now=now).look()


def unit_of(*things: Thing, name: str = NAME, now: datetime = NOW) -> Unit:
    """The one unit of this name, in a cluster in which something works."""
    (unit,) = seen(*things, a_foreign_node("bystander"), now=now).units[name]
    return unit


def many(count: int, *, unready: int = 0, since: datetime = NOW - MINUTE) -> list[Node]:
    """So many nodes of ours, the last of them unready."""
    return [
        a_node(f"default-{number}", ready=number <= count - unready, since=since if number > count - unready else None)
        for number in range(1, count + 1)
    ]


def said(decision: Decision[Any], *kinds: type[Action | Hold]) -> list[Any]:
    """All that was said of these kinds."""
    return [one for one in decision.said if isinstance(one, kinds)]
