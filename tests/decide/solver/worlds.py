"""Whole worlds to plan for, drawn widely: nodes and pods that stand, pools, limits, stock, and pods with every rule.

And oracles that know nothing of how a plan is made: every order of the scheduler, every machine that could be spared.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from growth.api.node import Node
from growth.api.node_pool import Limits, NodePool, ServerType
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.api.tolerations import Taint
from growth.decide.fit import SimulatedCluster, fit
from growth.decide.fit.template_node import TemplateNodes
from growth.decide.solver.placement_solution import PlacementSolution
from tests.decide.solver.shop import HOST, ZONE, ZONES, a_pool, an_offering, apart, spread, together
from tests.decide.stages import a_node, a_pod, a_stage

APPS = ("a", "b", "c")
TAINT = {"key": "dedicated", "value": "db", "effect": "NoSchedule"}
TOLERATION = {"key": "dedicated", "operator": "Exists"}


@dataclass(frozen=True)
class World:
    nodes: list[Node]
    existing: list[Pod]
    waiting: list[Pod]
    pools: list[NodePool]
    offerings: list[Offering]

    def stage(self) -> SimulatedCluster:
        return a_stage(self.nodes, [*self.existing, *self.waiting])


@st.composite
def rules(draw: st.DrawFn, app: str) -> dict[str, Any]:
    """One rule mostly, sometimes two at once."""
    one = draw(_rule(app))
    if draw(st.integers(0, 5)):
        return one
    return _united(one, draw(_rule(app)))


@st.composite
def _rule(draw: st.DrawFn, app: str) -> dict[str, Any]:
    other = draw(st.sampled_from(APPS))
    skew = draw(st.sampled_from([1, 1, 2]))
    expression = {"key": "app", "operator": draw(st.sampled_from(["NotIn", "In"])), "values": [other]}
    both_ways = {
        "topologyKey": draw(st.sampled_from([HOST, ZONE])),
        "labelSelector": {"matchExpressions": [expression]},
    }
    options: list[dict[str, Any]] = [
        {},
        {},
        apart(app),
        apart(app, ZONE),
        apart(other),
        apart(other, ZONE),
        {"affinity": {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [both_ways]}}},
        spread(app, skew=skew),
        spread(other, skew=skew),
        spread(app, HOST, skew),
        spread(other, HOST, skew),
        _at_least(spread(app), draw(st.integers(2, 3))),
        _at_least(spread(app, HOST), draw(st.integers(2, 3))),
        together(app),
        together(other),
        together(app, HOST),
        together(other, HOST),
        {"nodeSelector": {ZONE: draw(st.sampled_from(ZONES))}},
        {"nodeSelector": {"growth.dev/pool": draw(st.sampled_from(["default", "extra"]))}},
        {"tolerations": [TOLERATION]},
        {"ports": [{"containerPort": 80, "hostPort": 8080}]},
    ]
    return draw(st.sampled_from(options))


def _at_least(rule: dict[str, Any], domains: int) -> dict[str, Any]:
    return {"topologySpreadConstraints": [{**rule["topologySpreadConstraints"][0], "minDomains": domains}]}


def _united(one: dict[str, Any], two: dict[str, Any]) -> dict[str, Any]:
    both = {**one, **two}
    if "affinity" in one and "affinity" in two:
        both["affinity"] = {**one["affinity"], **two["affinity"]}
    if "topologySpreadConstraints" in one and "topologySpreadConstraints" in two:
        first, second = one["topologySpreadConstraints"][0], two["topologySpreadConstraints"][0]
        if first["topologyKey"] != second["topologyKey"]:
            both["topologySpreadConstraints"] = [first, second]
    return both


def drawn_pod(app: str, cpu: str, memory: str, rule: dict[str, Any], **fields: Any) -> Pod:  # noqa: ANN401
    container: dict[str, Any] = {"name": "main", "resources": {"requests": {"cpu": cpu, "memory": memory}}}
    spec = {key: value for key, value in rule.items() if key != "ports"}
    if "ports" in rule:
        container["ports"] = rule["ports"]
    return a_pod(labels={"app": app}, containers=[container], **spec, **fields)


@st.composite
def waiting_pods(draw: st.DrawFn, most: int) -> list[Pod]:
    waiting: list[Pod] = []
    while len(waiting) < most and (not waiting or draw(st.integers(0, 4))):
        app, priority = draw(st.sampled_from(APPS)), draw(st.sampled_from([0, 0, 100]))
        cpu, memory = (
            draw(st.sampled_from(["100m", "500m", "1", "1500m", "3"])),
            draw(st.sampled_from(["128Mi", "1Gi"])),
        )
        rule = draw(rules(app))
        count = draw(st.integers(1, max(1, most // 2)))
        waiting += [drawn_pod(app, cpu, memory, rule, priority=priority) for _ in range(count)]
    return waiting[:most]


@st.composite
def worlds(draw: st.DrawFn, *, most: int = 12, limits: bool = True) -> World:
    nodes = [
        a_node(
            f"old-{n}",
            cpu=draw(st.sampled_from(["0", "1", "2", "4"])),
            labels={ZONE: draw(st.sampled_from(ZONES)), "growth.dev/pool": draw(st.sampled_from(["default", "extra"]))},
            taints=[TAINT] if not draw(st.integers(0, 5)) else [],
            unschedulable=not draw(st.integers(0, 9)),
        )
        for n in range(draw(st.sampled_from([0, 0, 1, 2, 3])))
    ]
    existing: list[Pod] = []
    for n in range(draw(st.integers(0, 3)) if nodes else 0):
        app, node = draw(st.sampled_from(APPS)), draw(st.sampled_from(nodes)).metadata.name
        rule = draw(rules(app))
        leaving = not draw(st.integers(0, 5))
        existing.append(drawn_pod(app, "100m", "64Mi", rule, name=f"standing-{n}", node=node, terminating=leaving))
    offerings = draw(_offerings(limits=limits))
    pools = [draw(_pool("default", offerings, limits=limits))]
    if draw(st.booleans()):
        pools.append(draw(_pool("extra", offerings, limits=limits)))
    return World(nodes, existing, draw(waiting_pods(most)), pools, offerings)


@st.composite
def _offerings(draw: st.DrawFn, *, limits: bool) -> list[Offering]:
    offerings: list[Offering] = []
    for size in draw(st.lists(st.sampled_from([1, 2, 4, 8]), min_size=1, max_size=3, unique=True)):
        for zone in draw(st.lists(st.sampled_from(ZONES), min_size=1, max_size=3, unique=True)):
            price = round(size * draw(st.sampled_from([0.5, 0.5, 0.5, 0.6, 0.0])), 4)
            stock = draw(st.sampled_from([None] * 9 + [0, 1, 3])) if limits else None
            offerings.append(
                an_offering(f"s{size}", zone, cpu=str(size), memory=f"{2 * size}Gi", price=price, stock=stock)
            )
    return offerings


@st.composite
def _pool(draw: st.DrawFn, name: str, offerings: Sequence[Offering], *, limits: bool) -> NodePool:
    def maybe(*values: object) -> Any:  # noqa: ANN401
        return draw(st.sampled_from([None] * 8 + [*values])) if limits else None

    types = [
        ServerType(one, max=maybe(1, 2), priority=draw(st.sampled_from([0, 0, 0, 1])))
        for one in sorted({offering.server_type for offering in offerings})
    ]
    stated = Limits(nodes=maybe(0, 1, 3), cpu=maybe("8"), memory=maybe("8Gi"), cost_per_hour=maybe("2"))
    taints = [Taint("dedicated", "db", "NoSchedule")] if not draw(st.integers(0, 5)) else []
    return a_pool(name, types, priority=draw(st.sampled_from([0, 0, 1])), limits=stated, taints=taints)


def enter(solution: PlacementSolution, stage: SimulatedCluster) -> dict[str, tuple[Pod, str]]:
    """Put the planned nodes on a stage; returned is who is meant for where, by uid."""
    maker = TemplateNodes(stage)
    for node in solution.launch:
        maker.make(node.name, node.pool, node.offering).enter(stage)
    placements = [(pod, node.name) for node in solution.launch for pod in node.pods]
    placements += [(pod, one.node) for one in solution.existing for pod in one.pods]
    return {pod.metadata.uid: (pod, node) for pod, node in placements}


def order_that_gets_stuck(stage: SimulatedCluster, placements: Sequence[tuple[Pod, str]]) -> list[str] | None:
    """Some order in which the scheduler could take the pods so that not all of them ever find their place.

    All orders are tried. Who is there already decides what comes next, not in which order they came.
    """
    seen: set[frozenset[int]] = set()

    def follow(here: frozenset[int], order: list[str]) -> list[str] | None:
        seen.add(here)
        able = [n for n, (pod, node) in enumerate(placements) if n not in here and fit(stage, pod, node) is None]
        if not able:
            return None if len(here) == len(placements) else order
        for n in able:
            if here | {n} in seen:
                continue
            pod, node = placements[n]
            stage.place(pod, node)
            found = follow(here | {n}, [*order, pod.metadata.name])
            stage.remove(pod.metadata.uid, node)
            if found is not None:
                return found
        return None

    return follow(frozenset(), [])


def machine_that_could_be_spared(solution: PlacementSolution, stage: SimulatedCluster) -> str:
    """The name of a planned machine without which everybody would still find a place in any order, or nothing.

    Only its own pods move, one after the other, each to the first of the others that takes it.
    """
    placements = enter(solution, stage)
    for spared in solution.launch:
        mark = stage.mark()
        stage.remove_node(spared.name)
        moved = {uid: place for uid, place in placements.items() if place[1] != spared.name}
        for pod, node in moved.values():
            stage.place(pod, node)
        for pod in spared.pods:
            home = next((name for name in stage.nodes if fit(stage, pod, name) is None), "")
            if not home:
                break
            stage.place(pod, home)
            moved[pod.metadata.uid] = (pod, home)
        if len(moved) == len(placements):
            for uid, (_, node) in moved.items():
                stage.remove(uid, node)
            if order_that_gets_stuck(stage, list(moved.values())) is None:
                return spared.name
        stage.back_to(mark)
    return ""
