"""Webhooks of a Kueue that is gone: the server still asks it before each write of a job, a pod or a queue, and refuses
the write because nobody answers.

They are seen before anything fails (the two configurations, under the names that Kueue's manifests give them), and
recognised by what the server says to a write, or to a list, that failed: a chart may have called them otherwise.
"""

from growth.api.actions import Action, Hold, Outcome, Result, held_and_told
from growth.api.queue.kueue_installation import KUEUE_MUTATING, KUEUE_VALIDATING, WebhookConfiguration
from growth.api.references import reference_to
from growth.decide.contract import State
from growth.observe.snapshot import Snapshot

LEFT_OVER = "KueueWebhooksLeftOver"
_BY_LABEL = (
    "kubectl delete mutatingwebhookconfigurations,validatingwebhookconfigurations "
    "--selector app.kubernetes.io/name=kueue"
)


def told_of_leftovers(snapshot: Snapshot, state: State) -> list[Action | Hold]:
    """What to remove, on the webhooks themselves and on whatever they kept us from writing."""
    said: list[Action | Hold] = []
    found: list[tuple[str, WebhookConfiguration]] = [
        *(("mutating", one) for one in snapshot.table(KUEUE_MUTATING).values()),
        *(("validating", one) for one in snapshot.table(KUEUE_VALIDATING).values()),
    ]
    for what, one in found:
        if one.blocks:
            kind = KUEUE_MUTATING if what == "mutating" else KUEUE_VALIDATING
            why = (
                "Kueue is gone, and its webhooks refuse what it would be asked about: jobs, pods and queues cannot be "
                f"written. Remove them: kubectl delete {kind.plural} {one.metadata.name}"
            )
            said += held_and_told(reference_to(kind, one.metadata), reason=LEFT_OVER, why=why, action="Queueing")
    for outcome in state.outcomes.values():
        why = advice(outcome.message) if _is_problem(outcome) else ""
        if why:
            said += held_and_told(outcome.action.subject, reason=LEFT_OVER, why=why, action="Queueing")
    return said


def advice(message: str) -> str:
    """What to do about an answer of the server that a dead Kueue is behind; empty if none is."""
    if "conversion webhook" in message and "kueue" in message:
        return (
            "Kueue is gone, and the server asks it to convert objects of an older version: take the conversion out of "
            "Kueue's definitions (docs/queue.md, Beside Kueue, and after it)"
        )
    if "failed calling webhook" in message and (".kb.io" in message or "kueue" in message):
        return f"Kueue is gone, and its webhooks refuse this write. Remove them: {_BY_LABEL}"
    return ""


def _is_problem(outcome: Outcome) -> bool:
    return outcome.result in (Result.REFUSED, Result.FAILED)
