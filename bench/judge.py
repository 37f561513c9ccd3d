"""A judge of plans that shares nothing with the planner: everything is counted anew from the pods and the offerings."""

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping
from typing import Final

from bench.loads import Load
from growth.api.offering import HOSTNAME, ZONE
from growth.api.pod import Pod
from growth.api.quantity import milli_value, value
from growth.api.selectors import LabelSelector
from growth.decide.solver.placement_solution import PlacementSolution

_RESOURCES: Final = ("cpu", "memory", "pods")


class WrongPlan(RuntimeError):
    """A plan that breaks a rule."""


def _require(holds: bool, what: str) -> None:  # noqa: FBT001 - reads like an assertion
    if not holds:
        raise WrongPlan(what)


def judged(load: Load, solution: PlacementSolution) -> str:
    """What was checked; raises WrongPlan with what is wrong."""
    nodes: dict[str, list[Pod]] = {node.name: list(node.pods) for node in solution.launch}
    labels: dict[str, Mapping[str, str]] = {
        node.name: {**node.offering.node_labels, HOSTNAME: node.name, "growth.dev/pool": "default"}
        for node in solution.launch
    }
    room = {node.name: node.offering.resources for node in solution.launch}
    snapshot = load.stage.snapshot
    for name, node in snapshot.nodes.items():
        nodes[name] = list(snapshot.pods_by_node.get(name, {}).values())
        labels[name] = node.metadata.labels
        room[name] = node.status.allocatable
    for filled in solution.existing:
        nodes[filled.node] += filled.pods
    placed = [pod.metadata.uid for node in solution.launch for pod in node.pods]
    placed += [pod.metadata.uid for filled in solution.existing for pod in filled.pods]
    placed += [one.pod.metadata.uid for one in solution.left_out]
    _require(sorted(placed) == sorted(pod.metadata.uid for pod in load.pods), "every pod once")
    for name, pods in nodes.items():
        _has_room(name, pods, room[name])
        for pod in pods:
            wanted = pod.spec.node_selector
            _require(all(labels[name].get(key) == text for key, text in wanted.items()), f"{name}: selector")
    ruled = [(pod, name) for name, pods in nodes.items() for pod in pods if pod.spec.affinity or _spreads(pod)]
    _Rules(nodes, labels).hold(ruled)
    cost = sum(node.offering.price_per_hour for node in solution.launch)
    _require(abs(cost - solution.cost_per_hour) < 1e-6, "the cost is the sum of prices")
    return f"{len(placed)} pods on {len(solution.launch)} new nodes, {len(ruled)} of them with rules about other pods"


def _has_room(name: str, pods: Iterable[Pod], room: Mapping[str, str]) -> None:
    asked: Counter[str] = Counter()
    for pod in pods:
        requests = pod.spec.containers[0].resources.requests
        asked["cpu"] += milli_value(requests["cpu"])
        asked["memory"] += value(requests["memory"])
        asked["pods"] += 1
    has = {"cpu": milli_value(room["cpu"]), "memory": value(room["memory"]), "pods": value(room["pods"])}
    _require(all(asked[resource] <= has[resource] for resource in _RESOURCES), f"{name}: {asked} of {has}")


def _spreads(pod: Pod) -> bool:
    return bool(pod.spec.topology_spread_constraints)


class _Rules:
    """Counts of pods by selector and by place."""

    def __init__(self, nodes: Mapping[str, list[Pod]], labels: Mapping[str, Mapping[str, str]]) -> None:
        self._nodes, self._labels = nodes, labels
        self._counts: dict[tuple[str, str, str], Counter[str]] = {}

    def hold(self, ruled: Iterable[tuple[Pod, str]]) -> None:
        for pod, name in ruled:
            where = self._labels[name]
            own = pod.metadata.labels
            affinity = pod.spec.affinity
            for term in affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ():
                count = self._at(term.label_selector, term.topology_key)[where[term.topology_key]]
                _require(count - _matches(term.label_selector, own) == 0, f"{name}: not apart")
            for term in affinity.pod_affinity.required if affinity and affinity.pod_affinity else ():
                counts = self._at(term.label_selector, term.topology_key)
                _require(counts[where[term.topology_key]] > 0, f"{name}: not together")
            for one in pod.spec.topology_spread_constraints:
                counts = self._at(one.label_selector, one.topology_key)
                # A node that is coming counts with nobody on it, so by node the emptiest has none.
                lowest = 0 if one.topology_key == HOSTNAME else min(counts[zone] for zone in self._zones())
                _require(counts[where[one.topology_key]] - lowest <= one.max_skew, f"{name}: not spread: {one}")

    def _zones(self) -> set[str]:
        return {labels[ZONE] for labels in self._labels.values()}

    def _at(self, selector: LabelSelector | None, key: str) -> Counter[str]:
        text, wanted = next(iter((selector or LabelSelector()).match_labels.items()))
        known = self._counts.get((text, wanted, key))
        if known is None:
            by_place: defaultdict[str, int] = defaultdict(int)
            for name, pods in self._nodes.items():
                by_place[self._labels[name][key]] += sum(pod.metadata.labels.get(text) == wanted for pod in pods)
            known = self._counts[text, wanted, key] = Counter(by_place)
        return known


def _matches(selector: LabelSelector | None, labels: dict[str, str]) -> int:
    return int(selector is not None and selector.matches(labels))
