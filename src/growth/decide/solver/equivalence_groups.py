"""Pods to groups: pods that are alike in all that packing can see are counted, not looked at one by one.

Alike means: same requests, same rules about nodes and other pods, same priority, and selected by the same selectors,
those of pods that are there included; labels that no selector in play reads make no difference. Pods of a template
share their spec and labels (see ``api.interning``), so most pods are recognised by identity alone.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import msgspec

from growth.api.offering import HOSTNAME, ZONE
from growth.api.pod import Pod, PodSpec
from growth.decide.fit.inter_pod_affinity import feared_by
from growth.decide.fit.node_affinity import required_affinity
from growth.decide.fit.node_resources import is_counted
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.solver.pod_constraints import ODD, PodConstraints, Selectors, rules_of
from growth.observe.pod_requests import Requests

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


@dataclass(slots=True)
class EquivalenceGroup:
    """Pods that are interchangeable."""

    pods: list[Pod]
    sample: Pod
    """One of them; any question about one is answered for all."""

    requests: Mapping[str, int]
    request_key: tuple[tuple[str, int], ...]
    """The requests as a value that can be compared and hashed."""

    node_rules: int
    """Which class of rules about nodes (selector, affinity, tolerations) they have."""

    rules: PodConstraints
    carries: int
    """Bit by bit, the selectors that select them."""

    priority: int
    pool: str
    """The pool they ask for; empty if they ask for none."""

    banned_zones: set[str] = field(default_factory=set[str])
    """Zones from which pods that are there keep them away."""

    uids: tuple[str, ...] = ()
    """All that were asked for, whatever becomes of them."""

    is_wary: bool = False
    """Whether a pod that is there may keep them off a node."""


@dataclass(frozen=True, slots=True)
class EquivalenceGroups:
    """All groups, most important first, then those of the largest pods, and what they refer to."""

    groups: list[EquivalenceGroup]
    selectors: Selectors


@dataclass(slots=True)
class _Known:
    """What follows from a spec."""

    spec: PodSpec
    requests: Mapping[str, int]
    request_key: tuple[tuple[str, int], ...]
    node_rules: int
    rules: dict[str, PodConstraints] = field(default_factory=dict[str, PodConstraints])


def grouped(pods: Iterable[Pod], simulated: SimulatedCluster) -> EquivalenceGroups:
    """Sort pods into groups, in an order that depends on nothing but what they are."""
    family: dict[tuple[str, int, int], list[Pod]] = {}
    for pod in pods:
        meta = pod.metadata
        key = (meta.namespace, id(pod.spec), id(meta.labels))
        alike = family.get(key)
        if alike is None:
            family[key] = [pod]
        else:
            alike.append(pod)
    # The order in which pods are named must make no difference, so their uids decide.
    firsts = {key: min([pod.metadata.uid for pod in alike]) for key, alike in family.items()}
    family = {key: family[key] for key in sorted(family, key=firsts.__getitem__)}
    selectors = Selectors()
    specs: dict[int, _Known] = {}
    node_rules: dict[bytes, int] = {}
    for (namespace, identity, _), alike in family.items():
        known = specs.get(identity)
        if known is None:
            known = specs[identity] = _known(alike[0], simulated, node_rules)
        if namespace not in known.rules:
            known.rules[namespace] = rules_of(alike[0], selectors)
    return EquivalenceGroups(_merged(family, specs, selectors, simulated), selectors)


def _merged(
    family: Mapping[tuple[str, int, int], list[Pod]],
    specs: Mapping[int, _Known],
    selectors: Selectors,
    simulated: SimulatedCluster,
) -> list[EquivalenceGroup]:
    groups: dict[tuple[object, ...], EquivalenceGroup] = {}
    is_haunted = bool(simulated.nodes) and simulated.has_repellents
    for (namespace, identity, _), alike in family.items():
        known = specs[identity]
        rules = known.rules[namespace]
        pod = alike[0]
        carries = selectors.carried(namespace, pod.metadata.labels)
        # Pods that are there may keep some of them away by labels that nobody else reads.
        feared = [one for one in feared_by(simulated, pod) if one.values] if is_haunted else []
        if any(one.key not in (HOSTNAME, ZONE) for one in feared):
            rules = ODD
        # Odd pods are asked about one by one, and what is asked may depend on anything.
        odd = (namespace, identity, id(pod.metadata.labels)) if rules.is_odd else ()
        fears = tuple(map(id, feared))
        key = (known.request_key, known.node_rules, rules, carries, pod.spec.priority, fears, odd)
        group = groups.get(key)
        if group is None:
            groups[key] = EquivalenceGroup(
                pods=list(alike),
                sample=pod,
                requests=known.requests,
                request_key=known.request_key,
                node_rules=known.node_rules,
                rules=rules,
                carries=carries,
                priority=pod.spec.priority,
                pool=_pool_of(pod.spec),
            )
        else:
            group.pods += alike
    for group in groups.values():
        group.uids = tuple([pod.metadata.uid for pod in group.pods])
    # Sorting is stable, so equal groups stay in the order of their uids.
    return sorted(groups.values(), key=_order)


def _order(group: EquivalenceGroup) -> tuple[int, int, int]:
    return -group.priority, -group.requests.get("cpu", 0), -group.requests.get("memory", 0)


def _known(pod: Pod, simulated: SimulatedCluster, node_rules: dict[bytes, int]) -> _Known:
    spec = pod.spec
    requests = _counted(simulated.requests(pod))
    required = required_affinity(spec) if spec.affinity else None
    is_bare = not spec.node_selector and not spec.tolerations and required is None
    text = b"" if is_bare else _encode((spec.node_selector, required, spec.tolerations))
    number = node_rules.setdefault(text, len(node_rules))
    return _Known(spec, requests, tuple(sorted(requests.items())), number)


def _counted(requests: Requests) -> dict[str, int]:
    """What the scheduler counts of the requests; it does not look at anything else."""
    return {name: amount for name, amount in requests.items() if amount and is_counted(name)}


def _pool_of(spec: PodSpec) -> str:
    """The pool that the spec names; ``*`` if it says something about pools that only its affinity can tell."""
    named = spec.node_selector.get("growth.dev/pool")
    if named is not None:
        return named
    required = required_affinity(spec)
    terms = required.node_selector_terms if required is not None else ()
    asks = any(one.key == "growth.dev/pool" for term in terms for one in term.match_expressions)
    return "*" if asks else ""
