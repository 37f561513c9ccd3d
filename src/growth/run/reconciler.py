"""What is not being done, and why: one list, which explain, metrics and logs read.

The loop of one role: woken by events and deadlines, it lets every decider look, and the executor act.

    woken ──► gather (a burst is one pass) ──► pass: snapshot, deciders in order, wishes to the executor ──► wait

It never polls: between two events nothing is asked and nothing decided before the earliest deadline that a decider
named.
"""

import asyncio
import logging
import time
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

from growth.act.executor import Executor
from growth.api.actions import Hold
from growth.api.core import ObjectReference
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS
from growth.api.references import reference_by_name, shown
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability, Capability, CapabilityName, ClockTrust, Outcomes, Replica
from growth.decide.pipeline import stages_of
from growth.decide.stage_runner import PassInputs, StageEnd, StageRunner
from growth.observe.cache import ClusterCache
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
        capabilities: Sequence[AnyCapability],
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
        self._runner = StageRunner(stages_of(capabilities), settings, Replica(host.identity, enabled))
        self._computations = BackgroundComputations(host.compute, self.wake, metrics)
        self._woken = asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        self._deadlines: dict[str, datetime | None] = {}
        self._pause_seconds = 0.0
        self._reasons: dict[str, set[str]] = {}
        self._failing: dict[str, str] = {}
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
        for end in self._runner.shut_down(self._given(executor)):
            if end.error is not None:
                self._complain(end.stage.name, end.error)
            executor.want(end.stage.name, end.decision.actions if end.decision is not None else ())

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
        given = self._given(executor)
        ends = self._runner.run(given)
        while True:
            began = time.perf_counter()
            end = next(ends, None)
            if end is None:
                break
            if not end.why_skipped:
                self._metrics.decider_seconds.labels(end.stage.name).observe(time.perf_counter() - began)
            self._follow(end, given.snapshot.now, executor)
        seconds = self._clock() - started
        self._pause_seconds = min(_PAUSE_PER_PASS * seconds, _LONGEST_PAUSE_SECONDS)
        self._pass_seconds.observe(seconds)

    def _given(self, executor: Executor) -> PassInputs:
        snapshot = self._cache.snapshot(self._wall.read())
        return PassInputs(
            snapshot=snapshot,
            clock=ClockTrust(snapshot.now, self._wall.steady_since, self._wall.even_since),
            outcomes=Outcomes(executor.outcomes),
            computations={one.name: self._computations.state(one.name) for one in self._capabilities},
        )

    def _follow(self, end: StageEnd, now: datetime, executor: Executor) -> None:
        name, decision = end.stage.name, end.decision
        if end.error is not None:
            self._metrics.decider_failures.labels(name).inc()
            self._complain(name, end.error)
        else:
            self._failing.pop(name, None)
        if not isinstance(end.stage, Capability):
            return
        if decision is None:
            if end.why_skipped:
                subject = reference_by_name(CONFIG_MAPS, GROWTH_STATUS, self._settings.namespace)
                self._record(name, [Hold(subject=subject, why=end.why_skipped, reason="DependencyFailed")])
            # What it wanted before was decided on what was seen then.
            executor.want(name, ())
            self._deadlines[name] = now + _AGAIN_AFTER_FAILURE
            return
        at = decision.requeue_at
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
