"""What stands between a workload and quota that its cohort has: limits on borrowing and on lending. Pure."""

from collections.abc import Iterator
from typing import Literal

import msgspec

from growth.cli.queue_lending import borrowed_by
from growth.cli.queue_words import amount
from growth.decide.queue.quota_tree import QuotaNode, Slot


class QuotaLimit(msgspec.Struct, frozen=True):
    """One that somebody could raise."""

    of: str
    """The queue or cohort that has it."""
    field: Literal["borrowingLimit", "lendingLimit"]
    words: str


def limits_on(member: QuotaNode, slot: Slot) -> Iterator[QuotaLimit]:
    """Why a queue cannot have more of this now, although somebody of its cohort may have some.

    If it may borrow no more, that alone is told: until that is raised, nothing else would help.
    """
    for one in member.path:
        limit = one.quotas[slot].borrowing_limit if slot in one.quotas else None
        if limit is None or one.parent is None or one.available(slot) >= one.parent.available(slot):
            continue
        if one is member:
            has = amount(slot[1], borrowed_by(member, slot))
            words = f"it may borrow {amount(slot[1], limit)} at most (borrowingLimit), and has borrowed {has}"
        else:
            words = f"cohort {one.name} may borrow {amount(slot[1], limit)} at most (borrowingLimit)"
        yield QuotaLimit(one.name, "borrowingLimit", words)
        return
    path = member.path
    beside = [other for one in path[1:] for other in _below(one) if other not in path]
    for one in dict.fromkeys(beside):
        # What is left of what it does not lend.
        kept = one.kept(slot)
        if kept > 0:
            words = f"{one.name} keeps {amount(slot[1], kept)} to itself (lendingLimit)"
            yield QuotaLimit(one.name, "lendingLimit", words)


def _below(member: QuotaNode) -> Iterator[QuotaNode]:
    for child in member.children:
        yield child
        yield from _below(child)
