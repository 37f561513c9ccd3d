"""The cluster at one instant of a story, as all informers together tell it, and the steps from one to the next.

Resource versions count the writes of the whole cluster, so the changes of all kinds have one order: the server's own.
"""

from dataclasses import dataclass, field
from typing import Any, Final

from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap, Lease
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, LEASES, NODES, PODS, VOLUME_ATTACHMENTS, Kind
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_memory import MEMORIES, SHARD_LABEL, MemoryObject
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool, NodePoolSpec
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, WORKLOADS
from growth.api.storage import VolumeAttachment
from growth.cloud.kwok.faults import FaultType as Fault
from growth.cloud.kwok.faults import find
from growth.cloud.kwok.machine_record import MachineRecord, record_from
from growth.kube.lease_record import MISSING_HOLDER
from tests.trust.memoirs import Memoir
from tests.trust.power import Powers
from tests.trust.queueing import Queueing

FOLLOWED: Final[tuple[Kind[Any], ...]] = (
    PODS,
    NODES,
    NODE_POOLS,
    NODE_REQUESTS,
    NODE_REMOVAL_REQUESTS,
    NODE_MOVES,
    VOLUME_ATTACHMENTS,
    CONFIG_MAPS,
    MEMORIES,
    LEASES,
    QUEUED_JOBS,
    WORKLOADS,
    CLUSTER_QUEUES,
    COHORTS,
)
_OF_THE_QUEUE: Final = (QUEUED_JOBS, WORKLOADS, CLUSTER_QUEUES, COHORTS)


@dataclass(frozen=True)
class Step:
    """One write to one object. ``before`` and ``now`` are of the kind's own type; ``now`` of a deletion is the last."""

    version: int
    kind: Kind[Any]
    happened: ChangeType
    before: Any
    now: Any
    at: float = 0.0
    """When it was heard of, in seconds of the loop's own clock."""

    @property
    def meta(self) -> ObjectMeta:
        """Whose."""
        return self.now.metadata

    @property
    def is_new(self) -> bool:
        """Whether it made the object."""
        return self.happened is ChangeType.ADDED

    @property
    def is_end(self) -> bool:
        """Whether the object is gone with it."""
        return self.happened is ChangeType.DELETED


@dataclass(frozen=True)
class Exit:
    """A node was taken out of service."""

    at: float
    is_growths: bool


