"""What is asked: which nodes may go, where their pods could be instead, and what makes it worth while.

Nodes to which nobody should be moved, though there is room: on the stage they take no more pods.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Final, Literal

import msgspec

from growth.api.disruption import Reason
from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.api.pod_classification import ends_by_itself, is_work
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.minimum_nodes import closed_by, less_launched
from growth.decide.solver.node_options import NodeOptions, node_options_of
from growth.decide.solver.placement_solution import PlannedNode

_HOUR: Final = timedelta(hours=1)


class Candidate(msgspec.Struct, frozen=True):
    """A node that may go if that pays: it is ours, nobody forbids it, and all that works on it may move."""

    name: str
    launched: PoolUsage
    """What it is, and costs."""

    @property
    def pool(self) -> str:
        """Whose it is."""
        return self.launched.pool

    @property
    def price_per_hour(self) -> float:
        """What it costs."""
        return self.launched.cost_per_hour


class SavingThreshold(msgspec.Struct, frozen=True):
    """When a move is worth its trouble."""

    share: float = 0.05
    """It saves at least this share of what the nodes cost that go."""
    overlap: timedelta = timedelta(minutes=10)
    """So long old and new machines are paid for at the same time."""
    restart: timedelta = timedelta(minutes=5)
    """So long a pod that moves is no use to anybody, and its place is paid for."""
    pays_back_within: timedelta = timedelta(hours=1)
    """By then it has saved what both cost."""

    def pays(self, before: float, after: float, moved: float, useful_hours: float = math.inf) -> bool:
        """Whether to give up machines that cost so much for some that cost so much and are of use for so long, and to
        move pods whose places cost so much."""
        saving = before - after
        return saving > 0 and saving >= self.share * before and self.gain(before, after, moved, useful_hours) >= 0

    def gain(self, before: float, after: float, moved: float, useful_hours: float = math.inf) -> float:
        """What will have come of it by the time by which it has to have paid back."""
        cost = after * (self.overlap / _HOUR) + moved * (self.restart / _HOUR)
        return (before - after) * min(useful_hours, self.pays_back_within / _HOUR) - cost


class ConsolidationProblem(msgspec.Struct, frozen=True, kw_only=True):
    """One question, which may be thought about on a thread: everything that it reads is its own."""

    simulated: SimulatedCluster
    """Without nodes that leave or are out of service; pods that wait are none of it."""
    pools: tuple[NodePool, ...]
    offerings: tuple[Offering, ...]
    candidates: tuple[Candidate, ...]
    others: tuple[PoolUsage, ...] = ()
    """All other machines of the pools."""
    at_once: Mapping[str, int]
    """By pool, how many of its nodes may go in one wave."""
    ghosts: tuple[Pod, ...] = ()
    """Pods that were there a while ago and may come back: room is kept for those for which there is some now."""
    worth: Mapping[str, SavingThreshold] = {}
    """By pool, when a move of its nodes is worth its trouble; what is usual where nothing is said."""
    fades_per_hour: float = 0.0
    """The share of all places that becomes free within an hour, because less and less is wanted."""
    trials: tuple[str, ...] = ()
    closed: frozenset[tuple[str, str]] = frozenset()

    def node_options(self, launched: Sequence[PoolUsage], planned: Sequence[PlannedNode] = ()) -> NodeOptions:
        """What may be bought beside these machines; ``planned`` are those of them that are to be bought before, so that
        nothing is sold twice."""
        offered = less_launched(self.offerings, planned, self.trials)
        closed = self.closed | closed_by(planned, self.trials, self.offerings)
        return node_options_of(self.simulated, self.pools, offered, launched, self.trials, closed=closed)


def shun(simulated: SimulatedCluster, names: Iterable[str]) -> None:
    """Nobody goes to these nodes any more, on the stage."""
    for name in names:
        node = simulated.nodes.get(name)
        if node is not None:
            closed = msgspec.structs.replace(node.spec, unschedulable=True)
            # Some tolerate that a node is closed.
            full = msgspec.structs.replace(node.status, allocatable={**node.status.allocatable, "pods": "0"})
            simulated.change_node(msgspec.structs.replace(node, spec=closed, status=full))


def emptying_themselves(simulated: SimulatedCluster, names: Iterable[str]) -> Iterator[str]:
    """Nodes on which only Jobs work, or nobody. They go when these have ended; who is moved there keeps them from that,
    and almost nobody shares the machine then."""
    for name in names:
        if all(ends_by_itself(pod) for pod in simulated.node_info(name).pods.values() if is_work(pod)):
            yield name


class ForcedDisruption(msgspec.Struct, frozen=True):
    """A node that must go, and why."""

    node: str
    reason: Reason
    why: str


Form = Literal["delete", "fold", "replace", "merge", "split", "rebuild"]


class Move(msgspec.Struct, frozen=True):
    """One move, which is carried out whole or not at all."""

    terminating: tuple[str, ...]
    launching: tuple[PlannedNode, ...]
    to: tuple[tuple[str, str], ...]
    """By uid, the node on which each pod finds room: one that stands, or one of those that are bought."""
    before_per_hour: float
    after_per_hour: float

    @property
    def saves_per_hour(self) -> float:
        """What it is made for."""
        return self.before_per_hour - self.after_per_hour

    @property
    def form(self) -> Form:
        """What people call it."""
        match len(self.terminating), len(self.launching):
            case _, 0:
                return "fold" if self.to else "delete"
            case 1, 1:
                return "replace"
            case _, 1:
                return "merge"
            case 1, _:
                return "split"
            case _:
                return "rebuild"
