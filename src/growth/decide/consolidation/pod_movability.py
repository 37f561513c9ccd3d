"""May a pod be moved to another node, and if not, why?

Moving means: it is evicted here, and its controller makes it anew elsewhere. What goes with its node (DaemonSets,
static pods) and what is being deleted already need not be moved.

Storage on the node's disk (``hostPath``, ``emptyDir`` unless in memory) keeps a pod where it is, as Cluster Autoscaler
and ``kubectl drain`` have it: what is in there is lost, and nobody but its owner knows whether that matters. Karpenter
moves such pods; we save money by our own choice, so the doubt counts for the pod. Cluster Autoscaler's annotations are
understood: ``safe-to-evict: "true"`` on the pod lets it go in any case, ``safe-to-evict-local-volumes`` names volumes
that may be lost. A PersistentVolume of one host is another matter: no annotation brings it along.

A Job's pod is not moved for money: its work would begin anew, and cost more than the move saves. It ends by itself.
Where a node must go, it goes.

Disruption budgets are asked as the eviction API asks them (Kubernetes 1.35): never of a pod that has not begun; two
budgets for one pod are refused for ever. That a pod which is not ready may sometimes go beyond its budget
(``unhealthyPodEvictionPolicy``) is left to whoever evicts: here it stays, until it is well.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, POD_DISRUPTION_BUDGETS
from growth.api.offering import HOSTNAME
from growth.api.pod import Pod
from growth.api.pod_classification import ends_by_itself, forbids, is_work
from growth.api.selectors import IN, NODE_NAME_FIELD, NodeSelectorTerm, Requirement, selects
from growth.api.taints import LEAVES
from growth.api.tolerations import untolerated
from growth.api.workloads import PodDisruptionBudget
from growth.decide.fit.volume_claims import named_claims
from growth.observe.snapshot import Snapshot

SAFE_TO_EVICT: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict"
"""Annotation of a pod: "true" says that nothing is lost with it."""
SAFE_VOLUMES: Final = "cluster-autoscaler.kubernetes.io/safe-to-evict-local-volumes"
"""Annotation of a pod: names of its volumes, with commas, that may be lost."""


def is_safe(pod: Pod) -> bool:
    """Whether its owner says that nothing is lost with it."""
    return pod.metadata.annotations.get(SAFE_TO_EVICT, "").lower() == "true"


class PodBindings:
    """What ties the pods of one snapshot to their nodes.

    Siblings are judged once: labels, annotations, owners and specs are shared (``api.interning``), so pods that have
    the same objects have the same answer. As long as the snapshot is valid no identity is used anew.
    """

    def __init__(self, snapshot: Snapshot, *, is_for_money: bool = False) -> None:
        self._snapshot, self._is_for_money = snapshot, is_for_money
        self._budgets = _Budgets(snapshot.table(POD_DISRUPTION_BUDGETS).values())
        self._known: dict[tuple[str, int, int, int, int, bool], str] = {}

    def why_stays(self, pod: Pod) -> str:
        """Why this pod, which is on a node, must not be moved; empty if it may be, or need not be."""
        meta, spec = pod.metadata, pod.spec
        if meta.deletion_timestamp is not None or pod.is_finished:
            return ""
        has_begun = pod.status.phase != "Pending"
        # Empty ones are not always shared, and are all the same.
        key = (
            meta.namespace,
            id(meta.labels) if meta.labels else 0,
            id(meta.annotations) if meta.annotations else 0,
            id(meta.owner_references) if meta.owner_references else 0,
            id(spec),
            has_begun,
        )
        why = self._known.get(key)
        if why is None:
            why = self._known[key] = self._why(pod, has_begun=has_begun)
        return why or (self._why_at_its_volume(pod) if spec.volumes and is_work(pod) else "")

    def _why(self, pod: Pod, *, has_begun: bool) -> str:
        """As far as all its siblings have the same answer."""
        # Whoever removes nodes minds this wish on any pod, also on those that go with their node.
        if annotation := forbids(pod):
            return f"it bears {annotation}"
        if not is_work(pod):
            return ""
        if untolerated((LEAVES,), pod.spec.tolerations) is None:
            return f"it tolerates {LEAVES}, and would come back to it"
        annotations = pod.metadata.annotations
        if not is_safe(pod):
            if pod.metadata.controller is None:
                return "it has no controller that would make it anew"
            if self._is_for_money and ends_by_itself(pod):
                return "its Job would begin anew what it has done so far, and ends by itself"
            if lost := _lost(pod.spec.local_volumes, annotations):
                return f"what is in its volume {lost} would be lost with the node"
        return _why_protected(self._budgets.of(pod)) if has_begun else ""

    def _why_at_its_volume(self, pod: Pod) -> str:
        """Claims are a pod's own, so each is asked. Volumes that other nodes reach are the planner's business."""
        claims, volumes = self._snapshot.table(PERSISTENT_VOLUME_CLAIMS), self._snapshot.table(PERSISTENT_VOLUMES)
        for _, name in named_claims(pod):
            claim = claims.get((pod.metadata.namespace, name))
            volume = volumes.get(("", claim.spec.volume_name)) if claim is not None else None
            affinity = volume.spec.node_affinity if volume is not None else None
            terms = affinity.required.node_selector_terms if affinity is not None and affinity.required else ()
            if volume is not None and _is_of_one_host(terms):
                return f"its volume {volume.metadata.name} is on this node and nowhere else"
        return ""


class _Budgets:
    """All disruption budgets, each found by one of the labels that it asks for: a namespace may have thousands."""

    def __init__(self, budgets: Iterable[PodDisruptionBudget]) -> None:
        self._by_label: dict[tuple[str, str, str], list[PodDisruptionBudget]] = {}
        self._others: dict[str, list[PodDisruptionBudget]] = {}
        for budget in budgets:
            selector, namespace = budget.spec.selector, budget.metadata.namespace
            if selector is None:
                continue
            label = next(iter(sorted(selector.match_labels.items())), None)
            if label is None:
                self._others.setdefault(namespace, []).append(budget)
            else:
                self._by_label.setdefault((namespace, *label), []).append(budget)

    def of(self, pod: Pod) -> list[PodDisruptionBudget]:
        """Those that protect this pod."""
        namespace, labels = pod.metadata.namespace, pod.metadata.labels
        found = list(self._others.get(namespace, ()))
        for key, value in labels.items():
            found += self._by_label.get((namespace, key, value), ())
        return [budget for budget in found if selects(budget.spec.selector, labels)]


def _lost(volumes: Sequence[str], annotations: Mapping[str, str]) -> str:
    """The first volume that would be missed; empty if none."""
    if not volumes:
        return ""
    safe = {name.strip() for name in annotations.get(SAFE_VOLUMES, "").split(",")}
    return next((name for name in volumes if name not in safe), "")


def _why_protected(budgets: Sequence[PodDisruptionBudget]) -> str:
    if len(budgets) > 1:
        names = ", ".join(sorted(budget.metadata.name for budget in budgets))
        return f"several disruption budgets protect it ({names}), and the API server never evicts such a pod"
    if budgets and budgets[0].status.disruptions_allowed <= 0:
        return f"disruption budget {budgets[0].metadata.name} allows no disruption now"
    return ""


def _is_of_one_host(terms: Sequence[NodeSelectorTerm]) -> bool:
    """Whether a volume says that it can be reached from one node only."""
    hosts = [_host(term) for term in terms]
    return bool(hosts) and all(hosts) and len(set(hosts)) == 1


def _host(term: NodeSelectorTerm) -> str:
    """The one host that a term means; empty if it may mean several."""
    fields = _only(term.match_fields, NODE_NAME_FIELD)
    return fields or _only(term.match_expressions, HOSTNAME)


def _only(requirements: Iterable[Requirement], key: str) -> str:
    found = (one for one in requirements if one.key == key and one.operator == IN and len(one.values) == 1)
    return next((one.values[0] for one in found), "")
