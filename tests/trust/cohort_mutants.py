"""Deliberate defects of cohorts and preemption: each would lend what is not lent, or send back the wrong one."""

from typing import Any, Final

import msgspec

from growth.api.queue.quotas import Preemption
from growth.api.queue.workload import Workload
from growth.decide.queue import preemption
from growth.decide.queue.pending_queue import Order, QueuePosition, place_of
from growth.decide.queue.preemption import Victim
from growth.decide.queue.quota_holders import QuotaHolder, QuotaRequest
from growth.decide.queue.quota_tree import ENDLESS, QuotaNode, Slot
from tests.trust.mutant import Mutant

_QUEUE: Final = "growth.decide.queue"
_WAITS: Final = "admission.waits_for_preempted"
_LINE: Final = "pending_queue.PendingQueue.has_preemptor_from"
_PLACE: Final = place_of
_VICTIMS: Final = preemption.victims
_AVAILABLE: Final = QuotaNode.available


def _keeps_nothing(*_: object) -> int:
    return 0


def _without_end(*_: object) -> int:
    return ENDLESS


def _no_problem(*_: object) -> str:
    return ""


def _does_not_count(*_: object) -> None:
    """What is given or waited for in a pass can be given once more."""


def _oldest_first(candidate: Any) -> tuple[float, str]:  # noqa: ANN401 - nobody else knows its type
    return candidate.holder.reserved_at.timestamp(), candidate.holder.uid


def _lower_only(holder: QuotaHolder, wish: QuotaRequest, _: Preemption) -> bool:
    return holder.priority < wish.priority


def _also_older(holder: QuotaHolder, wish: QuotaRequest, _: Preemption) -> bool:
    return holder.priority <= wish.priority


def _any_threshold(tree: Any, member: Any, policy: Preemption, wish: QuotaRequest, short: Any) -> list[Victim]:  # noqa: ANN401
    borrowing = policy.borrow_within_cohort
    if borrowing is not None:
        borrowing = msgspec.structs.replace(borrowing, max_priority_threshold=None)
    return _VICTIMS(tree, member, msgspec.structs.replace(policy, borrow_within_cohort=borrowing), wish, short)


def _forgiven(tree: Any, member: Any, policy: Preemption, wish: QuotaRequest, short: Any) -> list[Victim]:  # noqa: ANN401
    return _VICTIMS(tree, member, policy, msgspec.structs.replace(wish, was_sent_back=False), short)


def _by_right_alone(tree: Any, member: Any, policy: Preemption, wish: QuotaRequest, short: Any) -> list[Victim]:  # noqa: ANN401
    return _VICTIMS(tree, member, policy, msgspec.structs.replace(wish, is_promised=False), short)


def _never(*_: object) -> bool:
    return False


def _preemptors_first(workload: Workload, order: Order, *, is_strict: bool, **_: bool) -> QueuePosition:
    return _PLACE(workload, order, is_strict=is_strict, preemptors_first=True)


def _nobody_else(*_: object, **__: object) -> tuple[()]:
    return ()


def _nobody(*_: object) -> tuple[()]:
    return ()


def _all_of_them(gone: list[Any], _: object) -> list[Any]:
    return gone


def _less_by_what_others_overdraw(member: QuotaNode, slot: Slot) -> int:
    if member.parent is None:
        return _AVAILABLE(member, slot)
    return _AVAILABLE(member, slot) + min(0, member.parent.available(slot))


def _mutant(name: str, where: str, new: object, story: str = "", *, test: str = "") -> Mutant:
    """``test`` where stories would notice only after a long time of going back and forth."""
    path = f"tests/decide/queue/test_{test}.py" if test else ""
    return Mutant(f"cohorts: {name}", {f"{_QUEUE}.{where}": new}, story, path)


COHORT_MUTANTS: Final = (
    _mutant("a lender keeps nothing for itself", "quota_tree.QuotaNode._local", _keeps_nothing, "does not lend"),
    _mutant("there is no limit to borrowing", "quota_tree.QuotaNode._may_borrow", _without_end, "borrows no more"),
    _mutant("circles are not seen", "cluster_queue_status._problem_above", _no_problem, "in each other"),
    _mutant("the oldest goes first", "preemption._order", _oldest_first, "the newest goes first"),
    _mutant("nobody of the same priority goes", "preemption._may_go_in_queue", _lower_only, "slipped past"),
    _mutant("older ones of the same priority go", "preemption._may_go_in_queue", _also_older, test="preemption"),
    _mutant("there is no threshold", "admission.victims", _any_threshold, "up to a threshold"),
    _mutant("what is waited for is free", "ledger.QuotaLedger.use", _does_not_count, test="preemption_order"),
    _mutant("who waits for the preempted may be overtaken", _LINE, _never, test="cohort_model"),
    _mutant("strict preemptors may be overtaken", _WAITS, _never, test="cohort_properties"),
    _mutant("waiting preemptors come first", "queue_entry.place_of", _preemptors_first, test="preemption_order"),
    _mutant("who borrows takes what is others' own", "preemption._would_return", _nobody, test="cohort_properties"),
    _mutant("who was sent back goes on in a circle", "admission.victims", _forgiven, test="cohort_properties"),
    _mutant("what is lent is never taken back", "preemption._others", _nobody_else, test="cohort_properties"),
    _mutant("what was promised is forgotten", "admission.promised_to", _nobody, test="pod_sets_properties"),
    _mutant("who goes anyway does not go for it", "admission.victims", _by_right_alone, test="pod_sets_properties"),
    _mutant("who was preempted borrows", "admission._Round._is_preemptor_ahead", _never, test="pod_sets_properties"),
    _mutant("who need not have gone is gone", "preemption._without_needless", _all_of_them, test="cohort_model"),
    _mutant("a strict head keeps nothing", "admission._Round._keep_share", _does_not_count, test="cohort_model"),
    _mutant(
        "a full cohort takes what is not lent",
        "quota_tree.QuotaNode.available",
        _less_by_what_others_overdraw,
        test="quota_tree",
    ),
)
