"""What became of an action: a value that deciders may read in the next pass, and metrics and logs count."""

from datetime import datetime
from enum import StrEnum

import msgspec

from growth.api.action import Action
from growth.api.core import ObjectReference
from growth.api.machine import Machine, PowerReading


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
