"""What pods of one spec ask of other pods, as far as the solver models it in arrays.

Two topologies are modelled: the node itself and its zone. Everything else (other topologies, volumes, host ports,
namespace selectors, rare policies) makes a pod *odd*: it is placed one by one, with Fit, after the others. Odd is
correct and slow; modelled is correct and fast.
"""

from dataclasses import dataclass

import msgspec

from growth.api.offering import HOSTNAME, ZONE
from growth.api.pod import Pod, PodAffinityTerm, TopologySpreadConstraint
from growth.api.selectors import LabelSelector
from growth.decide.fit.node_ports import host_ports

_encode = msgspec.msgpack.Encoder(order="deterministic").encode


@dataclass(frozen=True, slots=True)
class PodConstraints:
    """Constraints by selector number (see Selectors)."""

    host_caps: tuple[tuple[int, int], ...] = ()
    """(selector, how many pods that it selects may be on the node, this one included)."""

    host_apart: tuple[int, ...] = ()
    """Selectors of which no *other* pod may be on the node."""

    zone_spread: tuple[tuple[int, int], ...] = ()
    """(selector, maxSkew)."""

    zone_apart: tuple[int, ...] = ()
    zone_together: tuple[int, ...] = ()
    is_odd: bool = False

    @property
    def may_be_let_in_later(self) -> bool:
        """Whether a node that refuses such a pod now may take it when others have come."""
        return bool(self.is_odd or self.zone_spread or self.zone_together or self.host_caps)


PLAIN = PodConstraints()
ODD = PodConstraints(is_odd=True)


class Selectors:
    """All selectors in play, numbered; a selector reads pods of one namespace."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, bytes], int] = {}
        self._selectors: list[tuple[str, LabelSelector]] = []
        self._masks: dict[tuple[str, int], tuple[dict[str, str], int, int]] = {}

    def number(self, namespace: str, selector: LabelSelector) -> int:
        """The number of this selector in this namespace."""
        key = (namespace, _encode(selector))
        known = self._numbers.get(key)
        if known is None:
            known = self._numbers[key] = len(self._selectors)
            self._selectors.append((namespace, selector))
        return known

    def __len__(self) -> int:
        return len(self._selectors)

    def carried(self, namespace: str, labels: dict[str, str]) -> int:
        """Bit by bit, which selectors select a pod of these labels. Asked once for all pods that share them."""
        if not self._selectors:
            return 0
        key = (namespace, id(labels))
        known = self._masks.get(key)
        if known is None or known[2] != len(self._selectors):
            mask = 0
            for number, (where, selector) in enumerate(self._selectors):
                if where == namespace and selector.matches(labels):
                    mask |= 1 << number
            # The labels are kept along, so that nothing else can take over their identity.
            known = self._masks[key] = (labels, mask, len(self._selectors))
        return known[1]


def rules_of(pod: Pod, selectors: Selectors) -> PodConstraints:
    """The rules of a pod; they depend on its spec and namespace alone."""
    spec, namespace = pod.spec, pod.metadata.namespace
    affinity = spec.affinity
    near = affinity.pod_affinity.required if affinity and affinity.pod_affinity else ()
    apart = affinity.pod_anti_affinity.required if affinity and affinity.pod_anti_affinity else ()
    spread = [c for c in spec.topology_spread_constraints if c.when_unsatisfiable == "DoNotSchedule"]
    if spec.volumes or host_ports(spec):
        return ODD
    if not (near or apart or spread):
        return PLAIN
    if any(map(_is_odd_term, (*near, *apart))) or any(_is_odd_spread(one, pod) for one in spread):
        return ODD
    spread = [one for one in spread if _reads_labels(one.label_selector)]
    numbered = [(selectors.number(namespace, _own(one.label_selector)), one) for one in spread]
    away = [(selectors.number(namespace, _own(term.label_selector)), term) for term in apart if term.label_selector]
    rules = PodConstraints(
        host_caps=tuple((number, one.max_skew) for number, one in numbered if one.topology_key == HOSTNAME),
        host_apart=tuple(number for number, term in away if term.topology_key == HOSTNAME),
        zone_spread=tuple((number, one.max_skew) for number, one in numbered if one.topology_key == ZONE),
        zone_apart=tuple(number for number, term in away if term.topology_key == ZONE),
        zone_together=tuple(selectors.number(namespace, _own(term.label_selector)) for term in near),
    )
    options = (rules.zone_spread, rules.zone_apart, rules.zone_together)
    # Rules of several kinds about zones at once are rare, and so are several spreads over zones.
    return ODD if sum(map(bool, options)) > 1 or any(len(option) > 1 for option in options) else rules


def _own(selector: LabelSelector | None) -> LabelSelector:
    return selector or LabelSelector()


def _reads_labels(selector: LabelSelector | None) -> bool:
    """No selector, or an empty one, never keeps a pod from being spread: the scheduler counts nobody for it."""
    return selector is not None and bool(selector.match_labels or selector.match_expressions)


def _is_odd_term(term: PodAffinityTerm) -> bool:
    if term.namespaces or term.namespace_selector is not None or term.topology_key not in (HOSTNAME, ZONE):
        return True
    return term.label_selector is None


def _is_odd_spread(one: TopologySpreadConstraint, pod: Pod) -> bool:
    if one.topology_key not in (HOSTNAME, ZONE) or (one.min_domains or 1) > 1:
        return True
    if one.node_affinity_policy != "Honor" or one.node_taints_policy != "Ignore":
        return True
    if not one.match_label_keys:
        return False
    # The API server has merged these keys into the selector when the pod was made; if not, the scheduler still would.
    expressions = one.label_selector.match_expressions if one.label_selector else ()
    merged = {(r.key, r.values) for r in expressions if r.operator == "In"}
    labels = pod.metadata.labels
    return any(key in labels and (key, (labels[key],)) not in merged for key in one.match_label_keys)
