"""A town in which only the decider of growing is real: what it asks for happens here, on a clock that tests turn.

Catalogue: ``small`` (2 CPU, 1.0 an hour) and ``large`` (8 CPU, 3.0) in ``fsn1``. Pods are refused as soon as they come,
and wait until a test binds them: the town has no scheduler.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import (
    Action,
    CreateObject,
    EditObject,
    Hold,
    Outcome,
    OutcomeKey,
    PatchObject,
    RecordEvent,
    Result,
    key_of,
)
from growth.api.annotations import BackOff, back_off_of
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest, NodeRequestSpec, NodeRequestStatus
from growth.api.offering import Offering
from growth.api.phases import RequestPhase
from growth.api.pod import Pod
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.decide.capacity.demand_history import RecentDemand
from growth.decide.contract import Decision
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.facts.gangs import Gang, PendingGangs
from growth.decide.facts.virtual_pods import ReplacementPods, UpcomingJobPods
from growth.decide.registry.step import step
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.decider import CAPABILITY
from growth.decide.scale_up.plan import ScaleUpPlan
from growth.observe.cache import ClusterCache
from tests.decide import stages
from tests.decide.marketplace import NOW, a_cloud, a_pool, an_offering
from tests.decide.passes import Given, deciding, remembered

decide = deciding(CAPABILITY)

REFUSED: Final = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}
SMALL: Final = an_offering("small", resources={"cpu": "2", "memory": "4Gi", "pods": "110"})
LARGE: Final = an_offering("large", resources={"cpu": "8", "memory": "16Gi", "pods": "110"}, price=3.0)
SECOND: Final = timedelta(seconds=1)
MS: Final = timedelta(milliseconds=1)
# What a decider that runs in circles would never end.
_TOO_MANY: Final = 2000

Refusal = Callable[[CreateObject], str]


def a_pod(name: str, cpu: str = "1", **fields: Any) -> Pod:  # noqa: ANN401
    """A pod that a scheduler refused; its uid follows from its name. ``fields`` are those of ``stages.a_pod``."""
    stated: dict[str, Any] = {"status": REFUSED, **fields}
    return stages.a_pod(name, requests={"cpu": cpu}, **stated)


def a_crowd(count: int, cpu: str = "1", prefix: str = "web") -> list[Pod]:
    return [a_pod(f"{prefix}-{number}", cpu) for number in range(count)]


def for_pool(name: str) -> dict[str, Any]:
    """The node selector that asks for a pool."""
    return {"nodeSelector": {"growth.dev/pool": name}}


class Town:
    """A World, the decider with its memory and thoughts, and hands that do what it says."""

    def __init__(self, *things: Pod | Node | NodePool | ProviderState, settings: Settings | None = None) -> None:
        self.world, self.now, self.settings = ClusterCache(), NOW, settings or Settings()
        self.steady_since: datetime | None = None
        self.memory: object = None
        self.answer: object = None
        self.demand: RecentDemand | None = None
        self.thought: Callable[[], object] | None = None
        self.outcomes: dict[OutcomeKey, Outcome] = {}
        self.cluster: ClusterState | None = None
        """What the registry knows, stepped as the loop steps it."""
        self.passes: list[tuple[datetime, Decision[Any]]] = []
        self.plans: list[ScaleUpPlan] = []
        self.events: list[RecordEvent] = []
        self.taken_back: set[str] = set()
        """Nodes whose marks of scale-down were to be taken off."""
        self.dying: set[str] = set()
        """Nodes whose pods failover says will be made anew elsewhere."""
        self.announced: list[Pod] = []
        """Pods that the queue says will be made."""
        self.gangs: list[Gang] = []
        """Pods of which the queue says that they start together."""
        self.refuses: Refusal = lambda _: ""
        self.is_blind = False
        """Whether what is created or changed is not seen."""
        self._told: frozenset[RecordEvent] = frozenset()
        self._pods: dict[str, Pod] = {}
        known = {type(thing) for thing in things}
        if ProviderState not in known:
            self.add(a_cloud(SMALL, LARGE))
        if NodePool not in known:
            self.add(a_pool(types=("small", "large")))
        self.add(*things)

    # What happens

    def add(self, *things: Pod | Node | NodePool | NodeRequest | ProviderState) -> None:
        """These come, or take the place of what had their names."""
        for thing in things:
            match thing:
                case Pod():
                    self._hear_of_pod(thing)
                case Node():
                    self.world.hear_of_nodes([Change(ChangeType.ADDED, thing, None)])
                case NodePool():
                    self.world.tables[NODE_POOLS].hear([Change(ChangeType.ADDED, thing, None)])
                case NodeRequest():
                    self.world.tables[NODE_REQUESTS].hear([Change(ChangeType.ADDED, thing, None)])
                case ProviderState():
                    self.world.hear_of_cloud(thing)

    def remove(self, *things: Pod | Node | NodePool | NodeRequest) -> None:
        for thing in things:
            match thing:
                case Pod():
                    before = self._pods.pop(thing.metadata.uid)
                    self.world.hear_of_pods([Change(ChangeType.DELETED, before, before)])
                case Node():
                    self.world.hear_of_nodes([Change(ChangeType.DELETED, thing, thing)])
                case NodePool():
                    self.world.tables[NODE_POOLS].hear([Change(ChangeType.DELETED, thing, thing)])
                case NodeRequest():
                    self.world.tables[NODE_REQUESTS].hear([Change(ChangeType.DELETED, thing, thing)])

    def bind(self, pod: Pod, node: str) -> None:
        """The scheduler found a node for it."""
        known = self._pods[pod.metadata.uid]
        self._hear_of_pod(msgspec.structs.replace(known, node_name=node))

    def move(self, request: NodeRequest, phase: RequestPhase, reason: str = "OutOfStock") -> None:
        """A request comes into another phase; ``reason`` says why if it is one of failure."""
        met = [{"type": "Met", "status": "False", "reason": reason, "message": f"it was {reason}"}]
        stated = {"phase": phase, "conditions": met if phase in ("Unmet", "Deprovisioning") else []}
        status = msgspec.structs.replace(msgspec.convert(stated, NodeRequestStatus), phase_since=self.now)
        self.add(msgspec.structs.replace(request, status=status))

    def sell(self, *offerings: Offering) -> None:
        """From now on the provider sells these."""
        self.add(a_cloud(*offerings, read_at=self.now))

    def jump(self, by: timedelta) -> None:
        """The wall clock is set."""
        self.now += by
        self.steady_since = self.now

    def restart(self) -> None:
        """The process ends, and another one begins with what is written in the cluster."""
        self.memory = self.answer = self.thought = self.cluster = self.demand = None
        self.outcomes.clear()

    # What the decider does

    def look(self) -> Decision[Any]:
        """One pass, and what it says is done. A thought that it begins stays one until ``think``."""
        snapshot = self.world.snapshot(self.now)
        dying = [pod for name in self.dying for pod in self.world.pods_by_node.get(name, {}).values()]
        facts = (
            ReplacementPods.of(dying),
            UpcomingJobPods({pod.metadata.uid: pod for pod in self.announced}),
            PendingGangs(tuple(self.gangs)),
        )
        self.demand = remembered(self.demand, snapshot, self.settings)
        self.cluster = step(self.cluster, snapshot, self.settings, self.steady_since)
        state = Given(
            self.outcomes,
            self.answer,
            self.thought is not None,
            self.memory,
            self.steady_since,
            self.cluster,
            facts=(*facts, self.demand),
        )
        decision = decide(snapshot, state, self.settings)
        self.memory = decision.carry
        if decision.compute is not None:
            assert self.thought is None, "a thought is begun while another one is under way"
            self.thought, self.answer = decision.compute, None
        self.passes.append((self.now, decision))
        self._carry_out([said for said in decision.said if not isinstance(said, Hold)])
        return decision

    def think(self) -> None:
        """The thought that is under way comes to its end."""
        assert self.thought is not None, "nothing is being thought"
        self.answer, self.thought = self.thought(), None
        assert isinstance(self.answer, ScaleUpPlan)
        self.plans.append(self.answer)

    def lose_thought(self) -> None:
        """The thought that is under way fails."""
        self.thought = None

    def run(self, lasting: timedelta = SECOND) -> None:
        """Let time pass: the decider is asked after everything that happened and at every deadline that it named."""
        end = self.now + lasting
        # A scheduler that ignores free room for an hour is asked again every few seconds: that is no circle.
        for _ in range(_TOO_MANY + int(lasting.total_seconds())):
            seen = self._seen()
            decision = self.look()
            if self.thought is not None:
                self.think()
            elif self._seen() == seen:
                wake_at = self._wake_at(decision)
                if wake_at is None or wake_at > end:
                    self.now = end
                    return
                assert wake_at > self.now, "a deadline that is over would be asked about for ever"
                self.now = wake_at
        raise AssertionError(f"the decider ran in circles from {end - lasting} on: {self.passes[-3:]}")

    def _wake_at(self, decision: Decision[Any]) -> datetime | None:
        """The registry asks to be woken, too."""
        instants = (decision.requeue_at, self.cluster.next_change if self.cluster is not None else None)
        return min((one for one in instants if one is not None), default=None)

    # What can be seen

    @property
    def requests(self) -> list[NodeRequest]:
        """Those that there are, in the order of their names."""
        return [one for _, one in sorted(self.world.tables[NODE_REQUESTS].items())]

    @property
    def launched(self) -> list[tuple[str, tuple[str, ...]]]:
        """What is asked for, and for which pods: by name, sorted."""
        return sorted((one.spec.target_offering, self.names(one.planned_for)) for one in self.requests)

    @property
    def told(self) -> list[tuple[str, str]]:
        """Of whom and with which reason events tell, in the order in which they were first told."""
        return list(dict.fromkeys((event.subject.name, event.reason) for event in self.events))

    def names(self, uids: Iterable[str]) -> tuple[str, ...]:
        known = {uid: pod.metadata.name for uid, pod in self._pods.items()}
        return tuple(sorted(known.get(uid, "gone") for uid in uids))

    def pod(self, pod: Pod) -> Pod:
        """As it is now."""
        return self._pods[pod.metadata.uid]

    def record(self, pod: Pod) -> BackOff | None:
        """What is written on a pod about failures."""
        return back_off_of(self.pod(pod))

    @property
    def remembered(self) -> ScaleUpCarry:
        assert isinstance(self.memory, ScaleUpCarry)
        return self.memory

    # Hands

    def _carry_out(self, actions: list[Action]) -> None:
        events = frozenset(action for action in actions if isinstance(action, RecordEvent))
        self.events += [action for action in actions if isinstance(action, RecordEvent) and action not in self._told]
        self._told = events
        for action in actions:
            match action:
                case CreateObject():
                    self._create(action)
                case PatchObject():
                    self._patch(action)
                case EditObject():
                    self.taken_back.add(action.subject.name)
                case _:
                    assert isinstance(action, RecordEvent), f"growing never says {action}"

    def _create(self, action: CreateObject) -> None:
        assert action.subject.kind == NODE_REQUESTS.name
        last = self.outcomes.get(key_of(action))
        if last is not None and abs(self.now - last.at) < SECOND:
            return  # the executor lets a lane rest
        refusal = self.refuses(action)
        result = Result.REFUSED if refusal else Result.DONE
        outcome = Outcome(action=action, result=result, at=self.now, error="Forbidden" if refusal else "",
                          message=refusal)  # fmt: skip
        self.outcomes[key_of(action)] = outcome
        if refusal or self.is_blind:
            return
        name, body = action.subject.name, action.body
        annotations: dict[str, str] = body["metadata"].get("annotations", {})
        meta = ObjectMeta(name=name, uid=f"request-{name}", creation_timestamp=self.now, annotations=annotations)
        self.add(NodeRequest(meta, msgspec.convert(body["spec"], NodeRequestSpec)))

    def _patch(self, action: PatchObject) -> None:
        if self.is_blind:
            return
        changed: Mapping[str, Mapping[str, str | None]] = action.body["metadata"]
        if action.subject.kind == PODS.name:
            pod = self._pods.get(action.subject.uid)
            if pod is not None:
                self._hear_of_pod(msgspec.structs.replace(pod, metadata=_merged(pod.metadata, changed)))
            return
        request: NodeRequest | None = self.world.tables[NODE_REQUESTS].get(("", action.subject.name))
        if request is not None:
            self.add(msgspec.structs.replace(request, metadata=_merged(request.metadata, changed)))

    def _hear_of_pod(self, pod: Pod) -> None:
        before = self._pods.get(pod.metadata.uid)
        self._pods[pod.metadata.uid] = pod
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self.world.hear_of_pods([Change(happened, pod, before)])

    def _seen(self) -> object:
        refusals = [one for one in self.outcomes.values() if one.result is Result.REFUSED]
        return dict(self._pods), [dict(table) for table in self.world.tables.values()], refusals


def _merged(meta: ObjectMeta, changed: Mapping[str, Mapping[str, str | None]]) -> ObjectMeta:
    fields: dict[str, dict[str, str]] = {}
    for field, patch in changed.items():
        merged = {**getattr(meta, field), **patch}
        fields[field] = {key: value for key, value in merged.items() if value is not None}
    return msgspec.structs.replace(meta, **fields)
