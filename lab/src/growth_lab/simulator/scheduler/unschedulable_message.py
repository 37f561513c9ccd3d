"""A refusal in the scheduler's own words: what stands in the condition of a pod that fits nowhere.

Fit gives its reasons in words of its own, with figures; people, and tools, know kube-scheduler's sentences.
"""

from collections import Counter
from collections.abc import Mapping
from functools import lru_cache
from typing import Final

import msgspec

from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS
from growth.api.pod import Pod
from growth.decide.fit import FilterRefusal, SimulatedCluster
from growth.decide.fit.node_info import NodeInfo
from growth.decide.fit.node_resources import is_counted
from growth.decide.fit.volume_claims import named_claims
from growth.observe.pod_requests import Requests

RESOURCES: Final = "NodeResourcesFit"
AFFINITY: Final = "NodeAffinity"
NO_NODES: Final = "no nodes available to schedule pods"

_CLAIMS: Final = "no new claims to deallocate, preemption: "
_NO_VOLUME: Final = "node(s) didn't find available persistent volumes to bind"
_MISSING_LABEL: Final = "node(s) didn't match pod topology spread constraints (missing required label)"

# What each filter says, after a part of what Fit says where one filter has several sentences.
_SAYINGS: Final[dict[str, tuple[tuple[str, str], ...]]] = {
    "NodeUnschedulable": (("", "node(s) were unschedulable"),),
    "NodeName": (("", "node(s) didn't match the requested node name"),),
    "TaintToleration": (("", "node(s) had untolerated taint(s)"),),
    AFFINITY: (("", "node(s) didn't match Pod's node affinity/selector"),),
    "NodePorts": (("", "node(s) didn't have free ports for the requested pod ports"),),
    "VolumeRestrictions": (
        (
            "ReadWriteOncePod",
            "node has pod using PersistentVolumeClaim with the same name and ReadWriteOncePod access mode",
        ),
        ("", "node(s) had no available disk"),
    ),
    "NodeVolumeLimits": (("", "node(s) exceed max volume count"),),
    "VolumeBinding": (
        ("cannot be reached", "node(s) didn't match PersistentVolume's node affinity"),
        (
            "does not exist",
            "node(s) unavailable due to one or more pvc(s) bound to non-existent pv(s)",
        ),
        ("has no room of", "node(s) did not have enough free storage"),
        ("", _NO_VOLUME),
    ),
    "VolumeZone": (("", "node(s) had no available volume zone"),),
    "PodTopologySpread": (
        ("a label that the node does not have", _MISSING_LABEL),
        ("", "node(s) didn't match pod topology spread constraints"),
    ),
    "InterPodAffinity": (
        ("needs certain pods near", "node(s) didn't match pod affinity rules"),
        ("must be away from", "node(s) didn't match pod anti-affinity rules"),
        ("", "node(s) didn't satisfy existing pods anti-affinity rules"),
    ),
    "NodeDeclaredFeatures": (("", "node(s) didn't match Pod's required features"),),
}
FILTERS: Final = (*_SAYINGS, RESOURCES)


class Refused(msgspec.Struct, frozen=True, gc=False):
    """One node's no: which filter, in which words, and whether eviction would help."""

    filter: str
    sayings: tuple[str, ...]
    is_permanent: bool


class Refusal(msgspec.Struct, frozen=True):
    """No from everybody: why, the filters whose hints may wake the pod, and where eviction might help."""

    reason: str
    filters: tuple[str, ...]
    eviction: str = ""
    """What is said about making room, unless room is being made."""
    evictable: tuple[str, ...] = ()
    keeps_nomination: bool = False
    """Whether a node that was promised to the pod stays promised."""

    @property
    def message_while_waiting(self) -> str:
        """What is said as long as room is being made."""
        return f"{self.reason} {_CLAIMS}not eligible due to a terminating pod on the nominated node."

    @property
    def message(self) -> str:
        """All that is said."""
        return f"{self.reason} {self.eviction}" if self.eviction else self.reason


def refused(misfit: FilterRefusal, site: NodeInfo, requests: Requests) -> Refused:
    """A misfit in the scheduler's words."""
    if misfit.filter == RESOURCES:
        return _same(RESOURCES, _lacking(site, requests), misfit.is_permanent)
    for part, saying in _SAYINGS[misfit.filter]:
        if part in misfit.reason:
            return _same(misfit.filter, (saying,), misfit.is_permanent)
    raise AssertionError(f"no saying for {misfit}")


