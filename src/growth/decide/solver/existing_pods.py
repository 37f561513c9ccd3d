"""What stands already, as far as the rules of pods that come look at it: pods by zone, zones with nodes, repellents."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from growth.api.offering import ZONE
from growth.decide.fit.inter_pod_affinity import FILTER as INTERPOD
from growth.decide.fit.node_affinity import matcher
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.node_options import NodeOptions
from growth.decide.solver.pod_constraints import Selectors


@dataclass(slots=True)
class ExistingPods:
    """Pods that stand there, by selector and zone."""

    counts: dict[int, dict[str, int]] = field(default_factory=dict[int, dict[str, int]])
    uncounted: set[int] = field(default_factory=set[int])
    """Selectors of which some pods do not count for those that are spread over them: on their way out, or on nodes
    that these do not look at. For affinity they would."""


def count_by_zone(
    simulated: SimulatedCluster, selectors: Selectors, spread: Mapping[int, EquivalenceGroup]
) -> ExistingPods:
    """Count the pods that stand there; ``spread`` says by selector who is spread over it, and so what counts."""
    matchers = {selector: matcher(group.sample.spec) for selector, group in spread.items()}
    context = ExistingPods()
    for node_info in simulated.sites():
        zone = node_info.labels.get(ZONE)
        if zone is None:
            continue
        for pod in node_info.pods.values():
            mask = selectors.carried(pod.metadata.namespace, pod.metadata.labels)
            number = -1
            while mask:
                is_carried = mask & 1
                mask >>= 1
                number += 1
                if not is_carried:
                    continue
                if number in matchers:
                    matches, is_terminating = matchers[number], pod.metadata.deletion_timestamp is not None
                    if is_terminating or (matches is not None and not matches(node_info.labels, node_info.name)):
                        context.uncounted.add(number)
                        continue
                of_selector = context.counts.setdefault(number, {})
                of_selector[zone] = of_selector.get(zone, 0) + 1
    return context


def zones_with_nodes(simulated: SimulatedCluster, group: EquivalenceGroup) -> set[str]:
    """Zones whose nodes count for the group's spread: those that its selector and affinity allow."""
    matches = matcher(group.sample.spec)
    found: set[str] = set()
    for name, node in simulated.nodes.items():
        zone = node.metadata.labels.get(ZONE)
        if zone is not None and zone not in found and (matches is None or matches(node.metadata.labels, name)):
            found.add(zone)
    return found


def mark_the_wary(simulated: SimulatedCluster, groups: Sequence[EquivalenceGroup], node_options: NodeOptions) -> None:
    """Note which groups are kept away, by pods that stand there, from nodes or from whole zones."""
    if not simulated.nodes or not simulated.has_repellents or not any(True for _ in simulated.counts.repellents):
        return
    fresh = {option.zone: option for option in reversed(node_options.options)}
    mark = simulated.mark()
    for kind in fresh.values():
        kind.new.enter(simulated)
    known: dict[tuple[str, int], set[str]] = {}
    for group in groups:
        meta = group.sample.metadata
        group.is_wary = True
        if group.rules.zone_together or group.rules.zone_apart or group.rules.is_odd:
            continue
        key = (meta.namespace, id(meta.labels))
        if key not in known:
            known[key] = set()
            for zone, kind in fresh.items():
                misfit = fit(simulated, group.sample, kind.new.node.metadata.name)
                if misfit is not None and misfit.filter == INTERPOD:
                    known[key].add(zone)
        group.banned_zones |= known[key]
    simulated.back_to(mark)
