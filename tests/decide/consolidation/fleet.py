"""Fleets for tests: nodes of a few types with pods on them, and the question that is asked about them."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.consolidation.move_search import MoveAdvice
from growth.decide.consolidation.problem import Candidate, ConsolidationProblem
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from growth.observe.pod_requests import amounts_from
from tests.decide import stages
from tests.decide.marketplace import a_pool, an_offering

OWNER = {"apiVersion": "apps/v1", "kind": "ReplicaSet", "name": "web", "uid": "web", "controller": True}


def of_size(name: str, cpu: int, price: float, **fields: Any) -> Offering:  # noqa: ANN401
    """A machine of so many cores."""
    resources = {"cpu": str(cpu), "memory": f"{4 * cpu}Gi", "pods": "110"}
    return an_offering(name, resources=resources, price=price, **fields)


SMALL, MIDDLE, LARGE, DEAR = (
    of_size("small", 2, 1.0),
    of_size("middle", 4, 1.8),
    of_size("large", 16, 6.0),
    of_size("dear", 4, 4.0),
)
SOLD = (SMALL, MIDDLE, LARGE, DEAR)


def a_fleet(
    nodes: Mapping[str, tuple[Offering, Sequence[str]]],
    *,
    offered: Sequence[Offering] = SOLD,
    staying: Iterable[str] = (),
    pods: Sequence[Pod] = (),
    pool: NodePool | None = None,
    at_once: Mapping[str, int] | None = None,
    **question: Any,  # noqa: ANN401
) -> ConsolidationProblem:
    """Nodes by name, each with what it was bought as and the cpu that its pods ask for."""
    own = pool or a_pool(types=[one.server_type for one in SOLD])
    maker = TemplateNodes(SimulatedCluster.of(stages.a_snapshot()))
    standing = [maker.make(name, own, offering).node for name, (offering, _) in nodes.items()]
    working = [
        stages.a_pod(f"{name}-{number}", node=name, requests={"cpu": cpu}, owner=OWNER)
        for name, (_, asked) in nodes.items()
        for number, cpu in enumerate(asked)
    ]
    kept = set(staying)
    launched = {name: PoolUsage.of("default", offering) for name, (offering, _) in nodes.items()}
    return ConsolidationProblem(
        simulated=SimulatedCluster.of(stages.a_snapshot(standing, [*working, *pods])),
        pools=(own,),
        offerings=tuple(offered),
        candidates=tuple(Candidate(name, one) for name, one in launched.items() if name not in kept),
        others=tuple(one for name, one in launched.items() if name in kept),
        at_once={"default": 10} if at_once is None else at_once,
        **question,
    )


def forms(advice: MoveAdvice) -> list[tuple[str, tuple[str, ...], tuple[str, ...]]]:
    """Each move as a form, who goes, and what comes."""
    return [
        (move.form, move.terminating, tuple(sorted(one.offering.server_type for one in move.launching)))
        for move in advice.moves
    ]


def judge(question: ConsolidationProblem, advice: MoveAdvice) -> None:
    """Carry all moves out with nothing but sums: after each of them every pod has a place, and it costs less."""
    snapshot = question.simulated.snapshot
    homes = {uid: name for name, pods in snapshot.pods_by_node.items() for uid in pods}
    working = [pod for pods in snapshot.pods_by_node.values() for pod in pods.values()]
    asked = {pod.metadata.uid: snapshot.shapes.requests_of(pod.spec) for pod in (*working, *question.ghosts)}
    has = {name: dict(amounts_from(node.status.allocatable)) for name, node in snapshot.nodes.items()}
    cost = advice.now_per_hour
    for move in advice.moves:
        to = dict(move.to)
        for one in move.launching:
            has[one.name] = dict(amounts_from(one.offering.resources))
        for name in move.terminating:
            stranded = [uid for uid, home in homes.items() if home == name and uid not in to]
            assert not stranded, stranded
            del has[name]
        homes |= to
        used: dict[str, dict[str, int]] = {}
        for uid, home in homes.items():
            for resource, amount in asked[uid].items():
                here = used.setdefault(home, {})
                here[resource] = here.get(resource, 0) + amount
        for home, amounts in used.items():
            assert all(has[home].get(resource, 0) >= amount for resource, amount in amounts.items()), (home, move)
        cost -= move.saves_per_hour
        assert move.saves_per_hour > 0
    assert abs(cost - advice.after_per_hour) < 1e-6
    assert advice.bound_per_hour <= advice.after_per_hour + 1e-9


def made(question: ConsolidationProblem, advice: MoveAdvice) -> ConsolidationProblem:
    """The same question when all moves are made."""
    stage, maker = question.simulated, TemplateNodes(question.simulated)
    left = {one.name: one for one in question.candidates}
    for move in advice.moves:
        pods = {uid: pod for name in move.terminating for uid, pod in stage.node_info(name).pods.items()}
        for name in move.terminating:
            stage.remove_node(name)
            del left[name]
        for one in move.launching:
            maker.make(one.name, one.pool, one.offering).enter(stage)
            left[one.name] = Candidate(one.name, PoolUsage.of(one.pool.metadata.name, one.offering))
        for uid, node in move.to:
            if uid in pods:  # and not a ghost
                stage.place(pods[uid], node)
    return msgspec.structs.replace(question, candidates=tuple(left.values()))
