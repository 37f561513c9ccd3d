"""A small shop for planner tests: pools, offerings, pods with rules, and a judge that trusts nobody.

The judge knows nothing of how a plan is made: it replays it with Fit, pod by pod, on a stage of its own.
"""

from collections.abc import Mapping, Sequence
from typing import Any

from growth.api.meta import ObjectMeta
from growth.api.node_pool import Limits, NodePool, NodePoolSpec, ServerType
from growth.api.offering import Offering, offering_id
from growth.api.pod import Pod
from growth.api.tolerations import Taint
from growth.decide.fit import SimulatedCluster, fit
from growth.decide.fit.template_node import TemplateNodes
from growth.decide.solver.node_options import node_options_of
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.planner import plan
from growth.decide.solver.problem import StepBudget
from tests.decide.stages import a_pod, a_stage

ZONES = ("zone-a", "zone-b", "zone-c")
ZONE, HOST = "topology.kubernetes.io/zone", "kubernetes.io/hostname"


def an_offering(
    name: str = "s2",
    zone: str = "zone-a",
    *,
    cpu: str = "2",
    memory: str = "4Gi",
    price: float = 1.0,
    stock: int | None = None,
    **resources: str,
) -> Offering:
    return Offering(
        id=offering_id("shop", name, zone),
        provider="shop",
        server_type=name,
        location=zone,
        price_per_hour=price,
        resources={"cpu": cpu, "memory": memory, "pods": "20", **resources},
        stock=stock,
    )


def in_all_zones(*offerings: Offering) -> list[Offering]:
    return [
        an_offering(one.server_type, zone, cpu=one.resources["cpu"], memory=one.resources["memory"],
                    price=one.price_per_hour)
        for one in offerings for zone in ZONES
    ]  # fmt: skip


SMALL, LARGE = an_offering("s2"), an_offering("s8", cpu="8", memory="16Gi", price=3.6)
EVERYWHERE = in_all_zones(SMALL, LARGE)


def a_pool(
    name: str = "default",
    types: Sequence[str | ServerType] = ("s2", "s8"),
    *,
    priority: int = 0,
    limits: Limits | None = None,
    labels: Mapping[str, str] | None = None,
    taints: Sequence[Taint] = (),
) -> NodePool:
    server_types = tuple(ServerType(one) if isinstance(one, str) else one for one in types)
    spec = NodePoolSpec(
        server_types=server_types,
        priority=priority,
        limits=limits or Limits(),
        labels=dict(labels or {}),
        taints=tuple(taints),
    )
    return NodePool(ObjectMeta(name=name, uid=f"pool-{name}"), spec)


def pods(count: int, cpu: str = "1", memory: str = "1Gi", app: str = "web", **spec: Any) -> list[Pod]:  # noqa: ANN401
    return [a_pod(requests={"cpu": cpu, "memory": memory}, labels={"app": app}, **spec) for _ in range(count)]


def selector(app: str) -> dict[str, Any]:
    return {"matchLabels": {"app": app}}


def apart(app: str, key: str = HOST) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": selector(app)}
    return {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def together(app: str, key: str = ZONE) -> dict[str, Any]:
    term = {"topologyKey": key, "labelSelector": selector(app)}
    return {"affinity": {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def spread(app: str, key: str = ZONE, skew: int = 1) -> dict[str, Any]:
    one = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": selector(app)}
    return {"topologySpreadConstraints": [one]}


def solve(
    waiting: Sequence[Pod],
    offerings: Sequence[Offering] = EVERYWHERE,
    pools: Sequence[NodePool] | None = None,
    *,
    stage: SimulatedCluster | None = None,
    budget: StepBudget | None = None,
) -> PlacementSolution:
    stage = stage or a_stage(pods=waiting)
    return plan(stage, waiting, node_options_of(stage, pools if pools is not None else [a_pool()], offerings), budget)


def judge(solution: PlacementSolution, waiting: Sequence[Pod], stage: SimulatedCluster | None = None) -> None:
    """Nobody twice, nobody lost, and everybody fits where the plan says, in some order, all together."""
    stage = stage or a_stage(pods=waiting)
    placements = [(pod, node.name) for node in solution.launch for pod in node.pods]
    placements += [(pod, node.node) for node in solution.existing for pod in node.pods]
    uids = [pod.metadata.uid for pod, _ in placements] + [one.pod.metadata.uid for one in solution.left_out]
    assert len(uids) == len(set(uids)), "a pod is placed twice"
    assert set(uids) == {pod.metadata.uid for pod in waiting}, "a pod is neither placed nor left out"
    assert all(node.pods for node in solution.launch), "a machine is bought for nobody"
    mark = stage.mark()
    maker = TemplateNodes(stage)
    for node in solution.launch:
        maker.make(node.name, node.pool, node.offering).enter(stage)
    while placements:
        left: list[tuple[Pod, str]] = []
        for pod, name in placements:
            if fit(stage, pod, name) is None:
                stage.place(pod, name)
            else:
                left.append((pod, name))
        assert len(left) < len(placements), f"does not fit: {[(p.metadata.name, fit(stage, p, n)) for p, n in left]}"
        placements = left
    stage.back_to(mark)


def cost_of(solution: PlacementSolution) -> float:
    return round(sum(node.offering.price_per_hour for node in solution.launch), 9)
