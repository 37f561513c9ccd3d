"""What a removal means: which machine, which Node object, and whether the machine was ours at all.

A removal's next phase, as it is written.

What does each NodeRemovalRequest need next? Docs: docs/removing.md.

    Pending ──asked──► Deprovisioning ──the machine is gone──► released, Node object gone, request gone
       ▲                    └──asked too often──► RemovalFailed ──┐
       └──────────────────── a person or the pool says so ────────┘

Whether the node is needed after all is looked at each time before its provider is asked, and by the executor once more,
live, in the instant before. Once the machine is gone there is no way back: what is left on it is released.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.actions import (
    DeleteMachine,
    DeleteObject,
    Hold,
    Outcome,
    PatchObject,
    RecordEvent,
    Result,
    held_and_reported,
)
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_removal_request import IF_UNREADY, RETRY, NodeRemovalRequest, NodeRemovalRequestStatus
from growth.api.offering import POOL
from growth.api.phases import RemovalPhase
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.status import with_events
from growth.api.taints import has_traces, scale_down_at
from growth.decide.capacity.disruptability import why_awaited, why_busy, why_left_alone
from growth.decide.policy.pool_terms import terms_of
from growth.decide.scale_down.context import ScaleDownContext
from growth.decide.scale_down.unready_nodes import may_go_with_work, why_unheard_of
from growth.decide.writes.node_patches import marked, unmarked
from growth.decide.writes.pod_release import is_free, orphans_released, released


def machine_of(context: ScaleDownContext, removal: NodeRemovalRequest) -> tuple[ProviderState, Machine] | None:
    """The removal's machine as its provider lists it; whoever names none means the one behind the node."""
    node = context.snapshot.nodes.get(removal.node_name)
    provider_id = removal.spec.provider_id or (node.spec.provider_id if node is not None else "")
    return context.machine(provider_id, removal.node_name)


def node_of(context: ScaleDownContext, removal: NodeRemovalRequest) -> Node | None:
    """The removal's node; one of its name on another machine is not."""
    node = context.snapshot.nodes.get(removal.node_name)
    if node is None:
        return None
    theirs, ours = node.spec.provider_id, removal.spec.provider_id
    return None if theirs and ours and theirs != ours else node


def was_removed_by_us(removal: NodeRemovalRequest, node: Node) -> bool:
    """Whether the machine that is gone was one of ours: we asked for its end, or marked its node to do so, or gave up a
    machine of this id that never became ready. Anybody may write a removal for any node, and that proves nothing."""
    if POOL not in node.metadata.labels:
        return False
    is_given_up = not node.is_ready and bool(removal.spec.provider_id)
    return removal.status.removal_attempt > 0 or scale_down_at(node) is not None or is_given_up


# The seed's names.
DELETION_REQUESTED: Final = "Deletion requested"
DELETION_FAILED: Final = "Deletion failed"


def moved(
    removal: NodeRemovalRequest,
    phase: RemovalPhase,
    at: datetime,
    why: str,
    *,
    events: Sequence[tuple[str, str]] = (),
    attempt: int | None = None,
    attempted_at: datetime | None = None,
) -> PatchObject:
    """Bring the removal into a phase; ``events`` are names with reasons, what is not given stays."""
    status = removal.status
    new = NodeRemovalRequestStatus(
        phase=phase,
        removal_attempt=status.removal_attempt if attempt is None else attempt,
        remove_attempted_at=attempted_at or status.remove_attempted_at,
        events=with_events(status.events, at, events),
    )
    return PatchObject(
        subject=reference_to(NODE_REMOVAL_REQUESTS, removal.metadata),
        why=why,
        body={"status": msgspec.to_builtins(new)},
        subresource="status",
        resource_version=removal.metadata.resource_version,
    )


# Whoever asked a provider knows how that ended; these ends say that it was not asked.
_NOT_ASKED: Final = (Result.STALE, Result.FENCED)
_READY_AGAIN: Final = "it is ready again"


