"""The executor: it is told what is wanted now, and sees to it that each thing is under way once.

Whoever decides says in every pass all that is wanted. What is under way goes on, what still waits is replaced by the
new wishes, so nothing that nobody wants any more is begun. How it ended is told to those who count and decide.
"""

import asyncio
import logging
from collections import Counter, defaultdict, deque
from collections.abc import Callable, Mapping, Sequence
from typing import Final, Protocol

from growth.act.action_runner import Clients, carry_out
from growth.act.concurrency import Lane, RetryBackoffs, door_of, lane_of
from growth.api.actions import (
    Action,
    EditObject,
    OnMachine,
    Outcome,
    OutcomeKey,
    PatchObject,
    ReadPower,
    ReadPowers,
    RecordEvent,
    Result,
    key_of,
)
from growth.api.references import shown
from growth.kube.event_recorder import EventType

_LOG: Final = logging.getLogger(__name__)

# At each door. More would only wait in the client, which bounds its requests itself, and would begin what a later pass
# might drop.
_UNDER_WAY: Final = 64
# Longer than a request with all its retries takes; a provider that says nothing for so long is not going to.
_PATIENCE_SECONDS: Final = 180.0
# So long deciders can read how an action ended. They are woken when one ends, and another leader knows of none of them.
_KEPT_SECONDS: Final = 180.0
SILENCE_SECONDS: Final = 2 * _PATIENCE_SECONDS
"""An executor that has work under way and ends none of it for so long is stuck."""


class ProgressSignal(Protocol):
    """Where progress is shown."""

    def beat(self) -> None:
        """There is work, and it goes on."""
        ...

    def rest(self) -> None:
        """There is no work."""
        ...


class ActionObserver(Protocol):
    """Who counts."""

    def ended(self, outcome: Outcome, seconds: float) -> None:
        """An action ended after so many seconds."""
        ...

    def load(self, waiting: int, under_way: int) -> None:
        """So many actions wait, and so many are under way."""
        ...


