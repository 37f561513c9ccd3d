"""PodTopologySpread: how evenly pods of a kind must lie over the values of a node label.

A constraint passes if the pods that it counts in the node's domain, with the new one, are at most ``maxSkew`` more than
in the emptiest domain. Which nodes make up the domains depends on the pod: they carry the keys of all its constraints,
and (by policy) match its node affinity and have no taint that it does not tolerate. A domain without pods counts as
soon as one such node exists, so a new node with a new value lowers the minimum to zero. If there are fewer domains
than ``minDomains``, the minimum is zero.

Constraints with ScheduleAnyway are wishes and never looked at here.
"""

from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from growth.api.pod import Pod, TopologySpreadConstraint
from growth.api.selectors import LabelSelector, NodeSelector, selects
from growth.api.taints import tolerations_of
from growth.api.tolerations import Toleration, untolerated
from growth.decide.fit import node_affinity
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.decide.fit.pod_counts import PodCounts, PodFamily

FILTER: Final = "PodTopologySpread"
HARD: Final = "DoNotSchedule"


def hard_constraints(pod: Pod) -> tuple[TopologySpreadConstraint, ...]:
    """The constraints that may block the pod."""
    return tuple(
        preference for preference in pod.spec.topology_spread_constraints if preference.when_unsatisfiable == HARD
    )


def prepare(counts: PodCounts, pod: Pod) -> Check | None:
    """The check for pods of these labels, namespace, spec and keys; None without hard constraints."""
    constraints = hard_constraints(pod)
    if not constraints:
        return None
    keys = tuple(constraint.topology_key for constraint in constraints)
    limits = [_Limit(counts, pod, constraint, keys) for constraint in constraints]

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        for limit in limits:
            misfit = limit.misfit(node_info)
            if misfit is not None:
                return misfit
        return None

    return check


def prepare_wishes(counts: PodCounts, pod: Pod) -> list[Callable[[NodeInfo], int]]:
    """For each soft constraint, by how many pods a node would exceed the skew that is wished for."""
    preferences = [
        preference for preference in pod.spec.topology_spread_constraints if preference.when_unsatisfiable != HARD
    ]
    keys = tuple(wish.topology_key for wish in preferences)
    return [_Limit(counts, pod, wish, keys).excess for wish in preferences]


def crowded_out(counts: PodCounts, pod: Pod, nominated: Sequence[Pod], node_info: NodeInfo) -> FilterRefusal | None:
    """What a selector that asks for nothing makes of pods that are nominated to the node: these alone it counts.

    The scheduler counts those that are there from scratch, where such a selector counts nobody, and adds those that are
    nominated one by one, where it selects everybody.
    """
    count = sum(other.metadata.namespace == pod.metadata.namespace for other in nominated)
    constraints = hard_constraints(pod) if count else ()
    keys = tuple(constraint.topology_key for constraint in constraints)
    for constraint in constraints:
        selector = effective_selector(constraint, pod)
        if selector is not None and is_empty(selector):
            misfit = _Limit(counts, pod, constraint, keys).misfit(node_info, count)
            if misfit is not None:
                return misfit
    return None


class _Limit:
    """One constraint of one kind of pod."""

    def __init__(
        self, counts: PodCounts, pod: Pod, constraint: TopologySpreadConstraint, keys: tuple[str, ...]
    ) -> None:
        selector = effective_selector(constraint, pod)
        scope = _Scope(
            pod.metadata.namespace,
            selector,
            constraint.topology_key,
            keys,
            pod.spec.node_selector if constraint.node_affinity_policy == "Honor" else {},
            node_affinity.required_affinity(pod.spec) if constraint.node_affinity_policy == "Honor" else None,
            tolerations_of(pod) if constraint.node_taints_policy == "Honor" else None,
        )
        self._domains = counts.shared(scope, lambda: _follow(counts, scope))
        self._itself = 1 if selects(selector, pod.metadata.labels) else 0
        self._key = constraint.topology_key
        self._max_skew = constraint.max_skew
        self._min_domains = constraint.min_domains or 1

    def excess(self, node_info: NodeInfo) -> int:
        """By how many pods the skew would be too large; 1 on a node that is in no domain."""
        value = node_info.labels.get(self._key)
        if value is None:
            return 1
        return max(0, self._domains.pods.get(value, 0) + self._itself - self._domains.least - self._max_skew)

    def misfit(self, node_info: NodeInfo, more: int = 0) -> FilterRefusal | None:
        """Why the node would make the skew too large, if it would: with so many more pods than are counted there."""
        value = node_info.labels.get(self._key)
        if value is None:
            reason = f"spreads over {self._key}, a label that the node does not have"
            return FilterRefusal(FILTER, reason, is_permanent=True)
        pods = self._domains.pods
        least = self._domains.least if len(pods) >= self._min_domains else 0
        if more and len(pods) == 1 >= self._min_domains:
            least += more  # it is the emptiest domain itself
        here = pods.get(value, 0) + more + self._itself
        if here - least <= self._max_skew:
            return None
        if len(pods) < self._min_domains:
            least_words = f"minDomains is {self._min_domains} and there are only {len(pods)} domains"
        else:
            least_words = f"the emptiest of {len(pods)} domains has {least}"
        where = f"{self._key}={value}"
        reason = f"{where} would have {here} pods of its kind; {least_words} (maxSkew {self._max_skew})"
        return FilterRefusal(FILTER, reason, is_permanent=False)


