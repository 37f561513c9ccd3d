"""Whose quota is it that somebody borrows? Nobody writes that down: a cohort's quota is one heap.

So it is shared out: what is borrowed is first of the quota that the cohort itself has, then of those members that have
some left, in proportion to it, the nearest cohort first. So all that is borrowed is lent by somebody, and no more.

Pure.
"""

from collections.abc import Iterator, Sequence
from itertools import accumulate, pairwise

import msgspec

from growth.decide.queue.quota_tree import ENDLESS, QuotaNode, Slot


class _Balance(msgspec.Struct, frozen=True):
    """What a member with all below it lacks, or could lend to others; and what it settles among its own."""

    member: QuotaNode
    below: "tuple[_Balance, ...]"
    lacks: int
    spare: int
    settled: int


def borrowed_by(member: QuotaNode, slot: Slot) -> int:
    """How much of what a queue uses is not its own. Without a cohort nobody lends: then it is simply too much, as after
    its quota was lowered."""
    return max(0, member.used(slot) - member.nominal(slot)) if member.parent is not None else 0


def lent_in(root: QuotaNode, slot: Slot) -> dict[int, int]:
    """How much of its own each member of a tree lends, by ``id``; those that lend nothing are left out."""
    balance = _balance(root, slot)
    return {id(member): amount for member, amount in _shared_out(balance, slot, 0) if amount}


def _balance(member: QuotaNode, slot: Slot) -> _Balance:
    limit = member.quotas[slot].lending_limit if slot in member.quotas else None
    most = ENDLESS if limit is None else limit
    if not member.children:
        left = member.nominal(slot) - member.used(slot)
        return _Balance(member, (), max(0, -left), max(0, min(most, left)), 0)
    below = tuple(_balance(child, slot) for child in member.children)
    lacks = sum(one.lacks for one in below)
    spare = member.nominal(slot) + sum(one.spare for one in below)
    settled = min(lacks, spare)
    return _Balance(member, below, lacks - settled, min(most, spare - settled), settled)


def _shared_out(balance: _Balance, slot: Slot, asked: int) -> Iterator[tuple[QuotaNode, int]]:
    """Who lends what is asked for from outside, and what is borrowed inside."""
    if not balance.below:
        yield balance.member, asked
        return
    total = asked + balance.settled
    own = min(total, balance.member.nominal(slot))
    yield balance.member, own
    parts = _in_proportion(total - own, [one.spare for one in balance.below])
    for one, part in zip(balance.below, parts, strict=True):
        yield from _shared_out(one, slot, part)


def _in_proportion(total: int, weights: Sequence[int]) -> list[int]:
    """Whole numbers with this sum, none above its weight as long as the sum of all is not."""
    whole = sum(weights)
    if not whole:
        return [0] * len(weights)
    marks = [total * weight // whole for weight in accumulate(weights, initial=0)]
    return [after - before for before, after in pairwise(marks)]
