"""What a decision says: Actions, which the executor carries out, and Holds, which only say why something is not done.

Both are frozen values, so that they can be compared, written down, explained and tried out without any server. An
action says what is wanted and on what it was decided (``subject.uid``, ``resource_version``); doing it twice is the
same as doing it once.

What became of an action: a value that deciders may read in the next pass, and metrics and logs count.
"""

from datetime import datetime
from enum import StrEnum
from typing import Any, Literal

import msgspec

from growth.api.core import ObjectReference
from growth.api.machine import Machine, MachineRequest, PowerReading


class _Said(msgspec.Struct, frozen=True, kw_only=True, tag_field="what", tag=True):
    """What every action and hold has: whom it is about, and why, as a sentence for people."""

    subject: ObjectReference
    why: str


class CreateObject(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Make an object. Its name derives from what is wanted, so one that is there already is this one."""

    body: dict[str, Any]
    """All but apiVersion, kind, name and namespace, which the subject says."""
    if_absent: bool = False
    """Whether anything of that name will do, whatever it says: it is seen soon enough."""


class PatchObject(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Set fields of an object (null removes one), or of a subresource such as ``status``: a JSON merge patch."""

    body: dict[str, Any]
    subresource: str = ""
    resource_version: int | None = None
    """The version that it was decided on; None where any version would have led to the same patch. Never None for the
    status of our own kinds, where the server does not check the subject's uid."""
    given: tuple["Precondition", ...] = ()
    """What else it was decided on, and may have been seen too late: that is looked at in the instant before."""


class Precondition(msgspec.Struct, frozen=True):
    """Another object is in this version."""

    subject: ObjectReference
    resource_version: int | None
    """None if there should be none of that name."""


class EditObject(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Change items of an object's lists, which a merge patch could only replace whole: a JSON patch.

    Its ``test`` operations say on what it was decided; if one fails, the object has changed since.
    """

    operations: tuple[dict[str, Any], ...]


class DeleteObject(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Delete this very object: without the subject's uid it is refused."""

    resource_version: int | None = None
    grace_seconds: int | None = None


class EvictPod(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Ask this very pod to leave; its disruption budget may say no, which is an answer and no failure."""

    grace_seconds: int | None = None


class RecordEvent(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Tell people about the subject; ``why`` is the note. Said in every pass, it is told once until it ends."""

    type: Literal["Normal", "Warning"] = "Normal"
    reason: str
    """What happened, as one word for machines: ``NoCapacity``."""
    action: str
    """What was being done, as one word: ``Provisioning``."""


class CreateMachine(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Buy a machine; the subject is its NodeRequest. One of that name is this one, however often it is asked for."""

    provider: str
    request: MachineRequest


class DeleteMachine(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Give a machine back; the subject is the request that says so. One that is gone already was given back."""

    provider: str
    machine_id: str
    empty_node: str = ""
    """The machine's node, if work could have moved in since this was decided: that is looked at in the instant before
    the provider is asked, and then it is not."""
    unready_node: str = ""
    """The machine's node, if it goes because it is unready: one that came back in the instant before stays."""
    ignores_unstarted: bool = False
    """Whether pods do not count that are bound there and never ran: it seems that the node never became ready."""


class ReadPower(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Ask a provider how one machine is; the subject is its node. The answer is ``Outcome.readings``."""

    provider: str
    machine_id: str
    asked_at: datetime
    """Which of many questions this is: the same one is asked once."""


class ReadPowers(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Ask a provider how all its machines are, where asking for each would take too many calls."""

    provider: str
    asked_at: datetime


class FenceMachine(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Cut a machine's power, so that nothing can run on it; the subject is its node, which must not be ready then."""

    provider: str
    machine_id: str


class ReleasePod(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """End a pod whose machine is dead, as the pod collector would: phase Failed, then deleted without grace.

    The phase comes first because a finalizer may keep the object, and a pod that has not ended keeps its volumes.
    """


OnMachine = CreateMachine | DeleteMachine | ReadPower | ReadPowers | FenceMachine
"""What a provider is asked."""

Action = CreateObject | PatchObject | EditObject | DeleteObject | EvictPod | ReleasePod | RecordEvent | OnMachine


class Hold(_Said, frozen=True, kw_only=True, tag_field="what", tag=True):
    """Something that is not done now. It is recorded (explain, metrics, logs) and never executed."""

    reason: str
    """Why, as one word for machines: ``ClusterUnhealthy``."""


def held_and_reported(subject: ObjectReference, *, reason: str, why: str, action: str) -> tuple[Hold, RecordEvent]:
    """Something that is not done now and that people should hear of, in the same words for both."""
    event = RecordEvent(subject=subject, why=why, type="Warning", reason=reason, action=action)
    return Hold(subject=subject, why=why, reason=reason), event


class Result(StrEnum):
    """How an action ended."""

    DONE = "done"
    """It was done, or it had been done already."""

    STALE = "stale"
    """What it was decided on has changed: nothing was done, and it has to be decided anew."""

    REFUSED = "refused"
    """The server or the provider said no, and nothing was done. ``error`` is its reason."""

    FAILED = "failed"
    """There was no answer, or no clear one. It may have happened; what is seen next will tell."""

    FENCED = "fenced"
    """It was not sent, because the lease that allowed it has run out."""


class Outcome(msgspec.Struct, frozen=True, kw_only=True):
    """An action and its end. Lost when the process ends: what matters is in objects and at the provider."""

    action: Action
    result: Result
    at: datetime
    error: str = ""
    """The error's name, such as ``OutOfStock``, which tables can map; empty when it was done or stale."""
    message: str = ""
    retry_after_seconds: float | None = None
    """How long the other side asked to be left alone."""
    machine: Machine | None = None
    """What CreateMachine got."""
    readings: tuple[PowerReading, ...] = ()
    """What ReadPower, ReadPowers and FenceMachine were told."""


OutcomeKey = tuple[str, ObjectReference]
"""An action's type and its subject: the latest of each is kept."""


def key_of(action: Action) -> OutcomeKey:
    """Under which key the outcome of this action is kept."""
    return type(action).__name__, action.subject
