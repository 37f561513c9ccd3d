"""Whole clusters to move in, drawn widely: two pools, one of them tainted, in three zones; pods with every rule of the
scheduler, each where the scheduler could have put it; daemons, and budgets of which several may be about one pod.

And a judge who knows nothing of how moves are found: it carries them out with Fit, pod by pod, on a stage of its own.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, Final

import msgspec
from hypothesis import strategies as st

from growth.api.meta import Condition
from growth.api.node import Node
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.api.pod_classification import is_work
from growth.api.provider_state import ProviderState
from growth.decide.consolidation.problem import ConsolidationProblem, Move
from growth.decide.fit import SimulatedCluster, fit
from growth.decide.fit.template_node import TemplateNodes
from tests.decide.consolidation.seen import DAEMON as OF_DAEMON
from tests.decide.consolidation.seen import OWNER, a_budget, a_pod
from tests.decide.marketplace import HOUR, NOW, a_cloud, a_machine, a_pool, an_offering
from tests.decide.solver.shop import ZONE, ZONES
from tests.decide.solver.worlds import APPS, drawn_pod, rules
from tests.decide.stages import a_stage, an_object

TYPES: Final[Mapping[str, tuple[int, float]]] = {"small": (2, 1.0), "middle": (4, 1.8), "dear": (4, 5.0)}
SOLD: Final[tuple[Offering, ...]] = tuple(
    an_offering(name, zone, price=price, resources={"cpu": str(cpu), "memory": f"{2 * cpu}Gi", "pods": "20"})
    for name, (cpu, price) in TYPES.items()
    for zone in ZONES
)
LIMITS: Final[dict[str, Any]] = {"types": sorted(TYPES), "disruption": {"mode": "act", "maxUnavailable": 3}}
POOLS: Final = (a_pool(**LIMITS), a_pool("extra", taints=[{"key": "dedicated", "effect": "NoSchedule"}], **LIMITS))
DAEMON: Final = an_object(
    "DaemonSet",
    "agent",
    "kube-system",
    spec={
        "template": {
            "spec": {
                "containers": [{"name": "main", "resources": {"requests": {"cpu": "200m"}}}],
                "tolerations": [{"operator": "Exists"}],
            }
        }
    },
)
ANYWHERE_IN: Final = [{"key": ZONE, "operator": "In", "values": list(ZONES[:2])}]
BY_NODE: Final[dict[str, Any]] = {
    "affinity": {
        "nodeAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": {
                "nodeSelectorTerms": [{"matchExpressions": ANYWHERE_IN}, {"matchExpressions": ANYWHERE_IN[:1]}]
            }
        }
    }
}

WHEREVER: Final[dict[str, Any]] = {"tolerations": [{"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}]}


@dataclass(frozen=True)
class Cluster:
    nodes: list[Node]
    pods: list[Pod]
    budgets: Mapping[str, tuple[str, ...]]
    """By name, whose pods each is about."""
    allowed: Mapping[str, int]
    has_daemon: bool

    @property
    def things(self) -> list[object]:
        """All of it, as it is seen."""
        machines = [a_machine(one.metadata.name, pool=_pool_of(one), offering=_offering_of(one)) for one in self.nodes]
        cloud: ProviderState = a_cloud(*SOLD, machines=machines)
        budgets = [
            a_budget(name, {"matchExpressions": [{"key": "app", "operator": "In", "values": list(apps)}]}, allowed=left)
            for (name, apps), left in zip(self.budgets.items(), self.allowed.values(), strict=True)
        ]
        return [*POOLS, cloud, *self.nodes, *self.pods, *budgets, *([DAEMON] if self.has_daemon else [])]

    def may_move(self, pod: Pod) -> bool:
        """Whether its budgets let it go, by nothing but counting."""
        about = [name for name, apps in self.budgets.items() if pod.metadata.labels.get("app") in apps]
        return len(about) < 2 and all(self.allowed[name] for name in about)


def _pool_of(node: Node) -> str:
    return node.metadata.labels["growth.dev/pool"]


def _offering_of(node: Node) -> str:
    return node.metadata.labels["growth.dev/offering"]


@st.composite
def clusters(draw: st.DrawFn) -> Cluster:
    """Everybody is where the scheduler could have put them, one after the other."""
    has_daemon = draw(st.booleans())
    stage = a_stage(objects=[DAEMON] if has_daemon else [])
    maker = TemplateNodes(stage)
    nodes, pods = list[Node](), list[Pod]()
    for number in range(draw(st.integers(2, 7))):
        pool = POOLS[not draw(st.integers(0, 3))]
        new = maker.make(f"n{number}", pool, draw(st.sampled_from(SOLD)))
        new.enter(stage)
        nodes.append(_seen(new.node))
        if has_daemon:
            pods.append(a_pod(f"agent-{number}", node=f"n{number}", owner=OF_DAEMON, requests={"cpu": "200m"}))
    for number in range(draw(st.integers(2, 16))):
        app = draw(st.sampled_from(APPS))
        cpu = draw(st.sampled_from(["100m", "500m", "1"]))
        rule = draw(st.one_of(rules(app), rules(app), st.just(BY_NODE), st.just(WHEREVER)))
        pod = drawn_pod(app, cpu, "128Mi", rule, name=f"pod-{number}", owner=OWNER)
        places = draw(st.permutations([one.metadata.name for one in nodes]))
        home = next((name for name in places if fit(stage, pod, name) is None), "")
        if home:
            stage.place(pod, home)
            running = msgspec.structs.replace(pod.status, phase="Running")
            pods.append(msgspec.structs.replace(pod, node_name=home, status=running))
    about = draw(st.lists(st.lists(st.sampled_from(APPS), min_size=1, max_size=2, unique=True), max_size=2))
    budgets = {f"budget-{number}": tuple(apps) for number, apps in enumerate(about)}
    return Cluster(nodes, pods, budgets, {name: draw(st.integers(0, 2)) for name in budgets}, has_daemon)


def _seen(node: Node) -> Node:
    """A node that was planned, an hour after it came."""
    name = node.metadata.name
    meta = msgspec.structs.replace(node.metadata, uid=f"node-{name}", creation_timestamp=NOW - HOUR)
    spec = msgspec.structs.replace(node.spec, provider_id=f"kwok://{name}")
    status = msgspec.structs.replace(node.status, conditions=(Condition("Ready", "True"),))
    return msgspec.structs.replace(node, metadata=meta, spec=spec, status=status)


def carried_out(question: ConsolidationProblem, moves: Iterable[Move]) -> Iterable[Move]:
    """Each move, when it is made: its machines came, its nodes went, and all its pods found the place it said."""
    stage = question.simulated
    mark = stage.mark()
    try:
        for move in moves:
            maker = TemplateNodes(stage)
            for one in move.launching:
                maker.make(one.name, one.pool, one.offering).enter(stage)
            there = {uid: pod for name in move.terminating for uid, pod in stage.node_info(name).pods.items()}
            homeless = {uid: pod for uid, pod in there.items() if is_work(pod)}
            for name in move.terminating:
                stage.remove_node(name)
            assert homeless.keys() == dict(move.to).keys(), move
            _seat(stage, [(pod, dict(move.to)[uid]) for uid, pod in homeless.items()])
            yield move
    finally:
        stage.back_to(mark)


def _seat(stage: SimulatedCluster, placements: list[tuple[Pod, str]]) -> None:
    """Everybody gets in where it was said, in some order: in another one, rules of others may stand in the way."""
    waiting = [(msgspec.structs.replace(pod, node_name=""), node) for pod, node in placements]
    dead_ends: set[frozenset[int]] = set()

    def follow(left: frozenset[int]) -> bool:
        if not left or left in dead_ends:
            return not left
        for number in sorted(left):
            pod, node = waiting[number]
            if fit(stage, pod, node) is None:
                stage.place(pod, node)
                if follow(left - {number}):
                    return True
                stage.remove(pod.metadata.uid, node)
        dead_ends.add(left)
        return False

    assert follow(frozenset(range(len(waiting)))), [f"{pod.metadata.name} to {node}" for pod, node in waiting]
