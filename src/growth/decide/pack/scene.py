"""What stands already, as far as the rules of pods that come look at it: pods by zone, zones with nodes, repellents."""

from collections.abc import Mapping, Sequence

from growth.api.offering import ZONE
from growth.decide.fit.interpod import FILTER as INTERPOD
from growth.decide.fit.node_affinity import matcher
from growth.decide.fit.stage import Stage
from growth.decide.fit.verdict import fit
from growth.decide.pack.groups import Group
from growth.decide.pack.market import Market
from growth.decide.pack.rules import Selectors


def count_by_zone(stage: Stage, selectors: Selectors) -> Mapping[int, Mapping[str, int]]:
    """By selector and zone, the pods that stand there; pods on their way out still count for affinity."""
    counts: dict[int, dict[str, int]] = {}
    for site in stage.sites():
        zone = site.labels.get(ZONE)
        if zone is None:
            continue
        for pod in site.pods.values():
            mask = selectors.carried(pod.metadata.namespace, pod.metadata.labels)
            number = 0
            while mask:
                if mask & 1:
                    of_selector = counts.setdefault(number, {})
                    of_selector[zone] = of_selector.get(zone, 0) + 1
                mask >>= 1
                number += 1
    return counts


def zones_with_nodes(stage: Stage, group: Group) -> set[str]:
    """Zones whose nodes count for the group's spread: those that its selector and affinity allow."""
    matches = matcher(group.sample.spec)
    found: set[str] = set()
    for name, node in stage.nodes.items():
        zone = node.metadata.labels.get(ZONE)
        if zone is not None and zone not in found and (matches is None or matches(node.metadata.labels, name)):
            found.add(zone)
    return found


def mark_the_wary(stage: Stage, groups: Sequence[Group], market: Market) -> None:
    """Note which groups are kept away, by pods that stand there, from nodes or from whole zones."""
    if not stage.nodes or not stage.has_repellents or not any(True for _ in stage.crowd.repellents):
        return
    fresh = {kind.zone: kind for kind in reversed(market.kinds)}
    mark = stage.mark()
    for kind in fresh.values():
        kind.new.enter(stage)
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
                misfit = fit(stage, group.sample, kind.new.node.metadata.name)
                if misfit is not None and misfit.filter == INTERPOD:
                    known[key].add(zone)
        group.banned_zones |= known[key]
    stage.back_to(mark)
