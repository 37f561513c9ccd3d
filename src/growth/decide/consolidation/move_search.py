"""What would all of it cost if it were bought today? And what is each pod's part of that?

The first is the aim, with a proven bound below it. The second tells where money is wasted: a node that costs more than
its pods would cost on the best machines is the first to go.

The way to the cheapest cluster, in moves each of which pays for itself.

1. Work out what everything would cost if it were bought today, and what is wasted on each node (``today``).
2. Take the nodes that waste most for each of their pods, as many as may go at once, half of them, a quarter, ... down
   to one; for each of these sets ask the planner where their pods would go: into free room, and on the cheapest
   machines for the rest.
3. Of these sets the one of which most comes within the time in which moves have to pay back is taken apart into moves
   that have nothing to do with each other. Those that are worth their trouble are made, on the stage, and it begins
   anew with what is left.

All moves, in their order, can be carried out one after the other: after each of them every pod has a place.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

import msgspec

from growth.api.pod import Pod, PodStatus
from growth.api.pod_classification import is_work
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.consolidation.problem import (
    Candidate,
    ConsolidationProblem,
    Move,
    SavingThreshold,
    emptying_themselves,
    shun,
)
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.placement_solution import PlacementSolution, PlannedNode
from growth.decide.solver.planner import plan


class MoveSearch(msgspec.Struct, frozen=True):
    """The answer, for the candidates: all other nodes stay in any case."""

    cost_per_hour: float
    bound_per_hour: float
    """No cluster that serves these pods costs less: proven."""
    worth: Mapping[str, float]
    """By uid, what a pod costs an hour. Those that could not be bought a place today are not in it."""


def today(question: ConsolidationProblem, pods: Mapping[str, list[Pod]]) -> MoveSearch:
    """Ask; ``pods`` are those of each candidate."""
    simulated = question.simulated
    mark = simulated.mark()
    for one in question.candidates:
        simulated.remove_node(one.name)
    solution = plan(simulated, [pod for own in pods.values() for pod in own], question.node_options(question.others))
    worth = {pod.metadata.uid: 0.0 for filled in solution.existing for pod in filled.pods}
    for node in solution.launch:
        worth |= shares(simulated, node)
    simulated.back_to(mark)
    return MoveSearch(solution.cost_per_hour, solution.bound_per_hour, worth)


def shares(simulated: SimulatedCluster, node: PlannedNode) -> dict[str, float]:
    """What each pod of a machine costs: it pays for the part that it takes, by what it takes most of."""
    requests = {pod.metadata.uid: simulated.requests(pod) for pod in node.pods}
    total: dict[str, int] = {}
    for asked in requests.values():
        for name, amount in asked.items():
            total[name] = total.get(name, 0) + amount
    parts = {
        uid: max((amount / total[name] for name, amount in asked.items() if total[name]), default=0.0)
        for uid, asked in requests.items()
    }
    whole = sum(parts.values()) or 1.0
    return {uid: node.offering.price_per_hour * part / whole for uid, part in parts.items()}


# So many nodes are looked at one by one when sets of them save nothing any more.
_SINGLY: Final = 16
# More nodes than that do not go for machines that they share: the more hang together, the sooner something of it fails,
# and then all that was bought was bought in vain.
_MOST_TOGETHER: Final = 8
# What floats leave over.
_NOTHING: Final = 1e-9
_PENDING: Final = PodStatus(phase="Pending")
_USUAL: Final = SavingThreshold()


class MoveAdvice(msgspec.Struct, frozen=True):
    """What to do, and what comes of it. Prices are those of the candidates: all other nodes stay."""

    now_per_hour: float
    after_per_hour: float
    """When all moves are made."""
    best_per_hour: float
    """What the same pods would cost if everything were bought today."""
    bound_per_hour: float
    """What they cost at least, proven."""
    moves: tuple[Move, ...] = ()

    @property
    def saves_per_hour(self) -> float:
        """What all moves save together."""
        return self.now_per_hour - self.after_per_hour


def advise(question: ConsolidationProblem, waves: int | None = None) -> MoveAdvice:
    """Think, for so many waves, or until there is nothing left to save. The same question has the same answer."""
    mark = question.simulated.mark()
    try:
        return _Walk(question).run(waves)
    finally:
        question.simulated.back_to(mark)


class _Walk:
    """One way, step by step, on the stage."""

    def __init__(self, question: ConsolidationProblem) -> None:
        self._question, self._simulated = question, question.simulated
        self._left = {one.name: one for one in question.candidates}
        self._bought: dict[str, PoolUsage] = {one.name: one.launched for one in question.candidates}
        self._worth: Mapping[str, float] = {}
        self._now = sum(one.price_per_hour for one in question.candidates)

    def run(self, waves: int | None) -> MoveAdvice:
        passing = list(emptying_themselves(self._simulated, self._simulated.nodes))
        house_ghosts(self._question)  # also there: who may come back does not stay for long either
        shun(self._simulated, passing)
        aim = today(self._question, {name: self._pods_on(name) for name in self._left})
        self._worth = aim.worth
        moves: list[Move] = []
        while waves is None or waves > 0:
            wave = self._wave(self._wasteful())
            if not wave:
                break
            moves += wave
            waves = None if waves is None else waves - 1
        after = self._now - sum(one.saves_per_hour for one in moves)
        return MoveAdvice(self._now, after, aim.cost_per_hour, min(aim.bound_per_hour, after), tuple(moves))

    def _wasteful(self) -> list[Candidate]:
        """Who costs more than its pods would cost today: first where most is wasted for each pod that has to move.
        Whose pods could not be bought a place today stays."""
        found: list[tuple[float, str]] = []
        for name, one in self._left.items():
            pods = self._pods_on(name)
            parts = [self._worth.get(pod.metadata.uid) for pod in pods if pod.metadata.uid not in self._ghosts]
            known = [part for part in parts if part is not None]
            if len(known) == len(parts) and one.price_per_hour > sum(known) + _NOTHING:
                found.append(((sum(known) - one.price_per_hour) / (1 + len(parts)), name))
        return [self._left[name] for _, name in sorted(found)]

    @cached_property
    def _ghosts(self) -> frozenset[str]:
        return frozenset(pod.metadata.uid for pod in self._question.ghosts)

    def _wave(self, wasteful: Sequence[Candidate]) -> list[Move]:
        """The moves that are made next, and are made on the stage; none if nothing is worth its trouble."""
        node_options = self._market()
        best: list[Move] = []
        for chosen in self._sets(wasteful):
            found = self._tried(chosen, node_options)
            if not best or self._merit(found) > self._merit(best):
                best = found
            elif self._merit(found)[0] < self._merit(best)[0]:
                break  # fewer of them gain less
        return [move for move in best if self._make(move, node_options)]

    def _sets(self, wasteful: Sequence[Candidate]) -> Iterator[list[Candidate]]:
        """As many as may go at once, then half of them, and so on; at last the first few one by one."""
        most = self._at_once(wasteful)
        size = len(most)
        while size > 1:
            yield most[:size]
            size //= 2
        may_go = (one for one in wasteful if self._question.at_once.get(one.pool, 0) > 0)
        yield from ([one] for one in islice(may_go, _SINGLY))

    def _at_once(self, wasteful: Sequence[Candidate]) -> list[Candidate]:
        left, found = dict(self._question.at_once), list[Candidate]()
        for one in wasteful:
            if left.get(one.pool, 0) > 0:
                left[one.pool] -= 1
                found.append(one)
        return found

    def _market(self) -> NodeOptions:
        return self._question.node_options((*self._question.others, *self._bought.values()))

    def _pods_on(self, name: str) -> list[Pod]:
        return pods_on(self._simulated, name)

    def _tried(self, chosen: Sequence[Candidate], node_options: NodeOptions) -> list[Move]:
        """The moves that come of it if these go, as far as they are worth their trouble."""
        simulated, mark = self._simulated, self._simulated.mark()
        pods = {one.name: self._pods_on(one.name) for one in chosen}
        for one in chosen:
            simulated.remove_node(one.name)
        solution = plan(simulated, [pod for own in pods.values() for pod in own], node_options)
        simulated.back_to(mark)
        moves = _moves(chosen, pods, solution)
        return [
            one for one in moves if self._pays(one) and (not one.launching or len(one.terminating) <= _MOST_TOGETHER)
        ]

    def _pays(self, move: Move) -> bool:
        """Whether it is worth its trouble in every pool that it is about."""
        moved, useful = self._moved(move), self._useful_hours(move)
        return all(one.pays(move.before_per_hour, move.after_per_hour, moved, useful) for one in self._terms(move))

    def _merit(self, moves: Sequence[Move]) -> tuple[float, int]:
        """What comes of them; and if that is the same, that fewer pods have to move."""
        return round(sum(map(self._gain, moves)), 9), -sum(len(one.to) for one in moves)

    def _gain(self, move: Move) -> float:
        moved, useful = self._moved(move), self._useful_hours(move)
        return min(one.gain(move.before_per_hour, move.after_per_hour, moved, useful) for one in self._terms(move))

    def _useful_hours(self, move: Move) -> float:
        """For how long it is of use to have bought what it buys: while less and less is wanted, room becomes free by
        itself, and as soon as it is worth as much, as much is saved by nodes that fold into it."""
        freed = self._question.fades_per_hour * self._now
        return move.saves_per_hour / freed if freed and move.launching else math.inf

    def _terms(self, move: Move) -> list[SavingThreshold]:
        pools = {self._left[name].pool for name in move.terminating}
        return [self._question.worth.get(pool, _USUAL) for pool in pools]

    def _moved(self, move: Move) -> float:
        """What the places of those cost that have to move."""
        return sum(self._worth.get(uid, 0.0) for uid, _ in move.to if uid not in self._ghosts)

    def _make(self, move: Move, node_options: NodeOptions) -> bool:
        """Make it on the stage; not if one of its pods does not fit any more where it should go."""
        simulated, mark = self._simulated, self._simulated.mark()
        pods = {pod.metadata.uid: pod for name in move.terminating for pod in self._pods_on(name)}
        for name in move.terminating:
            simulated.remove_node(name)
        for one in move.launching:
            node_options.maker.make(one.name, one.pool, one.offering).enter(simulated)
        for uid, node in move.to:
            if node not in simulated.nodes or fit(simulated, pods[uid], node) is not None:
                simulated.back_to(mark)
                return False
            simulated.place(pods[uid], node)
        for name in move.terminating:
            del self._left[name], self._bought[name]
        self._bought |= {one.name: PoolUsage.of(one.pool.metadata.name, one.offering) for one in move.launching}
        return True


def house_ghosts(question: ConsolidationProblem) -> None:
    """Who may come back keeps the room that there is for it; for whom there is none, nobody keeps any."""
    if not question.ghosts:
        return
    simulated = question.simulated
    nothing = NodeOptions((), (), (), TemplateNodes(simulated))
    for filled in plan(simulated, question.ghosts, nothing).existing:
        for pod in filled.pods:
            simulated.place(pod, filled.node)


def pods_on(simulated: SimulatedCluster, name: str) -> list[Pod]:
    """Those that work on a node, as they would be made anew."""
    # In an order that does not depend on who came and went on the stage.
    pods = sorted(simulated.node_info(name).pods.items())
    return [anew(pod) for _, pod in pods if is_work(pod) and pod.metadata.deletion_timestamp is None]


def anew(pod: Pod) -> Pod:
    """The pod as its controller will make it: without a node."""
    return msgspec.structs.replace(pod, node_name="", status=_PENDING)


def _moves(chosen: Sequence[Candidate], pods: Mapping[str, list[Pod]], solution: PlacementSolution) -> Iterator[Move]:
    """What the planner found, as moves that share no machine that is bought; without nodes of which a pod finds no
    place."""
    home = {pod.metadata.uid: name for name, own in pods.items() for pod in own}
    sets = _Sets(pods)
    for node in solution.launch:
        sets.join(home[pod.metadata.uid] for pod in node.pods)
    launching: dict[str, list[PlannedNode]] = {}
    places: dict[str, dict[str, str]] = {}
    for node in solution.launch:
        first = sets.of(home[node.pods[0].metadata.uid])
        launching.setdefault(first, []).append(node)
        places.setdefault(first, {}).update({pod.metadata.uid: node.name for pod in node.pods})
    for filled in solution.existing:
        for pod in filled.pods:
            first = sets.of(home[pod.metadata.uid])
            places.setdefault(first, {})[pod.metadata.uid] = filled.node
    stuck = {sets.of(home[one.pod.metadata.uid]) for one in solution.left_out}
    terminating: dict[str, list[Candidate]] = {}
    for one in chosen:
        terminating.setdefault(sets.of(one.name), []).append(one)
    for first, nodes in terminating.items():
        if first not in stuck:
            launched = tuple(launching.get(first, ()))
            before = sum(one.price_per_hour for one in nodes)
            after = sum(one.offering.price_per_hour for one in launched)
            to = tuple(sorted(places.get(first, {}).items()))
            yield Move(tuple(one.name for one in nodes), launched, to, before, after)


class _Sets:
    """Names that belong together, each set known by one of them."""

    def __init__(self, names: Iterable[str]) -> None:
        self._leaders = {name: name for name in names}

    def of(self, name: str) -> str:
        while (leader := self._leaders[name]) != name:
            self._leaders[name] = self._leaders[leader]
            name = leader
        return name

    def join(self, names: Iterable[str]) -> None:
        first, *others = (self.of(name) for name in names)
        for other in others:
            self._leaders[self.of(other)] = self.of(first)
