"""Who has to go so that somebody more important may come.

Candidates hold something of what is short.

| held in | who may be sent back | reason |
|---|---|---|
| the same queue | by ``withinClusterQueue`` | InClusterQueue |
| another queue, the preemptor's side has a right to it | by ``reclaimWithinCohort`` | InCohortReclamation |
| another queue, for something borrowed | also by ``borrowWithinCohort`` | InCohortReclaimWhileBorrowing |

The preemptor's side has a right to it if what it asks for is within the quota of its queue, or of a cohort that it
shares with nobody of theirs. Of other queues only those count that use more than their own, and so do all cohorts
between them and the one that both share: nobody loses what is his.

For something borrowed nobody goes who, with all the others gone, would be within the quota of its own side again: it
would take its place back by right, and be sent back again, for ever. (Kueue asks only whether its queue uses too much
as long as it is there.) And nobody goes for something borrowed by one who was itself sent back and has not been let in
since: a right, a priority within a queue and a priority across queues are three orders, and together they have circles.

Who is going anyway goes for anybody to whom something was promised (``promise``), whoever it is and whosever its quota:
what it was promised was found with everybody before it in the pass, now it may be the first.

Candidates go one by one, who is being sent back already first, then those of other queues, the least important and
the newest first, until the preemptor fits; then whoever need not have gone is given his place back.

What somebody was promised for whom others were sent back: which flavors it gets, once they are gone.

Flavors are chosen for one pod set after the other, each time the best that is left. With those gone who had to go, the
first set may like another flavor better, so that nothing is left for the next one: then it would not fit, they would
come back, and be sent back again, for ever. So whoever was promised something gets just that, if it cannot have all at
once. The promise stands where it is said that it waits, so that a restart forgets none; without it one looks anew.
"""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from enum import IntEnum
from typing import Final

import msgspec

from growth.api.queue.quotas import Preemption
from growth.api.queue.workload import QUOTA_RESERVED, Workload
from growth.decide.queue.pending_queue import waits_for_preempted
from growth.decide.queue.quota_holders import Key, QuotaHolder, QuotaRequest
from growth.decide.queue.quota_tree import QuotaNode, Slot

IN_QUEUE, RECLAIMED, RECLAIMED_TO_BORROW = (
    "InClusterQueue",
    "InCohortReclamation",
    "InCohortReclaimWhileBorrowing",
)

Holders = Mapping[str, Mapping[Key, QuotaHolder]]
"""By the name of their queue."""


class Victim(msgspec.Struct, frozen=True):
    """Who has to go, and why."""

    holder: QuotaHolder
    reason: str


class _Claim(IntEnum):
    """By what right a candidate can be sent back; in the order in which they go."""

    RIGHT = 0
    BORROWING = 1
    NOT_BORROWING = 2
    """Only if the preemptor ends up without borrowing anything."""
    OWN_QUEUE = 3


_REASONS: Final = {
    _Claim.RIGHT: RECLAIMED,
    _Claim.BORROWING: RECLAIMED_TO_BORROW,
    _Claim.NOT_BORROWING: RECLAIMED,
    _Claim.OWN_QUEUE: IN_QUEUE,
}


class _Candidate(msgspec.Struct, frozen=True):
    holder: QuotaHolder
    member: QuotaNode
    claim: _Claim
    shared: QuotaNode | None
    """The lowest cohort that it shares with the preemptor; None in the same queue."""
    is_terminating: bool = False
    """It goes whether or not the preemptor has a right to that."""


class PreemptionTree(msgspec.Struct, frozen=True):
    """Queues with what is used of them, by whom. What is tried out on it is taken back."""

    members: Mapping[str, QuotaNode]
    holders: Holders


def victims(
    tree: PreemptionTree, member: QuotaNode, policy: Preemption, request: QuotaRequest, short: frozenset[Slot]
) -> list[Victim]:
    """Who has to go so that this wish fits into this queue; empty if nobody's going would do."""
    candidates = sorted(_candidates(tree, member, policy, request, short), key=_order)
    for may_borrow in _attempts(candidates, member, policy, short):
        able = candidates
        found = _enough(able, member, request, short, may_borrow=may_borrow)
        while may_borrow and (needed := _would_return(found)):
            able = [one for one in able if one not in needed]
            found = _enough(able, member, request, short, may_borrow=may_borrow)
        if found:
            return [Victim(one.holder, _REASONS[one.claim]) for one in found]
    return []