class _Scope(msgspec.Struct, frozen=True):
    """What is counted for a constraint, and on which nodes: alike for many pods that differ in what they ask for."""

    namespace: str
    selector: LabelSelector | None
    key: str
    keys: tuple[str, ...]
    node_selector: dict[str, str]
    affinity: NodeSelector | None
    tolerations: tuple[Toleration, ...] | None


def _follow(counts: PodCounts, scope: _Scope) -> "_Domains":
    domains = _Domains(scope)
    counts.follow_domains(domains)
    return domains


class _Domains:
    """The number of pods in every domain of a scope; ``least`` is that of the emptiest."""

    def __init__(self, scope: _Scope) -> None:
        self._namespace = scope.namespace
        self._selector = scope.selector
        self._counts_nobody = scope.selector is None or is_empty(scope.selector)
        self._key = scope.key
        self._keys = scope.keys
        self._matches = node_affinity.matching(scope.node_selector, scope.affinity)
        self._tolerations = scope.tolerations
        self._domain_of: dict[str, str] = {}  # eligible nodes only
        self._nodes: dict[str, int] = {}  # eligible nodes in each domain
        self._levels: dict[int, int] = {}  # how many domains have so many pods
        self.pods: dict[str, int] = {}  # in each domain, zeros too
        self.least = 0

    def includes(self, family: PodFamily) -> bool:
        return (
            not self._counts_nobody
            and not family.is_terminating
            and family.namespace == self._namespace
            and selects(self._selector, family.labels)
        )

    def open(self, node_info: NodeInfo) -> None:
        if not self._is_eligible(node_info):
            return
        value = self._domain_of[node_info.name] = node_info.labels[self._key]
        nodes = self._nodes[value] = self._nodes.get(value, 0) + 1
        if nodes == 1:
            self.pods[value] = 0
            self._levels[0] = self._levels.get(0, 0) + 1
            self.least = 0

    def close(self, node_info: NodeInfo) -> None:
        value = self._domain_of.pop(node_info.name, None)
        if value is None:
            return
        self._nodes[value] -= 1
        if not self._nodes[value]:
            del self._nodes[value]
            self._leave_level(self.pods.pop(value))
            self.least = min(self._levels, default=0)

    def change(self, node_info: NodeInfo, by: int) -> None:
        value = self._domain_of.get(node_info.name)
        if value is None:
            return
        before = self.pods[value]
        after = self.pods[value] = before + by
        self._leave_level(before)
        self._levels[after] = self._levels.get(after, 0) + 1
        if after < self.least:
            self.least = after
        elif before == self.least and before not in self._levels:
            # The last of the emptiest domains filled up: the next level is near, whatever the number of domains.
            self.least = min(self._levels)

    def _leave_level(self, level: int) -> None:
        self._levels[level] -= 1
        if not self._levels[level]:
            del self._levels[level]

    def _is_eligible(self, node_info: NodeInfo) -> bool:
        labels = node_info.labels
        for key in self._keys:
            if key not in labels:
                return False
        if self._matches is not None and not self._matches(labels, node_info.name):
            return False
        if self._tolerations is None or not node_info.blocking_taints:
            return True
        return untolerated(node_info.blocking_taints, self._tolerations) is None


def effective_selector(constraint: TopologySpreadConstraint, pod: Pod) -> LabelSelector | None:
    """The selector with the pod's own values of matchLabelKeys; keys that the pod lacks are ignored.

    The API server merges them, too, but the scheduler reads the labels that the pod has now.
    """
    selector, labels = constraint.label_selector, pod.metadata.labels
    if selector is None:
        return None
    own = {key: labels[key] for key in constraint.match_label_keys if key in labels}
    if not own:
        return selector
    # The selector's own value for a key must hold as well; two different ones can never both hold.
    if any(selector.match_labels.get(key, value) != value for key, value in own.items()):
        return None
    return LabelSelector({**selector.match_labels, **own}, selector.match_expressions)


def is_empty(selector: LabelSelector) -> bool:
    """Whether a selector asks for nothing. Here it counts no pod that is there, though it selects every one."""
    return not selector.match_labels and not selector.match_expressions
