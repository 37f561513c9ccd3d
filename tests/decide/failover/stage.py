"""A small cluster whose machines can die: nodes that renew their Leases, a provider that answers, hands that act.

Time is virtual and jumps from one event to the next. All nodes are of the pool ``default``, each on a machine of its
own at the provider ``kwok``. What Kubernetes does around it is as in the facts: a node turns unready 50 s after its
last renewal, and a volume comes off a tainted node when no pod holds it any more.
"""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime, timedelta
from heapq import heappop, heappush
from typing import Any

import msgspec

from growth.api.actions import Action, Hold, Outcome, OutcomeKey, RecordEvent
from growth.api.annotations import STARTED_AT
from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap, Lease, LeaseSpec
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.growth_status import GROWTH_STATUS, Timeline, timelines_in
from growth.api.kinds import CONFIG_MAPS, LEASES, NODES, PODS, VOLUME_ATTACHMENTS, Kind
from growth.api.machine import Machine, Power, PowerReading
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus, NodeSystemInfo
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec
from growth.api.offering import OFFERING, POOL
from growth.api.out_of_service import SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.settings.model import FailoverSettings, Settings
from growth.api.storage import AttachmentSource, VolumeAttachment, VolumeAttachmentSpec
from growth.api.tolerations import tolerates
from growth.decide.contract import Decision
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.failover.carry import FailoverCarry
from growth.decide.failover.decider import CAPABILITY
from growth.decide.registry.step import step
from growth.observe.cache import ClusterCache
from tests.decide.failover.hands import Hands
from tests.decide.marketplace import an_offering
from tests.decide.passes import Given, deciding
from tests.decide.stages import a_pod as read_pod

decide = deciding(CAPABILITY)

START = datetime(2026, 3, 1, 9, tzinfo=UTC)
SECOND, MINUTE = timedelta(seconds=1), timedelta(minutes=1)
ZONE = "topology.kubernetes.io/zone"
STATEFUL = {"kind": "StatefulSet", "name": "db", "uid": "db", "controller": True}
DAEMON = {"kind": "DaemonSet", "name": "agent", "uid": "agent", "controller": True}
EVERYTHING = {"operator": "Exists"}
_RENEWED_EVERY, _UNREADY_AFTER, _LISTED_EVERY = 10.0, 50.0, 30.0
# The pass in which something is begun, the one that hears how it ended, and some more: nobody decides on and on.
_PASSES_AT_ONCE = 60


def terms(mode: str = "act", **fields: Any) -> Settings:  # noqa: ANN401
    """Settings in which Growth acts."""
    return Settings(failover=FailoverSettings(mode=mode, **fields))


def machine_id(name: str) -> str:
    return f"{name}/1"