def height_without(
    members: Mapping[str, QuotaNode], terminating: Iterable[Victim], member: QuotaNode, slot: Slot, amount: int
) -> int:
    """How far up so much would have to be borrowed if these were gone."""
    for victim in terminating:
        members[victim.holder.queue].use_all(victim.holder.usage, -1)
    height = member.reach(slot, amount).height
    for victim in terminating:
        members[victim.holder.queue].use_all(victim.holder.usage)
    return height


def _candidates(
    tree: PreemptionTree, member: QuotaNode, policy: Preemption, request: QuotaRequest, short: frozenset[Slot]
) -> Iterator[_Candidate]:
    for holder in tree.holders.get(member.name, {}).values():
        is_terminating = request.is_promised and holder.is_evicted
        if _uses(holder, short) and (is_terminating or _may_go_in_queue(holder, request, policy)):
            yield _Candidate(holder, member, _Claim.OWN_QUEUE, None, is_terminating)
    if policy.reclaim_within_cohort == "Never" and not request.is_promised:
        return
    has_right, left, below = member.holds_as_its_own(request.usage), member.beyond_local(request.usage), member
    for shared in member.path[1:]:
        for other, is_over in _others(shared, below, short, with_all=request.is_promised):
            is_queue = tree.members.get(other.name) is other
            for holder in tree.holders.get(other.name, {}).values() if is_queue else ():
                is_terminating = request.is_promised and holder.is_evicted
                if _uses(holder, short) and (
                    is_terminating or (is_over and _may_be_reclaimed(holder, request, policy))
                ):
                    claim = _claim(holder, request, policy, has_right=has_right)
                    yield _Candidate(holder, other, claim, shared, is_terminating)
        # Who has a right to something below has it above, too.
        has_right = has_right or shared.holds_as_its_own(left)
        left, below = shared.beyond_local(left), shared


def _others(
    cohort: QuotaNode, but: QuotaNode, short: frozenset[Slot], *, with_all: bool, is_over: bool = True
) -> Iterator[tuple[QuotaNode, bool]]:
    """The queues under a cohort that use more than their own, with all cohorts between; or all, and whether they do."""
    for child in cohort.children:
        is_child_over = is_over and not child.is_within_its_own(short)
        if child is but or not (is_child_over or with_all):
            continue
        if child.children:
            yield from _others(child, but, short, with_all=with_all, is_over=is_child_over)
        else:
            yield child, is_child_over


def _uses(holder: QuotaHolder, short: frozenset[Slot]) -> bool:
    return any(holder.usage.get(slot, 0) > 0 for slot in short)


def _may_go_in_queue(holder: QuotaHolder, request: QuotaRequest, policy: Preemption) -> bool:
    if holder.priority < request.priority:
        return policy.within_cluster_queue != "Never"
    is_newer = holder.priority == request.priority and holder.queued_since > request.queued_since
    return is_newer and policy.within_cluster_queue == "LowerOrNewerEqualPriority"


def _may_be_reclaimed(holder: QuotaHolder, request: QuotaRequest, policy: Preemption) -> bool:
    if policy.reclaim_within_cohort == "Never":
        return False
    return policy.reclaim_within_cohort == "Any" or holder.priority < request.priority


def _claim(holder: QuotaHolder, request: QuotaRequest, policy: Preemption, *, has_right: bool) -> _Claim:
    if has_right:
        return _Claim.RIGHT
    borrowing = policy.borrow_within_cohort
    if request.was_sent_back or borrowing is None or borrowing.policy == "Never" or holder.priority >= request.priority:
        return _Claim.NOT_BORROWING
    limit = borrowing.max_priority_threshold
    return _Claim.BORROWING if limit is None or holder.priority <= limit else _Claim.NOT_BORROWING


def _order(candidate: _Candidate) -> tuple[bool, int, int, float, str]:
    holder = candidate.holder
    place = {_Claim.RIGHT: 0, _Claim.OWN_QUEUE: 2}.get(candidate.claim, 1)
    return not holder.is_evicted, place, holder.priority, -holder.reserved_at.timestamp(), holder.uid


