"""How fast the way to the cheapest cluster is found, and how much it saves.

    python -m bench.consolidate --nodes 700 --pods 20000
    python -m bench.consolidate --nodes 5000 --pods 150000 [--waves 1]

The fleet is one as they come to be: shared machines of several sizes from Hetzner's catalogue, a tenth of them dear
ones that were bought when there was nothing else, for loads that have changed since, so that each is used somewhere
between a fifth and almost all. A tenth of the nodes may go at one time. ``seconds`` is the time to all advice,
``first_seconds`` to the first wave, which is what the product thinks of before it acts. ``gap`` is the distance of what
all would cost afterwards to the proven bound, as a fraction. Every move is then checked, untimed, by a judge that
shares nothing with the planner but the pods: sums of requests on each node that a move changes (``checked``).

Weaknesses: synthetic pods without rules; one process that does nothing else.
"""

import argparse
import json
import random
import time

from bench import loads
from growth.api.change import Change, ChangeType
from growth.api.meta import ObjectMeta, OwnerReference
from growth.api.node import Node
from growth.api.node_pool import NodePool, NodePoolSpec, ServerType
from growth.api.pod import Pod
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.consolidation.move_search import MoveAdvice, advise
from growth.decide.consolidation.problem import Candidate, ConsolidationProblem
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from growth.observe.cache import ClusterCache
from growth.observe.pod_requests import amounts_from, requests_of

# A tenth was bought when there was nothing else.
_USUAL = 0.9
OWNER = (OwnerReference("ReplicaSet", "web", "web", controller=True),)


def fleet(nodes: int, pods: int, seed: int) -> ConsolidationProblem:
    """So many nodes, and about so many pods on them."""
    draw = random.Random(seed)
    offerings = tuple(loads.hetzner_offerings())
    pool = NodePool(
        ObjectMeta(name="default", uid="pool"),
        NodePoolSpec(server_types=tuple(ServerType(name) for name in sorted({o.server_type for o in offerings}))),
    )
    world, specs = ClusterCache(), loads.specs(200, seed)
    maker = TemplateNodes(SimulatedCluster.of(world.snapshot(loads.NOW)))
    usual = [one for one in offerings if one.server_type.startswith(("cx", "cax"))]
    dear = [one for one in offerings if one.server_type.startswith("cpx")]
    candidates: list[Candidate] = []
    told_nodes: list[Change[Node]] = []
    rooms: list[tuple[str, dict[str, int]]] = []
    for number in range(nodes):
        offering, name = draw.choice(usual if draw.random() < _USUAL else dear), f"node-{number:05d}"
        new = maker.make(name, pool, offering)
        told_nodes.append(Change(ChangeType.ADDED, new.node, None))
        candidates.append(Candidate(name, PoolUsage.of("default", offering)))
        use = draw.uniform(0.2, 0.95)
        has = amounts_from(new.node.status.allocatable)
        rooms.append((name, {resource: int(amount * use) for resource, amount in has.items()}))
    told_pods: list[Change[Pod]] = []
    for _ in range(20 * pods):  # most find a place at the first or second node that they are tried on
        (name, room), spec = draw.choice(rooms), draw.choice(specs)
        asked = requests_of(spec)
        if len(told_pods) < pods and all(room.get(resource, 0) >= amount for resource, amount in asked.items()):
            room.update({resource: left - asked.get(resource, 0) for resource, left in room.items()})
            number = str(len(told_pods))
            meta = ObjectMeta(name=f"pod-{number}", namespace="default", uid=number, owner_references=OWNER)
            told_pods.append(Change(ChangeType.ADDED, Pod(meta, spec, name), None))
    world.hear_of_nodes(told_nodes)
    world.hear_of_pods(told_pods)
    return ConsolidationProblem(
        simulated=SimulatedCluster.copy_of(world.snapshot(loads.NOW)),
        pools=(pool,),
        offerings=offerings,
        candidates=tuple(candidates),
        at_once={"default": max(1, nodes // 10)},
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=700)
    parser.add_argument("--pods", type=int, default=20_000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--waves", type=int)
    options = parser.parse_args()
    question = fleet(options.nodes, options.pods, options.seed)
    started = time.perf_counter()
    advise(question, waves=1)
    first = time.perf_counter() - started
    started = time.perf_counter()
    advice = advise(question, options.waves)
    seconds = time.perf_counter() - started
    print(json.dumps({"seconds": round(seconds, 2), "first_seconds": round(first, 2), **told(question, advice)}))


def told(question: ConsolidationProblem, advice: MoveAdvice) -> dict[str, object]:
    forms: dict[str, int] = {}
    for move in advice.moves:
        forms[move.form] = forms.get(move.form, 0) + 1
    return {
        "nodes": len(question.candidates),
        "pods": question.simulated.snapshot.pod_count,
        "saving_percent": round(100 * advice.saves_per_hour / advice.now_per_hour, 2),
        "moves": len(advice.moves),
        "forms": forms,
        "gap": round(advice.after_per_hour / advice.bound_per_hour - 1, 4),
        "evictions": sum(len(move.to) for move in advice.moves),
        "checked": is_sound(question, advice),
    }


def is_sound(question: ConsolidationProblem, advice: MoveAdvice) -> bool:
    """Whether after each move all pods have a node, and no node has more than it can bear."""
    snapshot = question.simulated.snapshot
    pods_on = {name: set(pods) for name, pods in snapshot.pods_by_node.items()}
    pods = {uid: pod for own in snapshot.pods_by_node.values() for uid, pod in own.items()}
    has = {name: amounts_from(node.status.allocatable) for name, node in snapshot.nodes.items()}
    for move in advice.moves:
        to = dict(move.to)
        has |= {one.name: amounts_from(one.offering.resources) for one in move.launching}
        gone = [uid for name in move.terminating for uid in pods_on.pop(name, ())]
        if set(gone) != to.keys() or not set(to.values()) <= has.keys() - set(move.terminating):
            return False
        for uid, name in to.items():
            pods_on.setdefault(name, set()).add(uid)
        for name in set(to.values()):
            used: dict[str, int] = {}
            for uid in pods_on[name]:
                for resource, amount in requests_of(pods[uid].spec).items():
                    used[resource] = used.get(resource, 0) + amount
            if any(amount > has[name].get(resource, 0) for resource, amount in used.items()):
                return False
    return True


if __name__ == "__main__":
    main()
