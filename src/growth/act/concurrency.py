"""Lanes: what must not happen at the same time shares one, and a lane rests after what happened in it.

Decisions are made anew from what is seen, and what was just done is not seen at once. Without a rest the same action
would be sent again and again until the watch has caught up, and one that fails as fast as the server can answer.
"""

from collections import OrderedDict
from typing import Final

import msgspec

from growth.api.actions import (
    Action,
    CreateMachine,
    DeleteMachine,
    EditObject,
    FenceMachine,
    OnMachine,
    Outcome,
    PatchObject,
    ReadPower,
    ReadPowers,
    RecordEvent,
    Result,
)

Lane = tuple[str, ...]

# So long the same action is not tried again after it was done or stale: a watch that lags for longer has a problem.
_UNSEEN_SECONDS: Final = 5.0
# Nothing is tried in a lane that failed, whatever is decided meanwhile; doubling from the first to the last.
_FIRST_REST_SECONDS: Final = 1.0
_LONGEST_REST_SECONDS: Final = 60.0
# Failed lanes that are remembered. Beyond it the oldest are forgotten, and tried again a little too early.
_LANES: Final = 20_000
_VERSION_PATH: Final = "/metadata/resourceVersion"


def lane_of(action: Action) -> Lane:
    """What this action must not meet itself or another one in."""
    subject = action.subject
    match action:
        case RecordEvent():
            place = (subject.api_version, subject.kind, subject.namespace, subject.name)
            return ("event", *place, action.reason, action.action, action.why)
        case CreateMachine():
            return ("machine", action.provider, action.request.name)
        case DeleteMachine() | FenceMachine():
            return ("machine", action.provider, action.machine_id)
        case ReadPower():
            return ("power", action.provider, action.machine_id)
        case ReadPowers():
            return ("power", action.provider)
        case _:
            return ("object", subject.api_version, subject.kind, subject.namespace, subject.name)


def door_of(action: Action) -> str:
    """Who is asked: the API server, or one of the providers. Each has slots of its own, so that one that hangs does
    not hold up what is to be done elsewhere. Questions do not wait behind purchases: lives may hang on the answer."""
    if isinstance(action, ReadPower | ReadPowers):
        return f"{action.provider} power"
    return action.provider if isinstance(action, OnMachine) else ""


class _Last(msgspec.Struct, frozen=True):
    action: Action
    failures: int
    until: float


class RetryBackoffs:
    """The memory of what happened in each lane; ``clock`` is monotonic and an argument."""

    def __init__(self) -> None:
        self._failed: OrderedDict[Lane, _Last] = OrderedDict()
        # What was done keeps its whole body here, and dozens are done in a second: it goes when its rest is over.
        self._done: OrderedDict[Lane, _Last] = OrderedDict()

    def __len__(self) -> int:
        """How many lanes are remembered."""
        return len(self._failed) + len(self._done)

    def seconds(self, action: Action, clock: float) -> float:
        """How long this action has to wait; 0 if it may begin."""
        lane = lane_of(action)
        last = self._failed.get(lane) or self._done.get(lane)
        if last is None or not (last.failures or _is_same_try(last.action, action)):
            return 0.0
        return max(0.0, last.until - clock)

    def note(self, outcome: Outcome, clock: float) -> None:
        """This is how it ended."""
        lane = lane_of(outcome.action)
        before = self._failed.pop(lane, None)
        self._done.pop(lane, None)
        is_failure = outcome.result in (Result.REFUSED, Result.FAILED)
        failures = (before.failures if before else 0) + 1 if is_failure else 0
        rest = outcome.retry_after_seconds or _rest_seconds(failures)
        (self._failed if is_failure else self._done)[lane] = _Last(outcome.action, failures, clock + rest)
        if len(self._failed) > _LANES:
            self._failed.popitem(last=False)
        while self._done and next(iter(self._done.values())).until <= clock:
            self._done.popitem(last=False)


def _rest_seconds(failures: int) -> float:
    if not failures:
        return _UNSEEN_SECONDS
    return min(_LONGEST_REST_SECONDS, _FIRST_REST_SECONDS * 2 ** min(failures - 1, 10))


def _is_same_try(before: Action, now: Action) -> bool:
    """Whether this was decided on the same sight of things.

    A patch that names its version is known by it: what it sets may differ by an instant in it and still be the same,
    and after any other patch of that version, done or stale, the object has another one. A purchase is known by its
    name alone, which is its lane: what is believed of its offering may change while it is made.
    """
    if isinstance(before, CreateMachine) and isinstance(now, CreateMachine):
        return True
    if isinstance(before, PatchObject) and isinstance(now, PatchObject) and now.resource_version is not None:
        return (before.resource_version, before.given) == (now.resource_version, now.given)
    if isinstance(before, EditObject) and isinstance(now, EditObject) and (version := _version_tested(now)):
        return _version_tested(before) == version
    return msgspec.structs.replace(before, why="") == msgspec.structs.replace(now, why="")


def _version_tested(action: EditObject) -> str:
    """The version that an edit says it was decided on; empty if it says none."""
    tests = (one["value"] for one in action.operations if one["op"] == "test" and one["path"] == _VERSION_PATH)
    return next(tests, "")
