"""Whether somebody works on a node, and whether it may be disturbed.

What is on every node anyway (DaemonSets, static pods), and what has ended, is no work: a node that has nothing else is
empty.
"""

from collections.abc import Mapping
from typing import Final

from growth.api.node import Node
from growth.api.pod import Pod

MIRROR: Final = "kubernetes.io/config.mirror"
"""Annotation of a pod that a kubelet made from a file: only the kubelet can end it."""

# Who makes what is on a node because it is a node: a DaemonSet, and a kubelet, whose static pods its Node owns.
_ON_EVERY_NODE: Final = ("DaemonSet", "Node")
# Ours, Karpenter's and Cluster Autoscaler's ways to say "leave me alone": by annotation, the value that says it.
_DO_NOT_DISRUPT: Final = {"growth.dev/do-not-disrupt": "true", "karpenter.sh/do-not-disrupt": "true"}
_OF_NODES: Final = {**_DO_NOT_DISRUPT, "cluster-autoscaler.kubernetes.io/scale-down-disabled": "true"}
_OF_PODS: Final = {**_DO_NOT_DISRUPT, "cluster-autoscaler.kubernetes.io/safe-to-evict": "false"}


def is_work(pod: Pod) -> bool:
    """Whether a node is needed because of this pod."""
    if pod.is_finished or MIRROR in pod.metadata.annotations:
        return False
    owner = pod.metadata.controller
    return owner is None or owner.kind not in _ON_EVERY_NODE


def is_static(pod: Pod) -> bool:
    """Whether a kubelet made it from a file, without asking anybody."""
    owner = pod.metadata.controller
    return MIRROR in pod.metadata.annotations or (owner is not None and owner.kind == "Node")


def is_daemon(pod: Pod) -> bool:
    """Whether it belongs to a DaemonSet, which puts one on every node."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "DaemonSet"


def ends_by_itself(pod: Pod) -> bool:
    """Whether it is a Job's: when its work is done, its place is free."""
    owner = pod.metadata.controller
    return owner is not None and owner.kind == "Job"


def forbids(thing: Node | Pod) -> str:
    """The annotation by which somebody says that this node, or this pod, is not to be disturbed; empty if none."""
    wishes: Mapping[str, str] = _OF_NODES if isinstance(thing, Node) else _OF_PODS
    if isinstance(thing, Pod) and thing.is_finished:
        return ""
    annotations = thing.metadata.annotations
    return next((key for key, value in wishes.items() if annotations.get(key, "").lower() == value), "")
