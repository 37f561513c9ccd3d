"""A plan in the making: who goes where so far. Steps of planning add to it and take from it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count

from growth.api.pod import Pod
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.placement_solution import UnplacedPod
from growth.decide.solver.problem import Bools, Floats
from growth.decide.solver.problem_rows import NodeOptionTable

State = tuple[dict[str, list[Pod]], dict[str, tuple[int, list[Pod]]], Floats]

# What machines of a plan are called until they are requested; no real node's name begins so.
PLANNED = "planned-"


@dataclass(slots=True)
class DraftPlan:
    """Nodes with their pods, and pods that are left out."""

    simulated: SimulatedCluster
    table: NodeOptionTable
    groups: Sequence[EquivalenceGroup]
    masks: Sequence[Bools]
    """[group] which kinds take its pods."""

    limits: Floats
    """What is left of the market's limits."""

    existing: dict[str, list[Pod]] = field(default_factory=dict[str, list[Pod]])
    launched: dict[str, tuple[int, list[Pod]]] = field(default_factory=dict[str, tuple[int, list[Pod]]])
    """By name, the kind and its pods."""

    left_out: list[UnplacedPod] = field(default_factory=list[UnplacedPod])
    _numbers: "count[int]" = field(default_factory=lambda: count(1))

    def new_name(self) -> str:
        """A name for one more machine, which nothing on the stage has."""
        while (name := f"{PLANNED}{next(self._numbers):05d}") in self.simulated.nodes:
            pass
        return name

    def state(self) -> State:
        """Who is where at the moment, to come back to."""
        existing = {name: list(pods) for name, pods in self.existing.items()}
        launched = {name: (option, list(pods)) for name, (option, pods) in self.launched.items()}
        return existing, launched, self.limits.copy()

    def return_to(self, state: State) -> None:
        """Everybody is where they were; the stage is not touched."""
        self.existing, self.launched = state[0], state[1]
        self.limits[:] = state[2]

    def placements(self) -> list[tuple[Pod, str]]:
        """Every placed pod and its node."""
        placed = [(pod, name) for name, (_, pods) in self.launched.items() for pod in pods]
        return placed + [(pod, name) for name, pods in self.existing.items() for pod in pods]

    def put(self, pod: Pod, node: str, option: int = -1) -> None:
        """A pod goes to a node, which may be bought only now."""
        if node in self.launched:
            self.launched[node][1].append(pod)
        elif option >= 0:
            self.launched[node] = (option, [pod])
        else:
            self.existing.setdefault(node, []).append(pod)

    def take_away(self, uids: set[str]) -> list[Pod]:
        """These pods leave their nodes, on the stage, too; machines that would stand empty are not bought."""
        for pod, name in self.placements():
            if pod.metadata.uid in uids and self.simulated.is_placed(pod.metadata.uid):
                self.simulated.remove(pod.metadata.uid, name)
        taken: list[Pod] = []
        for pods in [*self.existing.values(), *(pods for _, pods in self.launched.values())]:
            terminating = [pod for pod in pods if pod.metadata.uid in uids]
            if terminating:
                taken += terminating
                pods[:] = [pod for pod in pods if pod.metadata.uid not in uids]
        self.existing = {name: pods for name, pods in self.existing.items() if pods}
        for name in [name for name, (_, pods) in self.launched.items() if not pods]:
            self.limits += self.table.limit_use[:, self.launched[name][0]]
            del self.launched[name]
            if name in self.simulated.nodes:
                self.simulated.remove_node(name)
        return taken

    def enact(self) -> None:
        """Bring the stage up to the sketch: all machines there, all pods on them, and nobody else."""
        simulated = self.simulated
        for name, (option, _) in self.launched.items():
            if name not in simulated.nodes:
                self.table.node_options.node(name, option).enter(simulated)
        for pod, name in self.placements():
            if not simulated.is_placed(pod.metadata.uid):
                simulated.place(pod, name)

    def clear(self) -> None:
        """Take all pods of the sketch off the stage again; the machines stay."""
        for pod, name in self.placements():
            if self.simulated.is_placed(pod.metadata.uid):
                self.simulated.remove(pod.metadata.uid, name)
