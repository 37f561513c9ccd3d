"""Replacements of pods on dead nodes: they want capacity before their predecessors are gone.

A replacement is a virtual pod. It ends with its predecessor: then the pod that its controller creates takes the
capacity that was launched for it.
"""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from growth.api.meta import ObjectMeta
from growth.api.pod import Pod, PodStatus
from growth.decide.contract import Fact

_PREFIX: Final = "successor-of-"
"""How the uids of these pods begin; no object's uid does."""


class ReplacementPod(msgspec.Struct, frozen=True):
    """A pod that loses its machine."""

    uid: str
    node: str
    virtual_pod: Pod
    """Its replacement, as far as one can know: the same requirements and volumes, and no node yet."""


class ReplacementPods(Fact, frozen=True):
    """Pods that lose their machines, by the uids of their replacements. Provided by failover."""

    pods: Mapping[str, ReplacementPod] = {}

    @classmethod
    def of(cls, pods: Iterable[Pod]) -> "ReplacementPods":
        """Return the replacements of these pods."""
        found = (ReplacementPod(pod.metadata.uid, pod.node_name, _replacement(pod)) for pod in pods)
        return cls({one.virtual_pod.metadata.uid: one for one in found})

    @property
    def dead_nodes(self) -> frozenset[str]:
        """Names of the nodes that the pods lose."""
        return frozenset(one.node for one in self.pods.values())


def is_successor(uid: str) -> bool:
    """Whether this is the uid of a replacement."""
    return uid.startswith(_PREFIX)


def _replacement(pod: Pod) -> Pod:
    meta = pod.metadata
    known = ObjectMeta(
        name=meta.name,
        namespace=meta.namespace,
        uid=f"{_PREFIX}{meta.uid}",
        creation_timestamp=meta.creation_timestamp,
        labels=meta.labels,
        owner_references=meta.owner_references,
    )
    return Pod(known, pod.spec, status=PodStatus(phase="Pending"))