def _attempts(
    candidates: Sequence[_Candidate], member: QuotaNode, policy: Preemption, short: frozenset[Slot]
) -> tuple[bool, ...]:
    """Whether the preemptor may borrow in the end, in the order in which that is tried."""
    borrowing = policy.borrow_within_cohort
    is_forbidden = borrowing is None or borrowing.policy == "Never"
    is_own_only = all(one.claim is _Claim.OWN_QUEUE for one in candidates)
    is_over = any(member.used(slot) >= member.nominal(slot) for slot in short)
    if is_own_only or (is_forbidden and is_over):
        return (True,)
    if is_forbidden and all(one.claim is not _Claim.RIGHT for one in candidates):
        return (False, True)
    return (True, False)


def _enough(
    candidates: Sequence[_Candidate],
    member: QuotaNode,
    request: QuotaRequest,
    short: frozenset[Slot],
    *,
    may_borrow: bool,
) -> list[_Candidate]:
    gone: list[_Candidate] = []
    try:
        for candidate in candidates:
            if not _is_valid(candidate, short, may_borrow=may_borrow):
                continue
            _take(candidate, -1)
            gone.append(candidate)
            if _fits(member, request, may_borrow=may_borrow):
                gone = _without_needless(gone, lambda: _fits(member, request, may_borrow=may_borrow))
                return gone
        return []
    finally:
        for candidate in gone:
            _take(candidate, +1)


def _is_valid(candidate: _Candidate, short: frozenset[Slot], *, may_borrow: bool) -> bool:
    """Whether it may still go: others that went may have made its queue hold no more than its own."""
    if candidate.shared is None or candidate.is_terminating:
        return True
    if may_borrow and candidate.claim is _Claim.NOT_BORROWING:
        return False
    for member in candidate.member.path:
        if member is candidate.shared:
            return True
        if member.is_within_its_own(short):
            return False
    return True


def _would_return(gone: Sequence[_Candidate]) -> list[_Candidate]:
    """Who of those that went for something borrowed had a right to its place again."""
    for candidate in gone:
        _take(candidate, -1)
    found = [one for one in gone if one.claim is _Claim.BORROWING and not one.is_terminating and _has_right(one)]
    for candidate in gone:
        _take(candidate, +1)
    return found


def _has_right(candidate: _Candidate) -> bool:
    left: Mapping[Slot, int] = candidate.holder.usage
    for member in candidate.member.path:
        if member is candidate.shared:
            break
        if member.holds_as_its_own(left):
            return True
        left = member.beyond_local(left)
    return False


def _fits(member: QuotaNode, request: QuotaRequest, *, may_borrow: bool) -> bool:
    return all(
        amount <= member.available(slot) and (may_borrow or member.holds_as_its_own({slot: amount}))
        for slot, amount in request.usage.items()
    )


def _without_needless(gone: list[_Candidate], fits: Callable[[], bool]) -> list[_Candidate]:
    """The last one who went is needed; of the others whoever can stay does, the latest first."""
    needed = [gone[-1]]
    for candidate in reversed(gone[:-1]):
        _take(candidate, +1)
        if not fits():
            _take(candidate, -1)
            needed.append(candidate)
    return needed[::-1]


def _take(candidate: _Candidate, sign: int) -> None:
    candidate.member.use_all(candidate.holder.usage, sign)


# First of all, so that no number of names cuts it off.
_PROMISED: Final = re.compile(r"on ([^ ,:]+(?:, [^ ,:]+)*): ")


def promise(flavors: Sequence[str], names: Iterable[str]) -> str:
    """The promise in words: flavors in the order in which they are chosen, and who has to go first."""
    return f"on {', '.join(flavors)}: it gets what {', '.join(names)} had, once they are gone"


def promised_to(workload: Workload) -> tuple[str, ...]:
    """The flavors that it was promised, in the same order; none if it waits for nobody to go."""
    said = workload.condition(QUOTA_RESERVED) if waits_for_preempted(workload) else None
    found = _PROMISED.match(said.message) if said is not None else None
    return tuple(found[1].split(", ")) if found is not None else ()
