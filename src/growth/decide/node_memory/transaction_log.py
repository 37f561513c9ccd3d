"""What happened to a node is written down, as transactions: by every replica, under the same names.

First who left, then who came: whoever reads the second knows that the first is there, or was.
"""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.node_memory import NodeContents, is_marked, is_too_large, with_removed
from growth.decide.node_memory.context import PagePass
from growth.observe.node_history import Departure

LAG: Final = timedelta(seconds=5)
"""Streams of two kinds may lag by different times. What looks like something that everybody missed is one only if it
still looks like that after so long."""


class UnwrittenDepartures(msgspec.Struct, frozen=True):
    """Who left and is not known to be written down."""

    mementos: tuple[NodeContents, ...] = ()
    is_unsure: bool = False
    """Whether somebody may have left of whom we do not know yet."""

    def is_before(self, version: int) -> bool:
        """Whether something must be written down before what has this version is dealt with."""
        return self.is_unsure or any(memento.version < version for memento in self.mementos)


def record(page_pass: PagePass) -> UnwrittenDepartures:
    """Write down what happened; returns who left and is being written down."""
    unwritten = _unwritten(page_pass)
    for memento in unwritten.mementos:
        page_pass.record("deleted", memento, f"left, as version {memento.version}")
    if not unwritten.mementos and not unwritten.is_unsure:
        _record_arrival(page_pass)
    return unwritten


def _unwritten(page_pass: PagePass) -> UnwrittenDepartures:
    page, mementos, is_unsure = page_pass.page, list[NodeContents](), False
    for uid, departure in page.departed.items():
        memento = _memento_of(page_pass, departure)
        if page.written.get(uid, -1) >= memento.version:
            continue
        if is_too_large(memento):
            page_pass.warn_of_size(memento)
            continue
        mementos.append(memento)
    record = page.record
    if record is not None and not record.is_final:
        uid, version = record.memento.uid, record.memento.version
        is_known = uid == page.uid or uid in page.departed or page.written.get(uid, -1) >= version
        if not is_known and page_pass.has_been("missed", LAG):
            mementos.append(msgspec.structs.replace(record.memento, at=page_pass.now))
        elif not is_known:
            is_unsure = True
    return UnwrittenDepartures(tuple(sorted(mementos, key=lambda one: one.version)), is_unsure)


def _memento_of(page_pass: PagePass, departure: Departure) -> NodeContents:
    """What it was when it left. If we did not see that, what was last written down, so that all replicas write the
    same; unless we saw more than that."""
    memento = page_pass.policy.memento_of(departure.node, page_pass.now)
    memento = msgspec.structs.replace(memento, removed=departure.removed)
    record = page_pass.page.record
    if departure.is_missed and record is not None and record.memento.uid == memento.uid:
        last = record.memento
        is_same = last.version > memento.version or last.says_the_same_as(
            with_removed(memento, (last,), departure.removed)
        )
        if is_same:
            return msgspec.structs.replace(last, at=page_pass.now)
    return memento


def _record_arrival(page_pass: PagePass) -> None:
    page, node = page_pass.page, page_pass.page.node
    if node is None or is_marked(node):
        return
    if any(one.type == "added" and one.memento.uid == page.uid for one in page.transactions):
        return
    if page.uid in page.arrivals and not page_pass.has_been("arrival", LAG):
        return  # it was dealt with, and the marker will be seen soon
    memento = NodeContents(
        uid=page.uid, version=page.first_version, provider_id=node.spec.provider_id, at=page_pass.now
    )
    page_pass.record("added", memento, f"came, as version {page.first_version}")
