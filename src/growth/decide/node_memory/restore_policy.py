"""What is remembered of a node, what is given back, and what a new node knows better."""

from collections.abc import Collection
from datetime import datetime
from typing import Any

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.node import Node
from growth.api.node_memory import (
    FINALIZER,
    MARKER,
    NOTHING,
    RESTORED_TO,
    NodeContents,
    is_remembering,
    legal,
    memento_of,
    rememberable_annotations,
    rememberable_taints,
)
from growth.api.offering import POOL
from growth.api.settings.model import MemorySettings
from growth.api.tolerations import Taint
from growth.observe.snapshot import Snapshot


class RestorePolicy:
    """The settings, as questions about one key or one node."""

    def __init__(self, settings: MemorySettings) -> None:
        self.settings = settings
        self._owned = frozenset(key for key in settings.owned_keys if not key.endswith("*"))
        self._beginnings = tuple(key[:-1] for key in settings.owned_keys if key.endswith("*"))

    def is_owned(self, key: str, template: Collection[str] = ()) -> bool:
        """Whether this label comes from the new node, whatever is remembered; ``template`` is what its pool gives."""
        if key == MARKER:
            return True
        # Who owns nothing wants all that is remembered, as the seed has it: what the pool gives, too.
        is_given = bool(self.settings.owned_keys) and key in template
        return is_given or key in self._owned or key.startswith(self._beginnings)

    def memento_of(self, node: Node, now: datetime) -> NodeContents:
        """What is remembered of a node as it is."""
        return memento_of(node, now, annotations=self.settings.annotations, taints=self.settings.taints)

    def restored(self, node: Node, memento: NodeContents | None, template: Collection[str]) -> dict[str, Any]:
        """The merge patch that makes this node what it was; the marker is in it, and the taint goes that waited."""
        labels: dict[str, str | None] = {MARKER: NOTHING}
        annotations = {RESTORED_TO: node.metadata.uid}
        body: dict[str, Any] = {"metadata": {"labels": labels, "annotations": annotations}}
        taints = tuple(taint for taint in node.spec.taints if not is_remembering(taint))
        if memento is not None:
            labels |= self._labels(node, memento, template)
            labels[MARKER] = memento.marker
            annotations |= rememberable_annotations(memento.annotations, self.settings.annotations)
            taints = _with_taints(taints, rememberable_taints(memento.taints, self.settings.taints))
        if taints != node.spec.taints:
            body["spec"] = {"taints": [msgspec.to_builtins(taint) for taint in taints]}
        meta = node.metadata
        if self.settings.finalizer and meta.deletion_timestamp is None and FINALIZER not in meta.finalizers:
            body["metadata"]["finalizers"] = [*meta.finalizers, FINALIZER]
        return body

    def _labels(self, node: Node, memento: NodeContents, template: Collection[str]) -> dict[str, str | None]:
        """Only what differs from what the node has; None takes a label away."""
        has = node.metadata.labels
        stored = {key: value for key, value in legal(memento.labels).items() if not self.is_owned(key, template)}
        if self.settings.mode == "replace":
            gone = [key for key in has if key not in stored]
        else:
            gone = [key for key in memento.removed if key in has and key not in stored]
        changes: dict[str, str | None] = {key: value for key, value in stored.items() if has.get(key) != value}
        return changes | {key: None for key in gone if not self.is_owned(key, template)}


def template_of(node: Node, snapshot: Snapshot) -> frozenset[str]:
    """Labels that the pool of this node gives to all its nodes: what a person changed there holds for it, too."""
    pool = snapshot.table(NODE_POOLS).get(("", node.metadata.labels.get(POOL, "")))
    return frozenset(pool.spec.labels) if pool is not None else frozenset()


def _with_taints(taints: tuple[Taint, ...], remembered: tuple[Taint, ...]) -> tuple[Taint, ...]:
    """The remembered ones win over those of the same key and effect."""
    meant = {(taint.key, taint.effect) for taint in remembered}
    return (*(taint for taint in taints if (taint.key, taint.effect) not in meant), *remembered)