def remove(context: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    """The next step of one removal."""
    deletion = context.outcomes.latest(DeleteObject, _subject(removal))
    if removal.metadata.deletion_timestamp is not None or (deletion is not None and deletion.result is Result.DONE):
        return  # it is gone, or going, whatever a watch that lags still shows
    noticed_at, asked_at = _noticed_at(context, removal), _asked_at(context, removal)
    phase, found = removal.status.phase, machine_of(context, removal)
    if note_answer(context, removal):
        return
    if _is_well_again(context, removal, is_there=found is not None):
        _cancel(context, removal, _READY_AGAIN)
    elif found is None and not context.is_silent(removal.spec.pool, max(noticed_at, asked_at or noticed_at)):
        _gone(context, removal)
    elif phase == "RemovalFailed":
        _await_person(context, removal)
    elif asked_at is not None and context.now < (again_at := asked_at + context.settings.removal.retry_after):
        context.remind(again_at)
    elif found is None or found[0].problem or (asked_at and context.is_silent(removal.spec.pool, asked_at)):
        # What it said before it was last asked proves nothing, neither that the machine is gone nor that it is there.
        why = "its provider does not say whether the machine is there"
        context.said.append(Hold(subject=_subject(removal), why=why, reason="ProviderSilent"))
    elif why := _why_cancelled(context, removal):
        _cancel(context, removal, why)
    elif removal.status.removal_attempt >= context.settings.removal.attempts:
        _fail(context, removal)
    else:
        cloud, machine = found
        _ask(context, removal, cloud.provider, machine.id)


def note_answer(context: ScaleDownContext, removal: NodeRemovalRequest) -> bool:
    """Write down what the provider answered, if it was asked and that is not written yet; says whether it was."""
    outcome = _untold(context, removal) if removal.status.phase != "RemovalFailed" else None
    if outcome is not None:
        _note_attempt(context, removal, outcome)
    return outcome is not None


def _noticed_at(context: ScaleDownContext, removal: NodeRemovalRequest) -> datetime:
    """Since when it is known that the provider was asked so many times: what it said before tells nothing."""
    key = f"{removal.metadata.uid}/{removal.status.removal_attempt}"
    context.noticed[key] = min(context.carry.noticed.get(key, context.now), context.now)
    return context.noticed[key]


def _asked_at(context: ScaleDownContext, removal: NodeRemovalRequest) -> datetime | None:
    """When the provider was last asked, if it has to be asked again in time. What lies ahead was written by a clock
    that was wrong: then it was asked when we first saw that."""
    written = removal.status.remove_attempted_at
    if removal.status.phase != "Deprovisioning":
        return None
    if written is None or (written > context.now and context.clock.steady_since is None):
        return _noticed_at(context, removal)
    return context.since(written)


def _subject(removal: NodeRemovalRequest) -> ObjectReference:
    return reference_to(NODE_REMOVAL_REQUESTS, removal.metadata)


# Before the provider is asked


def _is_well_again(context: ScaleDownContext, removal: NodeRemovalRequest, *, is_there: bool) -> bool:
    """Whether it was to go for being unready, works again, and nobody is just deleting its machine."""
    node, phase = node_of(context, removal), removal.status.phase
    if node is None or not node.is_ready or IF_UNREADY not in removal.metadata.annotations:
        return False
    return phase == "Pending" or (phase == "RemovalFailed" and is_there)


def _why_cancelled(context: ScaleDownContext, removal: NodeRemovalRequest) -> str:
    """Why the machine must not be given back after all; empty if it may go."""
    node, pool = node_of(context, removal), context.pools.get(removal.spec.pool)
    if node is None:
        return ""
    is_deleted = pool is not None and pool.metadata.deletion_timestamp is not None
    # One that never became ready runs nothing, whatever was bound to it.
    is_dead = node.metadata.name in context.snapshot.closed and not node.is_ready
    if node.is_ready and IF_UNREADY in removal.metadata.annotations:
        return _READY_AGAIN
    if (why := why_busy(context.use, node)) and not is_dead and not _goes_with_work(context, removal, node):
        return why
    # Demand keeps a node that works; one that is unready is no place for it.
    is_spare = scale_down_at(node) is not None and IF_UNREADY not in removal.metadata.annotations
    return (why_awaited(context.use, node) if is_spare and not is_deleted else "") or why_left_alone(context.use, node)


def _goes_with_work(context: ScaleDownContext, removal: NodeRemovalRequest, node: Node) -> bool:
    """Whether it goes because it is unready for long, and what is bound to it does not keep it."""
    if IF_UNREADY not in removal.metadata.annotations:
        return False
    return may_go_with_work(context, node, context.pools.get(removal.spec.pool))


def _cancel(context: ScaleDownContext, removal: NodeRemovalRequest, why: str) -> None:
    """The request goes; and the mark, unless its pool is being deleted, which empties the node first."""
    context.said.append(DeleteObject(subject=_subject(removal), why=f"the node stays: {why}"))
    node, pool = node_of(context, removal), context.pools.get(removal.spec.pool)
    if node is None or (pool is not None and pool.metadata.deletion_timestamp is not None):
        return
    if has_traces(node):
        context.said.append(unmarked(node, f"it stays: {why}"))
    context.tell(node, "ScaleDownCancelled", f"it stays: {why}")


def _ask(context: ScaleDownContext, removal: NodeRemovalRequest, provider: str, machine_id: str) -> None:
    node = node_of(context, removal)
    is_for_being_unready = IF_UNREADY in removal.metadata.annotations
    may_be_used = node is not None and (
        node.is_ready or (is_for_being_unready and node.metadata.name not in context.snapshot.closed)
    )
    if node is not None and may_be_used and scale_down_at(node) is None:
        # Nobody may move in while the machine is given back: an unready node may come back in that very second.
        context.said.append(marked(node, context.now, removal.spec.reason or "its removal is requested"))
        return
    is_another = node is None and removal.node_name in context.snapshot.nodes
    is_running = node is not None and (node.is_ready or node.metadata.name not in context.snapshot.closed)
    goes_with_work = node is not None and _goes_with_work(context, removal, node)
    context.said.append(
        DeleteMachine(
            subject=_subject(removal),
            why=removal.spec.reason or "its removal is requested",
            provider=provider,
            machine_id=machine_id,
            # What we see may be old: a node that seems never to have come, or to be dead, may have work by now.
            empty_node="" if is_another or goes_with_work else removal.node_name,
            unready_node=removal.node_name if is_for_being_unready and not is_another else "",
            ignores_unstarted=not is_running,
        )
    )


# Attempts


def _untold(context: ScaleDownContext, removal: NodeRemovalRequest) -> Outcome | None:
    """How the provider answered, if that is not written down yet."""
    outcome = context.outcomes.latest(DeleteMachine, _subject(removal))
    if outcome is None or outcome.result in _NOT_ASKED:
        return None
    told_at = removal.status.remove_attempted_at
    # A clock that was set back since makes what was told look later than what is to be told.
    is_reported = told_at is not None and (outcome.at == told_at or outcome.at < told_at <= context.now)
    return None if is_reported else outcome


def _note_attempt(context: ScaleDownContext, removal: NodeRemovalRequest, outcome: Outcome) -> None:
    events = [(DELETION_REQUESTED, "")]
    if outcome.result is not Result.DONE:
        events.append((DELETION_FAILED, f"{outcome.error}: {outcome.message}"))
    attempt = removal.status.removal_attempt + 1
    why = f"the provider was asked to delete the machine, attempt {attempt}"
    context.said.append(
        moved(removal, "Deprovisioning", outcome.at, why, events=events, attempt=attempt, attempted_at=outcome.at)
    )


def _fail(context: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    attempts = f"{removal.status.removal_attempt} attempts" if removal.status.removal_attempt > 1 else "an attempt"
    said = _last_words(removal)
    why = f"its machine is still there after {attempts}" + (f", the last of which ended with {said}" if said else "")
    context.said.append(moved(removal, "RemovalFailed", context.now, why, events=[(DELETION_FAILED, why)]))


def _last_words(removal: NodeRemovalRequest) -> str:
    """Why it failed, as it was last written down."""
    failures = [one.reason for one in removal.status.events if one.name == DELETION_FAILED and one.reason]
    return failures[-1] if failures else ""


def _await_person(context: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    """RemovalFailed: the node stays tainted and is told of, until somebody says that it should be tried again."""
    pool = context.pools.get(removal.spec.pool)
    retry_after = terms_of(pool).retry_failed_after if pool is not None else None
    again_at = context.since(removal.status.remove_attempted_at) + retry_after if retry_after is not None else None
    if RETRY in removal.metadata.annotations or (again_at is not None and context.now >= again_at):
        context.said.append(moved(removal, "Pending", context.now, "it is tried again", attempt=0))
        return
    if again_at is not None:
        context.remind(again_at)
    what = _last_words(removal) or "nobody wrote down why"
    retry = f"growth request retry {removal.metadata.name}"
    why = f"the machine could not be deleted and still costs money: {what}; look at it, then: {retry}"
    node, subject = node_of(context, removal), _subject(removal)
    context.said.append(Hold(subject=subject, why=why, reason="RemovalFailed"))
    for told in (subject, *([reference_to(NODES, node.metadata)] if node is not None else [])):
        context.said.append(
            RecordEvent(subject=told, why=why, type="Warning", reason="RemovalFailed", action="Removing")
        )


def forget_wish(context: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    """The wish to try again is fulfilled, or there was nothing to try again."""
    if RETRY in removal.metadata.annotations and removal.status.phase != "RemovalFailed":
        body = {"metadata": {"annotations": {RETRY: None}}}
        context.said.append(PatchObject(subject=_subject(removal), why="it is being tried", body=body))


# After the machine is gone


def _gone(context: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    """Its provider does not list the machine. Of one whose end nobody asked for that is doubted: pods may run there."""
    node, pool = node_of(context, removal), context.pools.get(removal.spec.pool)
    is_unasked = IF_UNREADY in removal.metadata.annotations and not removal.status.removal_attempt
    if node is not None and is_unasked and (why := why_unheard_of(context, node, pool)):
        context.said.append(Hold(subject=_subject(removal), why=why, reason="ProviderSilent"))
    else:
        _finish(context, removal)


def _finish(context: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    """Release what is left on it, then its Node object, then the request."""
    node = node_of(context, removal)
    if node is None:
        is_proven = removal.status.removal_attempt > 0 and removal.node_name not in context.snapshot.nodes
        done = DeleteObject(subject=_subject(removal), why="its machine and its node are gone")
        context.said += (orphans_released(context.snapshot, removal.node_name) if is_proven else []) or [done]
        return
    if not was_removed_by_us(removal, node):
        why = f"no provider of ours has a machine behind node {node.metadata.name}, or had one: it is left alone"
        context.said += held_and_reported(_subject(removal), reason="NotOurs", why=why, action="Removing")
        return
    context.said += released(context.snapshot, node)
    is_free_now = is_free(context.snapshot, node, removal.status.remove_attempted_at)
    if is_free_now and node.metadata.deletion_timestamp is None:
        context.said.append(DeleteObject(subject=reference_to(NODES, node.metadata), why="its machine is gone"))