@lru_cache(4096)
def _same(name: str, sayings: tuple[str, ...], is_permanent: bool) -> Refused:  # noqa: FBT001 - the cache knows places
    """Equal answers are one object, so thousands are counted by identity."""
    return Refused(name, sayings, is_permanent)


def refusal_of_all(answers: Mapping[str, Refused], nodes: int, pod: Pod, *, not_asked: int = 0) -> Refusal:
    """All nodes said no; ``not_asked`` are those that a pod does not mean which names its nodes."""
    sayings: Counter[str] = Counter()
    filters: dict[str, None] = {}
    distinct = dict(zip(map(id, answers.values()), answers.values(), strict=True))
    for identity, number in Counter(map(id, answers.values())).items():
        answer = distinct[identity]
        filters[answer.filter] = None
        for saying in answer.sayings:
            sayings[saying] += number
    if not_asked:
        filters[AFFINITY] = None
        sayings[f"node(s) didn't satisfy plugin(s) [{AFFINITY}]"] += not_asked
    told = ", ".join(sorted(f"{number} {saying}" for saying, number in sayings.items()))
    is_permanent = {answer.is_permanent for answer in distinct.values()}
    if is_permanent == {False}:  # as a rule, all are full and nobody is too small
        evictable = tuple(answers)
    else:
        evictable = tuple(name for name, answer in answers.items() if not answer.is_permanent)
    return Refusal(
        f"0/{nodes} nodes are available: {told}.",
        tuple(filters),
        _eviction(nodes, len(evictable), pod),
        evictable,
        keeps_nomination=_is_meek(pod),
    )


def refusal_before_nodes(stage: SimulatedCluster, pod: Pod, misfit: FilterRefusal, nodes: int) -> Refusal:
    """The pod was refused before any node was looked at.

    What comes after the filters then stumbles over what they did not leave behind (1.36): it says "not found", and
    does not get as far as taking a promise back.
    """
    saying = _unplaceable(stage, pod, misfit)
    reason = f"0/{nodes} nodes are available: {saying}."
    return Refusal(reason, (misfit.filter,), "not found", keeps_nomination=True)


def _eviction(nodes: int, evictable: int, pod: Pod) -> str:
    """What the scheduler says about making room by evicting others."""
    if _is_meek(pod):
        return f"{_CLAIMS}not eligible due to preemptionPolicy=Never."
    parts: list[str] = []
    if evictable:
        parts.append(f"{evictable} No preemption victims found for incoming pod")
    if nodes > evictable:
        parts.append(f"{nodes - evictable} Preemption is not helpful for scheduling")
    told = ", ".join(sorted(parts))
    return f"{_CLAIMS}0/{nodes} nodes are available: {told}."


def _is_meek(pod: Pod) -> bool:
    """Whether the pod may not displace anybody."""
    return pod.spec.preemption_policy == "Never"


def _lacking(site: NodeInfo, requests: Requests) -> tuple[str, ...]:
    found: list[str] = []
    for name, amount in requests.items():
        if amount > site.free.get(name, 0) and is_counted(name):
            found.append("Too many pods" if name == "pods" else f"Insufficient {name}")
    return tuple(found)


def _unplaceable(stage: SimulatedCluster, pod: Pod, misfit: FilterRefusal) -> str:
    if misfit.filter == AFFINITY:
        return "pod affinity terms conflict"
    for volume, name in named_claims(pod):
        claim = stage.get(PERSISTENT_VOLUME_CLAIMS, name, pod.metadata.namespace)
        if claim is None and volume.ephemeral is not None:
            return f'waiting for ephemeral volume controller to create the persistentvolumeclaim "{name}"'
        if claim is None:
            return f'persistentvolumeclaim "{name}" not found'
        if claim.metadata.deletion_timestamp is not None:
            return f'persistentvolumeclaim "{name}" is being deleted'
        if claim.status.phase == "Lost":
            return f'persistentvolumeclaim "{name}" bound to non-existent persistentvolume "{claim.spec.volume_name}"'
    if "is not bound" in misfit.reason:
        return "pod has unbound immediate PersistentVolumeClaims"
    return misfit.reason