@dataclass
class Picture:
    """Everything that is there. Pods by uid, all others by name."""

    pods: dict[str, Pod] = field(default_factory=dict[str, Pod])
    nodes: dict[str, Node] = field(default_factory=dict[str, Node])
    pools: dict[str, NodePool] = field(default_factory=dict[str, NodePool])
    requests: dict[str, NodeRequest] = field(default_factory=dict[str, NodeRequest])
    removals: dict[str, NodeRemovalRequest] = field(default_factory=dict[str, NodeRemovalRequest])
    moves: dict[str, NodeMove] = field(default_factory=dict[str, NodeMove])
    attachments: dict[str, VolumeAttachment] = field(default_factory=dict[str, VolumeAttachment])
    machines: dict[str, MachineRecord] = field(default_factory=dict[str, MachineRecord])
    leases: dict[str, Lease] = field(default_factory=dict[str, Lease])

    memories: dict[str, MemoryObject] = field(default_factory=dict[str, MemoryObject])

    specs: dict[str, list[tuple[int, NodePoolSpec]]] = field(default_factory=dict[str, list[tuple[int, NodePoolSpec]]])
    """What each pool has said so far, and since which version."""

    asked_at: dict[str, int] = field(default_factory=dict[str, int])
    """The version with which the newest request of a name came, whether it is still there or not."""

    came_at: dict[str, float] = field(default_factory=dict[str, float])
    """When that was, in seconds of the loop's own clock."""

    leader: str = ""
    """Who took the lease last and did not release it. A lease that is deleted leaves its holder some time to notice."""

    broken_for: float = 0.0
    """For how many seconds too many nodes were unready before this step (``outage``); 0 until all have heard of it."""

    mended_at: float | None = None
    """When the last such time was over."""

    attached_at: dict[str, float] = field(default_factory=dict[str, float])
    """When an attachment came, by its name."""

    powers: Powers = field(default_factory=Powers)
    """When which machine ran."""

    exits: dict[str, Exit] = field(default_factory=dict[str, Exit])
    """Who took which node out of service last, by uid (``out_of_service``)."""

    memoirs: dict[str, Memoir] = field(default_factory=dict[str, Memoir])
    """All lives of each name that a node ever had."""

    on: dict[str, set[str]] = field(default_factory=dict[str, set[str]])
    """Uids of the pods on a node."""

    queueing: Queueing = field(default_factory=Queueing)
    """Jobs that wait or run, and what they were given."""

    def take(self, step: Step) -> None:
        """Go on by one step."""
        if step.kind in _OF_THE_QUEUE:
            self.queueing.take(step)
            return
        name, things = self._place(step)
        if step.is_end:
            things.pop(name, None)
        else:
            things[name] = step.now if step.kind is not CONFIG_MAPS else record_from(step.now)
        if step.kind is PODS:
            self._move_pod(step)
        if step.kind is CONFIG_MAPS:
            self.powers.take(record_from(step.now), step.at, is_new=step.is_new, is_end=step.is_end)
        if step.kind in (NODES, MEMORIES):
            self._remember(step)
        if step.kind is LEASES and _is_taken(step):
            self.leader = step.now.spec.holder_identity
        if step.kind is VOLUME_ATTACHMENTS and step.is_new:
            self.attached_at[name] = step.at
        if step.kind is NODE_REQUESTS and step.is_new:
            self.asked_at[name], self.came_at[name] = step.version, step.at
        if step.kind is NODE_POOLS and not step.is_end:
            said = self.specs.setdefault(name, [])
            if not said or said[-1][1] != step.now.spec:
                said.append((step.version, step.now.spec))

    def _place(self, step: Step) -> tuple[str, dict[str, Any]]:
        things: dict[Kind[Any], dict[str, Any]] = {
            NODES: self.nodes,
            NODE_POOLS: self.pools,
            NODE_REQUESTS: self.requests,
            NODE_REMOVAL_REQUESTS: self.removals,
            NODE_MOVES: self.moves,
            VOLUME_ATTACHMENTS: self.attachments,
            MEMORIES: self.memories,
            LEASES: self.leases,
        }
        if step.kind is PODS:
            return step.meta.uid, self.pods
        if step.kind is CONFIG_MAPS:
            return record_from(step.now).name, self.machines
        return step.meta.name, things[step.kind]

    def _remember(self, step: Step) -> None:
        memoir = self.memoirs.setdefault(step.meta.name, Memoir())
        if step.kind is NODES:
            memoir.note_node(step.meta, is_end=step.is_end)
        else:
            memoir.note_memory(None if step.is_end else step.now)

    def _move_pod(self, step: Step) -> None:
        pod: Pod = step.now
        if pod.node_name:
            there = self.on.setdefault(pod.node_name, set())
            there.discard(step.meta.uid) if step.is_end else there.add(step.meta.uid)

    def pods_on(self, node: str) -> list[Pod]:
        """Everybody who is bound to a node."""
        return [self.pods[uid] for uid in sorted(self.on.get(node, ()))]

    def work_on(self, node: str) -> list[Pod]:
        """Those among them because of whom the node is needed."""
        return [pod for pod in self.pods_on(node) if is_work(pod)]

    def machine_of(self, node: Node) -> MachineRecord | None:
        """The machine under a node, if the provider has it: the very one, not another of the name.

        One that vanished is not listed any more, whether or not the played cloud has forgotten it already.
        """
        machine = self.machines.get(node.metadata.name)
        if machine is not None and has_vanished(machine):
            return None
        return machine if machine is not None and machine.provider_id == node.spec.provider_id else None

    def specs_since(self, pool: str, version: int) -> list[NodePoolSpec]:
        """What a pool said at any time from this version until now."""
        said = self.specs.get(pool, [])
        return [
            spec for number, (_, spec) in enumerate(said) if number + 1 == len(said) or said[number + 1][0] > version
        ]


def _is_taken(step: Step) -> bool:
    """Whether somebody leads from this step on; shards of memory have Leases, too, and nobody leads by them."""
    lease: Lease = step.now
    return not step.is_end and SHARD_LABEL not in step.meta.labels and lease.spec.holder_identity != MISSING_HOLDER


def step_of(kind: Kind[Any], change: Change[Any], at: float) -> Step:
    """What an informer tells, as a step."""
    return Step(change.now.metadata.resource_version, kind, change.happened, change.before, change.now, at)


def is_work(pod: Pod) -> bool:
    """The checker's own words for what the product calls work, so that a mistake there is none here."""
    owner = pod.metadata.controller
    is_everywhere = owner is not None and owner.kind in ("DaemonSet", "Node")
    is_static = "kubernetes.io/config.mirror" in pod.metadata.annotations
    return not (is_everywhere or is_static or pod.status.phase in ("Succeeded", "Failed"))


def is_live(request: NodeRequest) -> bool:
    """Whether a machine is still expected of it."""
    return request.status.phase in ("Pending", "Provisioning")


def is_machine(config_map: ConfigMap) -> bool:
    """Whether this is a machine that can be read."""
    return "request" in config_map.data


def has_vanished(machine: MachineRecord) -> bool:
    """Whether its provider does not list it any more, or soon will not."""
    return find(machine.behaviour.faults, Fault.VANISHES) is not None