class Stage:
    """The cluster, the provider, the clock, and one process that decides."""

    def __init__(self, *names: str, settings: Settings | None = None, zones: Sequence[str] = ("fsn1",)) -> None:
        self.settings = settings or terms()
        self.elapsed, self.offset = 0.0, timedelta(0)
        self._events: list[tuple[float, int, Callable[[], None]]] = []
        self._count = 0
        self.nodes: dict[str, Node] = {}
        self.pods: dict[str, Pod] = {}
        self.attachments: dict[str, VolumeAttachment] = {}
        self.status = ConfigMap(ObjectMeta(GROWTH_STATUS, self.settings.namespace, "status", 1))
        self.removals: dict[str, NodeRemovalRequest] = {}
        self.powers: dict[str, Power] = {}
        self.changing: set[str] = set()
        self.unlisted: set[str] = set()
        """Machines that were not made for this cluster."""
        self.provider_fails = self.shows_nothing = False
        self.beating: set[str] = set()
        self.renewed: dict[str, float] = {}
        self.observed: dict[str, float] = {}
        """When this process last heard of each node's renewal; of one that it only found, when it found it."""
        self.renewals: dict[str, float] = {}
        """The same, without those that it only found."""
        self.delivered: list[tuple[float, PowerReading]] = []
        """What this process was told of machines, and when that was read."""
        self.kept: set[str] = set()
        """Attachments that their driver does not let go."""
        self.lag = 0.0
        self.steady_since: datetime | None = None
        self.slipped_at: datetime | None = None
        self.said: tuple[Action | Hold, ...] = ()
        self.restart()
        for number, name in enumerate(names):
            self.add(name, zone=zones[number % len(zones)])
        self.list_machines()
        self.wait(11)

    # The process

    def restart(self) -> None:
        """Another process: it has the objects, and remembers nothing."""
        self.world = ClusterCache(lambda: self.now)
        self.memory: object = None
        self.cluster: ClusterState | None = None
        self.outcomes: dict[OutcomeKey, Outcome] = {}
        self.hands = Hands(self)
        self.wake_at: datetime | None = None
        self.is_awake = True
        self.observed = dict.fromkeys(self.observed, self.elapsed)
        self.renewals, self.delivered = {}, []
        self.steady_since = self.slipped_at = None
        self._told: dict[str, Any] = {}
        listeners = self.world.listeners()
        things: list[tuple[Kind[Any], Any]] = [(NODES, one) for one in self.nodes.values()]
        things += [(PODS, one) for one in self.pods.values()]
        things += [(VOLUME_ATTACHMENTS, one) for one in self.attachments.values()]
        things += [(NODE_REMOVAL_REQUESTS, one) for one in self.removals.values()]
        things += [(LEASES, self._lease(name)) for name in self.renewed if name in self.nodes]
        for kind, thing in [*things, (CONFIG_MAPS, self.status)]:
            self._told[f"{kind.plural} {thing.metadata.uid}"] = thing
            listeners[kind]([Change(ChangeType.ADDED, thing, None)])
        self._hear_of_machines()

    def look(self) -> Decision[Any]:
        """One pass; nothing of it is carried out."""
        snapshot = self.world.snapshot(self.now)
        self.cluster = step(self.cluster, snapshot, self.settings, self.steady_since)
        state = Given(
            self.outcomes,
            carry=self.memory,
            steady_since=self.steady_since,
            slipped_at=self.slipped_at,
            cluster=self.cluster,
        )
        decision = decide(snapshot, state, self.settings)
        self.memory, self.wake_at, self.said = decision.carry, decision.requeue_at, decision.said
        return decision

    def act(self) -> None:
        """Passes, and what comes of them, until nothing new is heard in this instant."""
        for _ in range(_PASSES_AT_ONCE):
            self.is_awake = False
            self.hands.want([one for one in self.look().said if not isinstance(one, Hold)])
            self._run_events()
            if not self.is_awake:
                return
        raise AssertionError(f"it decides on and on: {self.said}")

    def wait(self, seconds: float) -> None:
        """Let time pass."""
        end = self.elapsed + seconds
        while True:
            self._run_events()
            if self.is_awake or (self.wake_at is not None and self.wake_at <= self.now):
                self.act()
            soonest = [end, *(event[0] for event in self._events[:1])]
            if self.wake_at is not None and self.wake_at > self.now:
                soonest.append(self.elapsed + (self.wake_at - self.now).total_seconds())
            if self.elapsed >= end:
                return
            self.elapsed = max(self.elapsed, min(soonest))

    @property
    def now(self) -> datetime:
        return START + timedelta(seconds=self.elapsed) + self.offset

    def jump(self, seconds: float) -> None:
        """The wall clock is set; only a large jump is one, and a moment is not seen at all."""
        before = self.now
        self.offset += timedelta(seconds=seconds)
        if abs(seconds) > 0.5:
            self.slipped_at = max(self.now, before)
        if abs(seconds) > 5:
            self.steady_since = self.slipped_at = self.now
        self.is_awake = True

    def at(self, seconds: float, event: Callable[[], None]) -> None:
        """Something happens so much later."""
        self._count += 1
        heappush(self._events, (self.elapsed + seconds, self._count, event))

    def _run_events(self) -> None:
        while self._events and self._events[0][0] <= self.elapsed:
            heappop(self._events)[2]()

    # What was said

    def told(self, *, events: bool = False) -> list[str]:
        """What the last pass said, in short."""
        return [_told(one) for one in self.said if events or not isinstance(one, RecordEvent)]

    def holds(self) -> dict[str, str]:
        """What is not done now: by node, the last reason."""
        return {one.subject.name: one.reason for one in self.said if isinstance(one, Hold)}

    def why(self, name: str, reason: str) -> str:
        """Why that is not done."""
        found = [
            one.why for one in self.said if isinstance(one, Hold) and (one.subject.name, one.reason) == (name, reason)
        ]
        assert found, f"nothing is held for {reason} on {name}: {self.told()}"
        return found[0]

    def story(self, name: str) -> list[str]:
        """The steps of a node's story, as they stand in the object."""
        return [entry.what for entry in self.timelines().get(name, Timeline(name, "")).entries]

    def timelines(self) -> dict[str, Timeline]:
        return {one.node: one for one in timelines_in(self.status)}

    def remembered(self) -> FailoverCarry:
        assert isinstance(self.memory, FailoverCarry)
        return self.memory

    @property
    def tainted(self) -> list[str]:
        return [name for name, node in self.nodes.items() if out_of_service_taint(node) is not None]

    # Machines and nodes

    def add(
        self, name: str, *, zone: str = "fsn1", pool: str = "default", labels: dict[str, str] | None = None
    ) -> None:
        """A node that lives, on its machine; without a pool it is foreign."""
        ours = {POOL: pool, OFFERING: "kwok-small-fsn1"} if pool else {}
        meta = ObjectMeta(
            name=name,
            uid=f"node-{name}-{self._count}",
            resource_version=1,
            creation_timestamp=self.now - 60 * MINUTE,
            labels={**ours, ZONE: zone, **(labels or {})},
            annotations={STARTED_AT: "2026-03-01T08:00:00Z"} if pool else {},
        )
        spec = NodeSpec(provider_id=f"kwok://growth/{machine_id(name)}")
        status = NodeStatus(conditions=(Condition("Ready", "True"),), node_info=NodeSystemInfo(f"boot-{name}"))
        self.put_node(Node(meta, spec, status))
        self.powers[machine_id(name)] = Power.ON
        if not pool:
            self.unlisted.add(machine_id(name))
        self.beating.add(name)
        self._beat(name, meta.uid)

    def put_node(self, node: Node) -> None:
        """The node as it is now."""
        meta = msgspec.structs.replace(node.metadata, resource_version=node.metadata.resource_version + 1)
        was_tainted = meta.name in self.tainted
        self.nodes[meta.name] = msgspec.structs.replace(node, metadata=meta)
        self.tell(NODES, self.nodes[meta.name])
        if meta.name in self.tainted and not was_tainted:
            self.at(0.1, lambda: self._evict(meta.name))

    def change(self, name: str, *, annotations: dict[str, str] | None = None, **spec: Any) -> None:  # noqa: ANN401
        """A person changes a node: annotations are added, fields of the spec replaced."""
        node = self.nodes[name]
        meta = msgspec.structs.replace(node.metadata, annotations={**node.metadata.annotations, **(annotations or {})})
        self.put_node(Node(meta, msgspec.structs.replace(node.spec, **spec), node.status))

    def set_ready(self, name: str, status: str, *, boot_id: str = "") -> None:
        node = self.nodes[name]
        info = NodeSystemInfo(boot_id or node.status.node_info.boot_id)
        conditions = (Condition("Ready", status, last_transition_time=self.now),)
        self.put_node(msgspec.structs.replace(node, status=NodeStatus(conditions=conditions, node_info=info)))

    def cut(self, *names: str, power: Power = Power.OFF) -> None:
        """These machines die, in the same instant."""
        for name in names:
            self.silence(name)
            if power is Power.GONE:
                self.powers.pop(machine_id(name), None)
            else:
                self.powers[machine_id(name)] = power

    def silence(self, *names: str) -> None:
        """Nobody hears of these nodes any more; their machines run on."""
        self.beating.difference_update(names)

    def revive(self, name: str, *, boots: bool = True) -> None:
        """The machine runs, and its node is heard of."""
        self.powers[machine_id(name)] = Power.ON
        boot_id = f"boot-{name}-{self.elapsed}" if boots else ""
        self.beating.add(name)
        self.set_ready(name, "True", boot_id=boot_id)
        self._beat(name, self.nodes[name].metadata.uid)

    def remove_node(self, name: str) -> None:
        node = self.nodes.pop(name)
        self.beating.discard(name)
        self.tell(NODES, node, happened=ChangeType.DELETED)

    def remove(self, name: str) -> None:
        """Its removal is asked for: shrink sees to it."""
        spec = NodeRemovalRequestSpec(pool="default", node_name=name)
        self.removals[name] = NodeRemovalRequest(ObjectMeta(name=name, uid=f"removal-{name}"), spec)
        self.tell(NODE_REMOVAL_REQUESTS, self.removals[name])

    def _beat(self, name: str, uid: str) -> None:
        node = self.nodes.get(name)
        if node is None or node.metadata.uid != uid or name not in self.beating:
            return
        if self.renewed.get(name, -1.0) == self.elapsed:
            return
        self.renewed[name] = self.elapsed
        self.tell(LEASES, self._lease(name), is_remarkable=False)
        self.at(self.lag, lambda world=self.world: self._note_renewal(name, world))
        self.at(_RENEWED_EVERY, lambda: self._beat(name, uid))
        self.at(_UNREADY_AFTER, lambda: self._give_up(name, uid))

    def _note_renewal(self, name: str, world: ClusterCache) -> None:
        if self.world is world:
            self.renewals[name] = self.observed[name] = self.elapsed

    def _give_up(self, name: str, uid: str) -> None:
        node = self.nodes.get(name)
        if node is None or node.metadata.uid != uid or self.elapsed - self.renewed[name] < _UNREADY_AFTER:
            return
        if node.is_ready:
            self.set_ready(name, "Unknown")

    def _lease(self, name: str) -> Lease:
        renewed = START + timedelta(seconds=self.renewed[name])
        return Lease(ObjectMeta(name, "kube-node-lease", f"lease-{name}"), LeaseSpec(name, 40, renew_time=renewed))

    # The provider

    def reading(self, wanted: str) -> PowerReading:
        return PowerReading(wanted, self.powers.get(wanted, Power.GONE), self.now, wanted in self.changing)

    def machines(self) -> tuple[Machine, ...]:
        """All that the provider shows, each with its power as of now."""
        shown = [] if self.shows_nothing else sorted(set(self.powers) - self.unlisted)
        return tuple(
            Machine(
                one,
                f"kwok://growth/{one}",
                one.partition("/")[0],
                "kwok-small-fsn1",
                "default",
                START - 60 * MINUTE,
                reading.power,
                reading.read_at,
                reading.is_changing,
            )
            for one in shown
            if (reading := self.reading(one))
        )

    def list_machines(self) -> None:
        """The provider is asked for all machines, as every half minute."""
        self._hear_of_machines()
        self.is_awake = True
        self.at(_LISTED_EVERY, self.list_machines)

    def _hear_of_machines(self) -> None:
        known = self.world.clouds.get("kwok")
        if self.provider_fails:
            problem = "there was no answer"
            self.world.hear_of_cloud(msgspec.structs.replace(known or ProviderState("kwok"), problem=problem))
        else:
            machines = self.machines()
            self.delivered += [(self.elapsed, machine.reading) for machine in machines]
            self.world.hear_of_cloud(ProviderState("kwok", (an_offering(),), machines, self.now))

    # Pods and volumes

    def pod(
        self,
        name: str,
        node: str,
        *,
        owner: dict[str, Any] | None = None,
        finalizers: Iterable[str] = (),
        **spec: Any,  # noqa: ANN401
    ) -> Pod:
        """A pod that runs there."""
        pod = read_pod(name, node=node, owner=owner, status={"phase": "Running"}, **spec)
        meta = msgspec.structs.replace(pod.metadata, finalizers=tuple(finalizers), uid=f"{name}-{self._count}")
        self.put_pod(msgspec.structs.replace(pod, metadata=meta))
        return self.pods[meta.uid]

    def database(self, name: str, node: str, **fields: Any) -> Pod:  # noqa: ANN401
        """A pod of a StatefulSet with a volume that is attached to its node."""
        volumes = [{"name": "data", "persistentVolumeClaim": {"claimName": f"data-{name}"}}]
        spec = VolumeAttachmentSpec("csi.example.org", node, AttachmentSource(persistent_volume_name=f"disk-{name}"))
        self.put_attachment(VolumeAttachment(ObjectMeta(f"csi-{name}-{node}", uid=f"csi-{name}-{node}"), spec))
        return self.pod(name, node, owner=STATEFUL, volumes=volumes, **fields)

    def put_pod(self, pod: Pod) -> None:
        self.pods[pod.metadata.uid] = pod
        self.tell(PODS, pod)

    def _evict(self, name: str) -> None:
        """The taint asks those to leave that do not tolerate it, which only a living node could see to."""
        for pod in [pod for pod in self.pods.values() if pod.node_name == name]:
            is_static = "kubernetes.io/config.mirror" in pod.metadata.annotations
            if is_static or any(tolerates(one, SHUTDOWN) for one in pod.spec.tolerations):
                continue
            if pod.metadata.deletion_timestamp is None:
                meta = msgspec.structs.replace(pod.metadata, deletion_timestamp=self.now)
                self.put_pod(msgspec.structs.replace(pod, metadata=meta))

    def end_pod(self, pod: Pod) -> None:
        """As after phase Failed and a deletion without grace: what a finalizer keeps stays as an object."""
        status = msgspec.structs.replace(pod.status, phase="Failed")
        meta = msgspec.structs.replace(pod.metadata, deletion_timestamp=self.now)
        ended = msgspec.structs.replace(pod, status=status, metadata=meta)
        self.put_pod(ended)
        if not meta.finalizers:
            del self.pods[meta.uid]
            self.tell(PODS, ended, happened=ChangeType.DELETED)
        self.at(1.0, lambda: self._detach(pod.node_name))

    def put_attachment(self, one: VolumeAttachment) -> None:
        self.attachments[one.metadata.name] = one
        self.tell(VOLUME_ATTACHMENTS, one)

    def _detach(self, node: str) -> None:
        """Volumes come off a tainted node when nobody holds them."""
        is_held = any(
            pod.node_name == node and not pod.is_finished and any(volume.is_claim for volume in pod.spec.volumes)
            for pod in self.pods.values()
        )
        if node not in self.tainted or is_held:
            return
        for one in [one for one in self.attachments.values() if one.spec.node_name == node]:
            self.drop_attachment(one.metadata.name)

    def drop_attachment(self, name: str) -> None:
        one = self.attachments[name]
        if name in self.kept:
            meta = msgspec.structs.replace(one.metadata, deletion_timestamp=self.now)
            self.put_attachment(msgspec.structs.replace(one, metadata=meta))
            return
        del self.attachments[name]
        self.tell(VOLUME_ATTACHMENTS, one, happened=ChangeType.DELETED)

    def put_status(self, status: ConfigMap) -> None:
        self.status = status
        self.tell(CONFIG_MAPS, status)

    def tell(
        self,
        kind: Kind[Any],
        thing: Any,  # noqa: ANN401
        *,
        happened: ChangeType | None = None,
        is_remarkable: bool = True,
    ) -> None:
        """The process hears of it, as late as its watch lags."""
        world = self.world

        def hear() -> None:
            if self.world is not world:
                return  # another process by now, which found it as it is
            key = f"{kind.plural} {thing.metadata.uid}"
            before = self._told.get(key)
            if happened is ChangeType.DELETED:
                self._told.pop(key, None)
            else:
                self._told[key] = thing
            what = happened or (ChangeType.ADDED if before is None else ChangeType.MODIFIED)
            world.listeners()[kind]([Change(what, thing, before)])
            self.is_awake = self.is_awake or is_remarkable

        if self.lag:
            self.at(self.lag, hear)
        else:
            hear()


def _told(one: Action | Hold) -> str:
    match one:
        case Hold():
            return f"hold {one.subject.name}: {one.reason}"
        case RecordEvent():
            return f"event {one.subject.kind} {one.subject.name}: {one.reason}"
        case _:
            return f"{type(one).__name__} {one.subject.name}"
