"""What must hold at every instant about what nodes are given back: nothing lost, nothing resurrected, nothing twice.

It is judged by the lives of the nodes themselves (``memoirs``), and not by what Growth says about them.
"""

import json
from collections.abc import Iterator
from typing import Any, Final

from growth.api.node import Node
from growth.api.out_of_service import out_of_service_taint
from tests.trust.deeds import Deed, Deeds
from tests.trust.memoirs import MARKER, Kept, Labels, Life, Memoir, labels_of
from tests.trust.picture import Picture, Step

_NOTHING: Final = "0"


def is_of_memory(deed: Deed) -> bool:
    """Whether a write to a node is one of those that memory makes, which every replica may make to any node."""
    return _gives(deed) or "finalizers" in _meta(deed)


def _gives(deed: Deed) -> bool:
    """Whether it gives a node back what it was."""
    return MARKER in (_meta(deed).get("labels") or {})


def _meta(deed: Deed) -> dict[str, Any]:
    try:
        return json.loads(deed.body).get("metadata", {})
    except (ValueError, AttributeError):  # an edit is a list, and says nothing of this
        return {}


def given_wrongly(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """A node is given back once what is remembered, all of it and nothing else."""
    if step.is_end or step.before is None or step.before.metadata.uid != step.meta.uid:
        return
    before, now = labels_of(step.before.metadata), labels_of(step.meta)
    memoir = picture.memoirs[step.meta.name]
    life = memoir.life(step.meta.uid)
    if life is None or life.is_meddled_with:
        return
    theirs = _Theirs(step.now, picture, deeds)
    if MARKER in before:
        if theirs.of(before) != theirs.of(now) and any(map(_gives, deeds.making("nodes", step.version)[:1])):
            yield f"{step.meta.name} was given labels once more: {theirs.of(before)} became {theirs.of(now)}"
    elif MARKER in now:
        yield from _judge(step, picture, deeds, theirs)


class _Theirs:
    """Labels that are neither the machine's nor the pool's."""

    def __init__(self, node: Node, picture: Picture, deeds: Deeds) -> None:
        self._owned = deeds.memory.owned_keys
        pool = node.metadata.labels.get("growth.dev/pool", "")
        self._template = {key for _, spec in picture.specs.get(pool, ()) for key in spec.labels}

    def of(self, labels: Labels) -> dict[str, str]:
        return {key: value for key, value in labels.items() if not self._is_owned(key)}

    def _is_owned(self, key: str) -> bool:
        named = any(key.startswith(one[:-1]) if one.endswith("*") else key == one for one in self._owned)
        # Where nothing is owned, a pool's labels are remembered, too; the marker never is.
        return key == MARKER or named or (bool(self._owned) and key in self._template)


def _judge(step: Step, picture: Picture, deeds: Deeds, theirs: _Theirs) -> Iterator[str]:
    """The step in which a node gets its marker."""
    name, before, now = step.meta.name, theirs.of(step.before.metadata.labels), theirs.of(step.meta.labels)
    memoir, source = picture.memoirs[name], _source(step, picture)
    if step.meta.labels[MARKER] == _NOTHING:
        if source is not None and not _is_back(step, picture, source):
            yield f"{name} got its marker and nothing else, although it is remembered as version {source.version}"
        if now != before:
            yield f"{name} had nothing coming, and {before} became {now}"
        if (due := _seen_end(memoir, deeds)) is not None and memoir.kept is None:
            yield f"{name} is not remembered, and left with {theirs.of(due.last)}"
        return
    if source is None:
        yield f"{name} was given labels ({step.meta.labels[MARKER]}), and nothing is remembered of it"
        return
    given = theirs.of(source.labels)
    if wrong := {key: now.get(key) for key, value in given.items() if now.get(key) != value}:
        yield f"{name} should have been given {given}, and has {wrong}"
    for key in sorted(now.keys() - given.keys()):
        if now[key] != before.get(key):
            yield f"{name} was given {key}={now[key]}, which nobody remembers"
        elif deeds.memory.mode == "replace" or key in memoir.stood:
            yield f"{name} has {key} again, which somebody had removed"
    earlier = [life for life in (*memoir.lives, *_replaced(step, picture).lives) if life.uid != step.meta.uid]
    ever = {key for life in earlier for _, labels in life.states for key in labels}
    if deeds.memory.mode == "merge" and (taken := sorted(before.keys() - now.keys() - ever)):
        yield f"{name} lost {', '.join(taken)}, which nobody had removed"
    due = _seen_end(memoir, deeds)
    if due is not None and due.uid == source.uid and theirs.of(due.last) != given:
        yield f"{name} was given {given}, and it left with {theirs.of(due.last)}"
    elif due is not None and due.uid != source.uid and source is memoir.kept:
        yield f"{name} was given what it was as {source.uid}, and {due.uid} is the one who left last"


def _seen_end(memoir: Memoir, deeds: Deeds) -> Life | None:
    """Whose labels are to be given back, if Growth must have seen it leave: it watched, or the finalizer held it."""
    due = memoir.due
    return due if due is not None and (deeds.sees_every_end or due.is_held) else None


def _source(step: Step, picture: Picture) -> Kept | None:
    """What is to be given back: its own memory, or that of whose place it takes."""
    name = step.meta.name
    own = picture.memoirs[name].kept
    if own is not None and not own.claimed_by:
        return own
    other = _replaced(step, picture).kept
    return other if other is not None and other.claimed_by == f"{name}/{step.meta.uid}" else None


def _is_back(step: Step, picture: Picture, source: Kept) -> bool:
    """Whether it was to take the place of one that is in service again, in the very life that is remembered: that one
    keeps what it is."""
    request = picture.requests.get(step.meta.name)
    node = picture.nodes.get(request.spec.replaces) if request is not None else None
    return node is not None and node.metadata.uid == source.uid and out_of_service_taint(node) is None


def _replaced(step: Step, picture: Picture) -> Memoir:
    """All about the one whose place it takes."""
    request = picture.requests.get(step.meta.name)
    return picture.memoirs.get(request.spec.replaces if request is not None else "", Memoir())


def remembered_wrongly(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """What is remembered is what the node was, never gets older, and is worth more than a life that lacked it."""
    memoir, name = picture.memoirs[step.meta.name], step.meta.name
    kept, before = memoir.kept, memoir.before
    if step.is_end or kept is None or not deeds.making("configmaps", step.version):
        return
    life = memoir.life(kept.uid)
    was = life.at(kept.version) if life is not None else None
    if was is not None and was != kept.labels:
        yield f"{name} is remembered with {dict(kept.labels)}, and was {dict(was)} at version {kept.version}"
    if before is None:
        return
    is_worth_less = before.is_final and before.uid != kept.uid and MARKER not in before.labels
    if kept.version < before.version and not is_worth_less:
        yield f"{name} is remembered as of version {kept.version}, and was as of {before.version} already"
    if before.is_final and kept.uid != before.uid and MARKER not in kept.labels:
        yield f"{name} is remembered as one that had not been given back what it was"
