"""What is to be said about one node's failover: all that was written down and all that is so now, as one value."""

from collections.abc import Iterator, Sequence
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.core import Lease
from growth.api.growth_status import Timeline, TimelineStep
from growth.api.machine import Power
from growth.api.out_of_service import OUT_OF_SERVICE, Proof, out_of_service_taint, proof_on
from growth.api.pod import Pod
from growth.cli.explain_disruption import MoveReport
from growth.cli.node_in_service import why_stuck
from growth.cli.node_reader import NodeView, taken_out_by

# After so long in which nothing was noted, what comes is another story.
_ANOTHER_STORY: Final = timedelta(minutes=30)
_ENDS: Final = frozenset({"InService", "NodeDeleted", "HeardAgain"})
_STOPPING: Final = f"Changing-{Power.STOPPING.value}"
HAPPENED: Final = frozenset(
    {
        *("LastSign", "Silent", "Running", "Changing", "Off", "Dead", "Fencing", "Tainted", "TaintedByHand"),
        *("Releasing", "Released", "Recovered", "NodeDeleted", "BackAgain", "InService", "HeardAgain"),
    }
)
"""Words of steps that happened, up to a hyphen. Any other one says why something does not."""
# A kubelet renews its Lease four times in the time for which it is good.
_MISSED_SHARE: Final = 0.5


class FailoverPhase(StrEnum):
    """How the node is now."""

    IN_SERVICE = "in service"
    SILENT = "silent"
    """Kubernetes calls it ready, but it has missed two renewals of its Lease."""
    UNREADY = "not ready"
    LEAVING = "out of service, and not free yet"
    FREE = "out of service, and free"
    BACK = "out of service, and ready again"
    GONE = "gone"


class TimelineEntry(msgspec.Struct, frozen=True):
    """One entry of the timeline."""

    at: datetime
    seconds: float
    """Since the story began, which is with the last sign of life, as far as that is known."""
    what: str
    words: str
    story: int
    """Of several stories of one node, which."""


class NodeReport(msgspec.Struct, frozen=True, kw_only=True):
    """All of it; ``--output json`` prints this."""

    node: str
    at: datetime
    standing: FailoverPhase
    is_ready: bool = False
    heard_at: datetime | None = None
    """When it last renewed its Lease, by its own clock."""
    provider_id: str = ""
    taken_out_by: str = ""
    taken_out_at: datetime | None = None
    taint: str = ""
    proof: Proof | None = None
    was_graceful: bool | None = None
    """Whether the machine was seen to be shut down in good order; None if nobody knows that it is off."""
    pods: tuple[str, ...] = ()
    """Of its old life, those that must go."""
    volumes: tuple[str, ...] = ()
    staying: tuple[str, ...] = ()
    """Pods that tolerate the taint."""
    stuck: tuple[str, ...] = ()
    held: tuple[str, ...] = ()
    """What is not done, as of the last step."""
    is_of_earlier_node: bool = False
    """Whether the steps are those of another node that had this name."""
    steps: tuple[TimelineEntry, ...] = ()
    moving: MoveReport | None = None
    """What it has to do with moves; None for nodes that are not Growth's."""


def report_of(
    name: str, seen: NodeView | None, story: Timeline | None, lease: Lease | None, at: datetime
) -> NodeReport:
    """What is to be said about this node."""
    entries = story.entries if story is not None else ()
    if seen is None:
        return NodeReport(node=name, at=at, standing=FailoverPhase.GONE, steps=_steps(entries, None))
    node, proof, taint = seen.node, proof_on(seen.node), out_of_service_taint(seen.node)
    steps, phase = _steps(entries, proof), _standing(seen, lease, at)
    is_of_earlier = story is not None and story.uid != node.metadata.uid
    report = NodeReport(
        node=name,
        at=at,
        standing=phase,
        is_ready=node.is_ready,
        heard_at=lease.spec.renew_time if lease is not None else None,
        provider_id=node.spec.provider_id,
        proof=proof,
        was_graceful=_was_graceful(proof, steps),
        is_of_earlier_node=is_of_earlier,
        steps=steps,
    )
    if taint is not None:
        report = _with_left(report, seen, f"{OUT_OF_SERVICE}={taint.value}:{taint.effect}", taken_out_by(node, story))
    if phase is FailoverPhase.IN_SERVICE or is_of_earlier:
        return report
    held = tuple(words for words in _held(steps) if words not in report.stuck)
    return msgspec.structs.replace(report, held=held)


