"""What is not being done, and why: one list, which explain, metrics and logs read.

The loop of one role: woken by events and deadlines, it lets every decider look, and the executor act.

    woken ──► gather (a burst is one pass) ──► pass: snapshot, deciders in order, wishes to the executor ──► wait

It never polls: between two events nothing is asked and nothing decided before the earliest deadline that a decider
named.
"""

import asyncio
import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Any, Final

from growth.act.executor import Executor
from growth.api.actions import Hold
from growth.api.core import ObjectReference
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS
from growth.api.references import reference_by_name, shown
from growth.api.settings.model import Settings
from growth.decide.contract import (
    Capability,
    CapabilityName,
    ClockTrust,
    Decider,
    Decision,
    Derivation,
    Fact,
    Inputs,
    Outcomes,
    Replica,
)
from growth.decide.pipeline import FactBoard, stages_of
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.run.background_computation import BackgroundComputations
from growth.run.metrics import Metrics
from growth.run.runtime import Runtime, WallClock
from growth.run.watchdog import Heartbeat

Key = tuple[ObjectReference, str]
_NONE: Final[Mapping[Key, Hold]] = {}


class CurrentHolds:
    """The holds of the latest pass, by capability."""

    def __init__(self) -> None:
        self._by_capability: dict[str, Mapping[Key, Hold]] = {}

    def replace(self, capability: str, holds: Iterable[Hold]) -> list[Hold]:
        """Take the holds of a new pass; returns those that were not there before, which are news."""
        before = self._by_capability.get(capability, _NONE)
        now = {(hold.subject, hold.reason): hold for hold in holds}
        self._by_capability[capability] = now
        return [hold for key, hold in now.items() if key not in before]

    def of(self, capability: str) -> list[Hold]:
        """What this capability holds back now."""
        return list(self._by_capability.get(capability, _NONE).values())


_LOG: Final = logging.getLogger(__name__)

# What arrives within this time after the first event is one pass. Nobody notices it, and a burst of pods comes as
# dozens of pieces of a stream.
_GATHER_SECONDS: Final = 0.01
# A pass that takes long is followed by a pause six times as long: deciding should take little of the machine, and what
# was decided is carried out meanwhile. Not by a longer one than this.
_PAUSE_PER_PASS: Final = 6
_LONGEST_PAUSE_SECONDS: Final = 0.5
# Wall clocks are set and machines sleep: the clock is looked at again after so long. It is also the sign of life of a
# loop that has nothing to do.
_LOOK_SECONDS: Final = 10.0
SILENCE_SECONDS: Final = 60.0
"""A loop that does not come round for so long is blocked."""
# A deadline that has passed already is a decider's slip, and so is one that raises: both are asked again after this.
_AGAIN: Final = timedelta(seconds=1)
_AGAIN_AFTER_FAILURE: Final = timedelta(seconds=30)