class Executor:
    """One role's hands. ``close`` it: what is under way then ends or is cancelled, and nothing begins any more."""

    def __init__(
        self, clients: Clients, *, wake: Callable[[], None], witness: ActionObserver, pulse: ProgressSignal
    ) -> None:
        self._clients = clients
        self._wake = wake
        self._witness = witness
        self._pulse = pulse
        self._loop = asyncio.get_running_loop()
        self._rests = RetryBackoffs()
        self._waiting: dict[str, dict[str, deque[Action]]] = {}  # by capability and door
        self._busy: Counter[str] = Counter()
        self._told: dict[str, frozenset[RecordEvent]] = {}
        self._under_way: dict[Lane, asyncio.Task[Outcome]] = {}
        self._missed: set[Lane] = set()
        self._outcomes: dict[OutcomeKey, Outcome] = {}
        self._ends: deque[tuple[float, Outcome]] = deque()  # in their order, and when each is forgotten
        self._alarm: asyncio.TimerHandle | None = None
        self._is_closed = False
        self._crash: BaseException | None = None
        pulse.rest()

    @property
    def outcomes(self) -> Mapping[OutcomeKey, Outcome]:
        """How the latest action of each type on each subject ended, unless that is long ago, or seen on the object."""
        return self._outcomes

    def want(self, capability: str, actions: Sequence[Action]) -> None:
        """All that this capability wants now; what it wanted before and has not begun is forgotten."""
        if self._is_closed:
            return
        events = frozenset(action for action in actions if isinstance(action, RecordEvent))
        for event in [action for action in actions if isinstance(action, RecordEvent)]:
            # Nothing waits for an event, so it needs no slot. One that was said in the last pass is recorded already,
            # also if another capability says it: failover and shrink see the same unreachable node.
            is_recorded = any(event in told for told in self._told.values())
            if not is_recorded and lane_of(event) not in self._under_way:
                self._begin(event)
        self._told[capability] = events
        waiting = self._waiting[capability] = defaultdict[str, deque[Action]](deque)
        for action in actions:
            if not isinstance(action, RecordEvent):
                waiting[door_of(action)].append(action)
        self._begin_more()

    def raise_crash(self) -> None:
        """What a point raised to end this process (tests do that), if one did."""
        if self._crash is not None:
            raise self._crash

    async def close(self, seconds: float) -> None:
        """Drop what has not begun, wait so long for the rest, cancel what is left."""
        self._is_closed = True
        self._waiting.clear()
        if self._alarm:
            self._alarm.cancel()
        tasks = list(self._under_way.values())
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=seconds)
        finally:
            for task in tasks:
                task.cancel()
        if tasks:
            await asyncio.wait(tasks)

    def _begin_more(self) -> None:
        """In the order of the capabilities, and of their wishes."""
        lines = [(door, line) for waiting in self._waiting.values() for door, line in waiting.items()]
        for door, line in lines:
            while line and self._busy[door] < _UNDER_WAY:
                action = line.popleft()
                lane = lane_of(action)
                if lane in self._under_way:
                    self._missed.add(lane)
                elif (rest := self._rests.seconds(action, self._loop.time())) > 0:
                    self._set_alarm(rest)
                else:
                    self._begin(action, door)
        self._witness.load(sum(len(line) for _, line in lines), len(self._under_way))

    def _begin(self, action: Action, door: str | None = None) -> None:
        """Begin it; without a door it needs no slot."""
        if not self._under_way:
            self._pulse.beat()
        lane = lane_of(action)
        task = self._loop.create_task(self._carry(action))
        self._under_way[lane] = task
        if door is not None:
            self._busy[door] += 1
        task.add_done_callback(lambda ended: self._ended(lane, door, ended))

    async def _carry(self, action: Action) -> Outcome:
        started = self._loop.time()
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                outcome = await carry_out(action, self._clients)
        except TimeoutError:
            message = f"there was no answer within {_PATIENCE_SECONDS:.0f} s"
            outcome = self._failed(action, "TimeoutError", message)
        except Exception as error:  # a mistake of ours in one action must not end all the others
            _LOG.exception("%s could not be carried out", _shown(action))
            outcome = self._failed(action, type(error).__name__, str(error))
        if not isinstance(action, RecordEvent):  # nobody waits for how an event was noted
            self._rests.note(outcome, self._loop.time())
            self._remember(outcome)
        self._witness.ended(outcome, self._loop.time() - started)
        self._tell(outcome)
        return outcome

    def _remember(self, outcome: Outcome) -> None:
        key, is_problem = key_of(outcome.action), outcome.result in (Result.REFUSED, Result.FAILED)
        if not is_problem and isinstance(outcome.action, PatchObject | EditObject):
            # That is seen on the object, and there are dozens of these in a second. Not so what was deleted: a watch
            # that lags shows it for a while.
            self._outcomes.pop(key, None)
            return
        self._outcomes[key] = outcome
        self._ends.append((self._loop.time() + _KEPT_SECONDS, outcome))
        while self._ends[0][0] <= self._loop.time():
            _, old = self._ends.popleft()
            if self._outcomes.get(key_of(old.action)) is old:
                del self._outcomes[key_of(old.action)]

    def _failed(self, action: Action, error: str, message: str) -> Outcome:
        return Outcome(action=action, result=Result.FAILED, at=self._clients.now(), error=error, message=message)

    def _ended(self, lane: Lane, door: str | None, task: asyncio.Task[Outcome]) -> None:
        del self._under_way[lane]
        if door is not None:
            self._busy[door] -= 1
        if self._under_way:
            self._pulse.beat()
        else:
            self._pulse.rest()
        is_missed = lane in self._missed
        self._missed.discard(lane)
        if task.cancelled():
            return
        if crash := task.exception():
            self._crash = crash
            self._is_closed = True
            self._wake()
            return
        # A change of an object is seen by watching; only the executor knows what a provider said, and what went wrong.
        if is_missed or lane[0] in ("machine", "power") or task.result().result is not Result.DONE:
            self._wake()
        if not self._is_closed:
            self._begin_more()

    def _set_alarm(self, seconds: float) -> None:
        """Let it be decided again when the rest is over."""
        when = self._loop.time() + seconds
        if self._alarm and not self._alarm.cancelled() and self._loop.time() < self._alarm.when() <= when:
            return
        if self._alarm:
            self._alarm.cancel()
        self._alarm = self._loop.call_at(when, self._wake)

    def _tell(self, outcome: Outcome) -> None:
        """One line for each end, and an event for each refusal and failure."""
        action, is_problem = outcome.action, outcome.result in (Result.REFUSED, Result.FAILED)
        facts = {"action": type(action).__name__, "subject": shown(action.subject), "result": outcome.result.value}
        if outcome.message:
            facts["error"] = outcome.message
        is_small = isinstance(action, RecordEvent | ReadPower | ReadPowers)
        level = logging.WARNING if is_problem else logging.DEBUG if is_small else logging.INFO
        words = f"{outcome.message} (wanted because {action.why})" if is_problem else action.why
        _LOG.log(level, "%s", words, extra={"facts": facts})
        if is_problem and not is_small:
            word = type(action).__name__
            reason = f"{word}{outcome.result.value.capitalize()}"
            self._clients.recorder.record(action.subject, EventType.WARNING, reason, word, outcome.message)


def _shown(action: Action) -> str:
    target = f" {action.provider}" if isinstance(action, OnMachine) else ""
    return f"{type(action).__name__}{target} for {shown(action.subject)}"