def _with_left(report: NodeReport, seen: NodeView, taint: str, taken_out: tuple[str, datetime | None]) -> NodeReport:
    """With what there is to say about a node that is out of service."""
    left, (who, since) = seen.left, taken_out
    return msgspec.structs.replace(
        report,
        taken_out_by=who,
        taken_out_at=since,
        taint=taint,
        pods=tuple(map(_pod, (*left.pods, *left.lingering))),
        volumes=tuple(one.spec.source.persistent_volume_name or one.metadata.name for one in left.attachments),
        staying=tuple(map(_pod, left.staying)),
        stuck=tuple(why_stuck(seen)),
    )


def _standing(seen: NodeView, lease: Lease | None, at: datetime) -> FailoverPhase:
    if out_of_service_taint(seen.node) is None:
        if not seen.node.is_ready:
            return FailoverPhase.UNREADY
        return FailoverPhase.SILENT if _has_missed(lease, at) else FailoverPhase.IN_SERVICE
    if seen.left.all:
        return FailoverPhase.LEAVING
    return FailoverPhase.BACK if seen.node.is_ready else FailoverPhase.FREE


def _has_missed(lease: Lease | None, at: datetime) -> bool:
    renewed_at = lease.spec.renew_time if lease is not None else None
    if lease is None or renewed_at is None:
        return False
    return at - renewed_at > timedelta(seconds=lease.spec.lease_duration_seconds * _MISSED_SHARE)


def _was_graceful(proof: Proof | None, steps: Sequence[TimelineEntry]) -> bool | None:
    if proof is not None:
        return None if proof.is_forced else proof.was_graceful
    last = [step.what for step in steps if step.story == steps[-1].story] if steps else []
    return _STOPPING in last if "Dead" in last else None


def _held(steps: Sequence[TimelineEntry]) -> Iterator[str]:
    """What the last steps say is not done; a step that is no hold has ended those before it."""
    trailing: list[str] = []
    for step in reversed(steps):
        if step.what.partition("-")[0] in HAPPENED:
            break
        trailing.append(step.words)
    yield from reversed(trailing)


def _steps(entries: Sequence[TimelineStep], proof: Proof | None) -> tuple[TimelineEntry, ...]:
    """What was noted, with what only the proof tells, in the order in which it happened."""
    known = sorted((*entries, *_from_proof(entries, proof)), key=lambda entry: entry.at)
    steps: list[TimelineEntry] = []
    began, story = None, 0
    for entry in known:
        last = steps[-1] if steps else None
        if began is None or last is None:
            began = entry.at
        elif _is_another(last, entry):
            began, story = entry.at, story + 1
        steps.append(TimelineEntry(entry.at, (entry.at - began).total_seconds(), entry.what, entry.words, story))
    return tuple(steps)


def _is_another(last: TimelineEntry, entry: TimelineStep) -> bool:
    """Whether a new story begins: the one before has ended, or nothing was noted for long but that it fell silent."""
    if last.what in _ENDS:
        return entry.what not in _ENDS
    return last.what != "LastSign" and entry.at - last.at > _ANOTHER_STORY


def _from_proof(entries: Sequence[TimelineStep], proof: Proof | None) -> Iterator[TimelineStep]:
    """The steps that nobody noted: while Growth did not run, say, or before it looked."""
    if proof is None:
        return
    near = {entry.what for entry in entries if abs(entry.at - proof.tainted_at) <= _ANOTHER_STORY}
    if not proof.is_forced:
        yield TimelineStep(proof.last_sign, "LastSign", "its last sign of life")
        if "Dead" not in near:
            said = (
                f"its provider has said {proof.power.value} {proof.readings} times since {proof.first_reading:%H:%M:%S}"
            )
            yield TimelineStep(proof.last_reading, "Dead", f"{said}: its machine is dead")
    if proof.by or "Tainted" not in near:
        how = " without proof" if proof.is_forced else ""
        yield TimelineStep(proof.tainted_at, "Tainted", f"{proof.by or 'Growth'} takes it out of service{how}")


def _pod(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
