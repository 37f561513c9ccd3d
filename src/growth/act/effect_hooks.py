"""Named points: every side effect passes one, so that a test can stop the process before or after any of them.

A side effect that has no point cannot be stopped at, so a crash there would never be tried: ``carrying`` has one way
to the doors, and it leads through here.
"""

from enum import StrEnum
from typing import Protocol

import msgspec

from growth.api.core import ObjectReference


class EffectPoint(StrEnum):
    """Where the world may be stopped."""

    CREATE_OBJECT = "create-object"
    PATCH_OBJECT = "patch-object"
    EDIT_OBJECT = "edit-object"
    DELETE_OBJECT = "delete-object"
    EVICT_POD = "evict-pod"
    RECORD_EVENT = "record-event"
    CREATE_MACHINE = "create-machine"
    DELETE_MACHINE = "delete-machine"
    FENCE_MACHINE = "fence-machine"


class Hook(Protocol):
    """Called synchronously with the point and whom the effect is about; what it raises ends the process's work.

    A hook that plays a crash raises a BaseException that is no Exception, as KeyboardInterrupt is: an Exception would
    count as the action's failure and be survived. It also cuts the replica's way to the server, because what is left of
    it still tidies up (it would release the lease), and a dead process says no goodbye.
    """

    def __call__(self, point: EffectPoint, subject: ObjectReference, /) -> None:
        """Look, or raise."""
        ...


def _pass_by(point: EffectPoint, subject: ObjectReference) -> None:
    """In production nobody stops anything."""


class EffectHooks(msgspec.Struct, frozen=True):
    """``before``: nothing has left yet. ``after``: it may have happened, and nobody has drawn a conclusion from it."""

    before: Hook = _pass_by
    after: Hook = _pass_by
