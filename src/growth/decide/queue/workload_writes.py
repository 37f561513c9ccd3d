"""The end of a pass: what is written on workloads, and which need not be looked at in the next one."""

from growth.api.queue.workload import PODS_READY
from growth.decide.queue.context import QueueContext
from growth.decide.queue.flavor_migration import may_have_to_move
from growth.decide.queue.quota_holders import Key
from growth.decide.queue.requeue import machines_kept_for
from growth.decide.queue.status_write_budget import BudgetSpending
from growth.decide.queue.usage_figures import share_of
from growth.decide.queue.workload_patch import WorkloadDraft


def rest(context: QueueContext, remarks: BudgetSpending) -> None:
    """Write what was said of workloads: first what others go by; then what only people want to know, as far as
    ``remarks`` pay for it."""
    for key, draft in sorted(context.drafts.items(), key=lambda one: (not one[1].is_weighty, one[0])):
        actions = draft.actions()
        if actions and not draft.is_weighty and not remarks.pays(key, draft.before.metadata.resource_version):
            context.backlog.unsaid.setdefault(key, None)
            _note(context, key, draft, is_quiet=True)
            continue
        context.backlog.unsaid.pop(key, None)
        context.said += actions
        _note(context, key, draft, is_quiet=not actions and not _is_awaited(context, draft))


def _note(context: QueueContext, key: Key, draft: WorkloadDraft, *, is_quiet: bool) -> None:
    backlog = context.backlog
    (backlog.restless.discard if is_quiet else backlog.restless.add)(key)
    kept = machines_kept_for(draft.workload, context.terms.requeuing, context.now)
    if kept:
        backlog.kept[key] = kept
    else:
        backlog.kept.pop(key, None)
    backlog.count(key, share_of(context, draft.workload))


def _is_awaited(context: QueueContext, draft: WorkloadDraft) -> bool:
    """Whether its pods are awaited: how they fare is seen on pods, machines and nodes, not on it."""
    workload = draft.workload
    if workload.metadata.controller is None or not workload.is_reserving or workload.holds(PODS_READY):
        return False
    return context.terms.readiness is not None or may_have_to_move(context, workload)
