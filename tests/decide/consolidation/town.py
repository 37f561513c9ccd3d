"""A town in which only the decider of optimising is real: what it asks for happens here, on a clock that tests turn.

Everything is as in ``seen``: ``small`` (2 CPU, 1.0 an hour), ``large`` (8 CPU, 3.0). Thoughts end when a test says so.
Machines that are bought work at once, and evicted pods are made anew where there is room.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import (
    Action,
    CreateObject,
    DeleteObject,
    EditObject,
    EvictPod,
    Hold,
    PatchObject,
    RecordEvent,
)
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS, Kind
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_move import NodeMove, NodeMoveSpec, NodeMoveStatus
from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.api.selectors import selects
from growth.api.settings.model import Settings
from growth.api.taints import LEAVES
from growth.decide.capacity.demand_history import RecentDemand
from growth.decide.consolidation.decider import CAPABILITY
from growth.decide.contract import Decision
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.observe.cache import ClusterCache
from tests.decide import marketplace as market
from tests.decide.consolidation.seen import SOLD
from tests.decide.passes import Given, deciding, remembered

decide = deciding(CAPABILITY)

HOUR, MINUTE, NOW, SECOND = market.HOUR, market.MINUTE, market.NOW, market.SECOND
LONG_AGO: Final = NOW - 24 * HOUR
Thing = Pod | Node | NodePool | NodeMove | Any


def acting(**disruption: object) -> NodePool:
    """A pool in which Growth acts."""
    return market.a_pool(types=["small", "large"], disruption={"mode": "act", "maxUnavailable": 10, **disruption})


def a_node(name: str, *, annotations: dict[str, str] | None = None, born: datetime = LONG_AGO, **fields: Any) -> Node:  # noqa: ANN401
    node = market.a_node(name, born=born, **fields)
    meta = msgspec.structs.replace(node.metadata, annotations=annotations or {})
    return msgspec.structs.replace(node, metadata=meta)


class Town:
    """A World, the decider with its memory and its thoughts."""

    def __init__(self, *things: Thing, pool: NodePool | None = None, settings: Settings | None = None) -> None:
        self.world, self.now, self.settings = ClusterCache(), NOW, settings or Settings()
        self.memory: object = None
        self.answer: object = None
        self.demand: RecentDemand | None = None
        self.thought: Callable[[], object] | None = None
        self.offered: tuple[Offering, ...] = SOLD
        self.pool = pool or acting()
        self._things: dict[tuple[str, str], Any] = {}
        self.add(self.pool, *things)

    # What there is

    @property
    def nodes(self) -> dict[str, Node]:
        return {name: thing for (kind, name), thing in sorted(self._things.items()) if kind == NODES.name}

    @property
    def pods(self) -> list[Pod]:
        return [thing for (kind, _), thing in sorted(self._things.items()) if kind == PODS.name]

    @property
    def moves(self) -> list[NodeMove]:
        return [thing for (kind, _), thing in sorted(self._things.items()) if kind == NODE_MOVES.name]

    @property
    def leaving(self) -> set[str]:
        """Nodes that were asked to go."""
        return {name for kind, name in self._things if kind == NODE_REMOVAL_REQUESTS.name}

    def add(self, *things: Thing) -> None:
        """These come, or take the place of what had their names."""
        for thing in things:
            kind = _kind_of(thing)
            before = self._things.get((kind.name, thing.metadata.name))
            self._things[kind.name, thing.metadata.name] = thing
            happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
            self.world.listeners()[kind]([Change(happened, thing, before)])
        self._hear_of_machines()

    def remove(self, *things: Thing) -> None:
        for thing in things:
            kind = _kind_of(thing)
            before = self._things.pop((kind.name, thing.metadata.name))
            self.world.listeners()[kind]([Change(ChangeType.DELETED, before, before)])
        self._hear_of_machines()

    def sell(self, *offerings: Offering) -> None:
        self.offered = offerings
        self._hear_of_machines()

    def _hear_of_machines(self, problem: str = "") -> None:
        machines = [
            market.a_machine(name, offering=node.metadata.labels["growth.dev/offering"])
            for name, node in self.nodes.items()
        ]
        self.world.hear_of_cloud(market.a_cloud(*self.offered, machines=machines, read_at=self.now, problem=problem))

    # Time

    def look(self) -> Decision[Any]:
        """One pass. What it says is not done; a thought that it begins is kept."""
        snapshot = self.world.snapshot(self.now)
        self.demand = remembered(self.demand, snapshot, self.settings)
        state = Given(
            carry=self.memory, result=self.answer, is_computing=self.thought is not None, facts=(self.demand,)
        )
        decision = decide(snapshot, state, self.settings)
        self.memory = decision.carry
        if decision.compute is not None and self.thought is None:
            self.thought, self.answer = decision.compute, None
        return decision

    def think(self) -> None:
        """The thought that is under way comes to its end."""
        assert self.thought is not None
        self.answer, self.thought = self.thought(), None

    def learn(self) -> None:
        """Time passes, until it is known who was there within the last hour. A thought begins with the last look."""
        for _ in range(16):
            self.look()
            self.now += 4 * MINUTE
        self._hear_of_machines()

    def advised(self) -> list[NodeMoveSpec]:
        """Look, think, and look again: the moves that are decided."""
        self.look()
        if self.thought is None:
            return []
        self.think()
        return moves_of(self.look().said)

    def live(self, time: timedelta, *, each: Callable[[], None] = lambda: None) -> list[Action | Hold]:
        """Passes, whose words become deeds, until so much time has passed. ``each`` is called after every pass."""
        said: list[Action | Hold] = []
        until = self.now + time
        while self.now < until:
            decision = self.look()
            said += decision.said
            self.do(decision.said)
            each()
            if self.thought is not None:
                self.think()
            self.now += 5 * SECOND if self._is_busy else MINUTE
            self._end_removals()
        return said

    @property
    def _is_busy(self) -> bool:
        return any(not move.is_over for move in self.moves)

    # Deeds

    def do(self, said: Iterable[Action | Hold]) -> None:
        for action in said:
            match action:
                case CreateObject(subject=subject) if subject.kind == NODE_MOVES.name:
                    spec = msgspec.convert(action.body["spec"], NodeMoveSpec)
                    meta = ObjectMeta(name=subject.name, uid=subject.name, creation_timestamp=self.now)
                    self.add(NodeMove(meta, spec, NodeMoveStatus(phase_since=self.now)))
                case CreateObject(subject=subject) if subject.kind == NODE_REQUESTS.name:
                    self._buy(subject.name, action.body["spec"]["targetOffering"])
                case CreateObject(subject=subject) if subject.kind == NODE_REMOVAL_REQUESTS.name:
                    self.add(market.a_removal(subject.name))
                case PatchObject(subject=subject) if subject.kind == NODE_MOVES.name:
                    before = self._things[NODE_MOVES.name, subject.name]
                    status = msgspec.convert(action.body["status"], NodeMoveStatus, strict=False)
                    self.add(msgspec.structs.replace(before, status=status))
                case DeleteObject(subject=subject):
                    self.remove(self._things[subject.kind, subject.name])
                case EditObject(subject=subject) | PatchObject(subject=subject) if subject.kind == NODES.name:
                    self._mark(self.nodes[subject.name])
                case EvictPod(subject=subject):
                    self._evict(self._things[PODS.name, subject.name])
                case RecordEvent() | Hold():
                    pass
                case _:
                    raise AssertionError(action)

    def _buy(self, name: str, offering: str) -> None:
        launched = next(one for one in self.offered if one.id == offering)
        self.add(a_node(name, offering=offering, has=launched.resources, born=self.now))

    def _mark(self, node: Node) -> None:
        taints = () if node.spec.taints else (LEAVES,)
        self.add(msgspec.structs.replace(node, spec=msgspec.structs.replace(node.spec, taints=taints)))

    def _evict(self, pod: Pod) -> None:
        """Its controller makes another one, and the scheduler finds it a place. Budgets get the same answer each time,
        because nobody is away for long."""
        budgets = [
            thing.status.disruptions_allowed
            for (kind, _), thing in self._things.items()
            if kind == POD_DISRUPTION_BUDGETS.name and selects(thing.spec.selector, pod.metadata.labels)
        ]
        assert budgets in ([], [1], [2]), f"{pod.metadata.name} is asked to leave, and its budgets allow {budgets}"
        self.remove(pod)
        stage = SimulatedCluster.of(self.world.snapshot(self.now))
        name = f"{pod.metadata.name}x"
        meta = msgspec.structs.replace(pod.metadata, name=name, uid=f"uid-{name}", creation_timestamp=self.now)
        anew = msgspec.structs.replace(pod, metadata=meta, node_name="")
        found = [node for node in self.nodes if fit(stage, anew, node) is None]
        assert found, f"{name} finds no place"
        self.add(msgspec.structs.replace(anew, node_name=found[0]))

    def _end_removals(self) -> None:
        """Nodes that were asked to go are gone."""
        for (kind, name), removal in sorted(self._things.items()):
            if kind == NODE_REMOVAL_REQUESTS.name:
                self.remove(removal, *([self.nodes[name]] if name in self.nodes else []))


def _kind_of(thing: Thing) -> Kind[Any]:
    known = (NODES, PODS, NODE_POOLS, NODE_MOVES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS, POD_DISRUPTION_BUDGETS)
    return next(kind for kind in known if type(thing).__name__ == kind.name)


def moves_of(said: Iterable[Action | Hold]) -> list[NodeMoveSpec]:
    """The moves that are decided."""
    return [
        msgspec.convert(one.body["spec"], NodeMoveSpec)
        for one in said
        if isinstance(one, CreateObject) and one.subject.kind == NODE_MOVES.name
    ]


def events_of(said: Iterable[Action | Hold], reason: str) -> list[str]:
    return [one.why for one in said if isinstance(one, RecordEvent) and one.reason == reason]