class Reconciler:
    """One role's loop. ``wake`` it whenever something happened."""

    def __init__(
        self,
        role: str,
        cache: ClusterCache,
        capabilities: Sequence[Capability[Any, Any]],
        settings: Settings,
        host: Runtime,
        *,
        metrics: Metrics,
        heartbeat: Heartbeat,
        enabled: frozenset[CapabilityName] = frozenset(),
    ) -> None:
        self.holds = CurrentHolds()
        self._cache = cache
        self._capabilities = capabilities
        self._settings = settings
        self._host = host
        self._metrics = metrics
        self._pass_seconds = metrics.pass_seconds.labels(role)
        self._heartbeat = heartbeat
        self._stages = stages_of(capabilities)
        self._replica = Replica(host.identity, enabled)
        self._computations = BackgroundComputations(host.compute, self.wake, metrics)
        self._woken = asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        self._deadlines: dict[str, datetime | None] = {}
        self._pause_seconds = 0.0
        self._reasons: dict[str, set[str]] = {}
        self._failing: dict[str, str] = {}
        self._carries: dict[str, Any] = {}
        self._derived: dict[type[Fact], Fact] = {}
        self._wall = WallClock(host.now, self._clock)

    def wake(self) -> None:
        """Something happened: let everybody look again, soon."""
        self._woken.set()

    async def run(self, executor: Executor) -> None:
        """Decide until cancelled."""
        self.wake()
        try:
            while True:
                await self._wait()
                # A deadline is exact; only events come in bursts.
                gather_seconds = _GATHER_SECONDS if self._woken.is_set() else 0.0
                await asyncio.sleep(max(self._pause_seconds, gather_seconds))
                executor.raise_crash()
                self._woken.clear()
                self._pass(executor)
        finally:
            for name, reasons in self._reasons.items():
                self._metrics.held(name, [], reasons)
            for capability in self._capabilities:
                self._metrics.clear(capability.name)
            await self._computations.close()

    def shut_down(self, executor: Executor) -> None:
        """Let capabilities decide a last time; what they wanted before and is not begun is forgotten."""
        snapshot = self._cache.snapshot(self._wall.read())
        for capability in self._capabilities:
            if capability.on_shutdown is not None:
                decision = self._decide(capability, snapshot, FactBoard(()), executor, capability.on_shutdown)
                executor.want(capability.name, decision.actions if decision is not None else ())

    async def _wait(self) -> None:
        """Until somebody wakes us or the earliest deadline has come."""
        while True:
            self._heartbeat.beat()
            steady_since = self._wall.steady_since
            seconds = min(_LOOK_SECONDS, self._seconds_to_deadline())
            if self._wall.steady_since != steady_since:
                self.wake()  # a clock that was set back would make every deadline late
            if self._woken.is_set() or seconds <= 0:
                return
            try:
                async with asyncio.timeout(seconds):
                    await self._woken.wait()
            except TimeoutError:
                pass

    def _seconds_to_deadline(self) -> float:
        now = self._wall.read()
        deadline = min((when for when in self._deadlines.values() if when is not None), default=None)
        return _LOOK_SECONDS if deadline is None else (deadline - now).total_seconds()

    def _pass(self, executor: Executor) -> None:
        """One synchronous step: the cache does not change while it is read."""
        started = self._clock()
        snapshot = self._cache.snapshot(self._wall.read())
        board = FactBoard(self._computed())
        for stage in self._stages:
            if isinstance(stage, Derivation):
                self._derive(stage, snapshot, board)
            elif (why := board.why_skipped(stage)) is not None:
                self._skip(stage, why, snapshot.now, executor)
                board.fail(stage)
            else:
                decision = self._decide(stage, snapshot, board, executor, stage.decide)
                if decision is None:
                    board.fail(stage)
                else:
                    board.add(decision.facts)
                    self._follow(stage, decision, snapshot.now, executor)
        seconds = self._clock() - started
        self._pause_seconds = min(_PAUSE_PER_PASS * seconds, _LONGEST_PAUSE_SECONDS)
        self._pass_seconds.observe(seconds)

    def _computed(self) -> Iterable[Fact]:
        """Facts that background computations came to."""
        for capability in self._capabilities:
            result = self._computations.answer(capability.name)
            if capability.computes is not None and isinstance(result, capability.computes):
                yield result

    def _derive(self, stage: Derivation[Any], snapshot: Snapshot, board: FactBoard) -> None:
        """Derive a fact from its last value. If that fails, nothing of it is remembered."""
        previous = self._derived.pop(stage.provides, None)
        if board.why_skipped(stage) is not None:
            board.fail(stage)
            return
        try:
            with self._metrics.decider_seconds.labels(stage.name).time():
                trust = self._trust(board, snapshot.now)
                fact = stage.derive(snapshot, self._settings, board.facts_for(stage), trust, previous)
        except Exception as error:
            self._metrics.decider_failures.labels(stage.name).inc()
            self._complain(stage.name, error)
            board.fail(stage)
            return
        self._failing.pop(stage.name, None)
        self._derived[stage.provides] = fact
        board.add((fact, *stage.derive_more(fact)))

    def _skip(self, capability: Capability[Any, Any], why: str, now: datetime, executor: Executor) -> None:
        subject = reference_by_name(CONFIG_MAPS, GROWTH_STATUS, self._settings.namespace)
        self._record(capability.name, [Hold(subject=subject, why=why, reason="DependencyFailed")])
        self._drop(capability, now, executor)

    def _drop(self, capability: Capability[Any, Any], now: datetime, executor: Executor) -> None:
        """What it wanted before was decided on what was seen then."""
        executor.want(capability.name, ())
        self._deadlines[capability.name] = now + _AGAIN_AFTER_FAILURE

    def _trust(self, board: FactBoard, now: datetime) -> ClockTrust:
        return ClockTrust(
            now=now,
            steady_since=self._wall.steady_since,
            slipped_at=self._wall.even_since,
            healthy_since=board.recovered_at,
        )

    def _decide(
        self,
        capability: Capability[Any, Any],
        snapshot: Snapshot,
        board: FactBoard,
        executor: Executor,
        decide: Decider[Any, Any],
    ) -> Decision[Any] | None:
        name = capability.name
        try:
            if name not in self._carries:
                self._carries[name] = capability.initial_carry(snapshot, self._settings)
            inputs = Inputs[Any, Any](
                snapshot=snapshot,
                settings=self._settings,
                facts=board.facts_for(capability),
                carry=self._carries[name],
                clock=self._trust(board, snapshot.now),
                computation=self._computations.state(name),
                outcomes=Outcomes(executor.outcomes),
                replica=self._replica,
            )
            with self._metrics.decider_seconds.labels(name).time():
                decision = decide(inputs)
        except Exception as error:  # a defect in one capability must not end the others
            self._metrics.decider_failures.labels(name).inc()
            self._complain(name, error)
            self._drop(capability, snapshot.now, executor)
            return None
        self._failing.pop(name, None)
        return decision

    def _follow(
        self, capability: Capability[Any, Any], decision: Decision[Any], now: datetime, executor: Executor
    ) -> None:
        name, at = capability.name, decision.requeue_at
        self._carries[name] = decision.carry
        self._metrics.apply(name, decision.measurements)
        self._deadlines[name] = now + _AGAIN if at is not None and at <= now else at
        self._record(name, list(decision.holds))
        executor.want(name, decision.actions)
        if decision.compute is not None:
            self._computations.begin(name, decision.compute)

    def _record(self, name: str, holds: list[Hold]) -> None:
        for hold in self.holds.replace(name, holds):
            facts = {"capability": name, "subject": shown(hold.subject), "hold": hold.reason}
            _LOG.info("%s", hold.why, extra={"facts": facts})
        self._reasons[name] = self._metrics.held(name, holds, self._reasons.get(name, set()))

    def _complain(self, name: str, error: Exception) -> None:
        """A traceback when it begins or changes; not again in every pass."""
        what = f"{type(error).__name__}: {error}"
        if self._failing.get(name) != what:
            _LOG.error("%s cannot decide, the other capabilities go on", name, exc_info=error)
        self._failing[name] = what
