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
from typing import Final

from growth.act.executor import Executor
from growth.api.actions import Hold
from growth.api.core import ObjectReference
from growth.api.references import shown
from growth.api.settings.model import Settings
from growth.decide.consolidation.decider import ConsolidationCarry as Moves
from growth.decide.contract import Decider, DeciderState, Decision
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.failover.context import FailoverCarry as Failover
from growth.decide.node_memory.carry import NodeMemoryCarry
from growth.decide.queue.decider import QueueCarry as Queue
from growth.decide.registry.step import step
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot
from growth.run.background_computation import BackgroundComputations
from growth.run.capability import CONSOLIDATE, REGISTRY, Capability
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
_STEP: Final = "registry-step"


class Reconciler:
    """One role's loop. ``wake`` it whenever something happened."""

    def __init__(
        self,
        role: str,
        cache: ClusterCache,
        capabilities: Sequence[Capability],
        settings: Settings,
        host: Runtime,
        *,
        metrics: Metrics,
        heartbeat: Heartbeat,
        companions: frozenset[str] = frozenset(),
    ) -> None:
        self.holds = CurrentHolds()
        self._cache = cache
        self._capabilities = capabilities
        self._settings = settings
        self._host = host
        self._metrics = metrics
        self._pass_seconds = metrics.pass_seconds.labels(role)
        self._heartbeat = heartbeat
        self._companions = companions
        self._computations = BackgroundComputations(host.compute, self.wake, metrics)
        self._woken = asyncio.Event()
        self._clock = asyncio.get_running_loop().time
        self._deadlines: dict[str, datetime | None] = {}
        self._pause_seconds = 0.0
        self._reasons: dict[str, set[str]] = {}
        self._failing: dict[str, str] = {}
        self._memories: dict[str, object] = {}
        self._wall = WallClock(host.now, self._clock)
        self._keeps_registry = any(capability.name == REGISTRY for capability in capabilities)
        self._cluster: ClusterState | None = None

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
            if self._keeps_registry:
                self._metrics.unseen()
            for name, reasons in self._reasons.items():
                self._metrics.held(name, [], reasons)
            self._metrics.queue.clear()
            self._metrics.moves.clear()
            await self._computations.close()

    def part(self, executor: Executor) -> None:
        """The last wishes of those who have some; what they wanted before and is not begun is forgotten."""
        snapshot = self._cache.snapshot(self._wall.read())
        for capability in self._capabilities:
            if capability.part is not None:
                decision = self._decide(capability, snapshot, executor, capability.part)
                said = decision.said if decision is not None else ()
                executor.want(capability.name, [one for one in said if not isinstance(one, Hold)])

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
        """One synchronous step: the World does not change while it is looked at."""
        started = self._clock()
        snapshot = self._cache.snapshot(self._wall.read())
        is_seen = self._look_around(snapshot)
        for capability in self._capabilities:
            if not is_seen and (capability.reads_registry or capability.name == REGISTRY):
                self._drop(capability, snapshot.now, executor)
                continue
            decision = self._decide(capability, snapshot, executor, capability.decide)
            if decision is not None:
                self._follow(capability, decision, snapshot, executor)
        seconds = self._clock() - started
        self._pause_seconds = min(_PAUSE_PER_PASS * seconds, _LONGEST_PAUSE_SECONDS)
        self._pass_seconds.observe(seconds)

    def _look_around(self, snapshot: Snapshot) -> bool:
        """The registry first: what it says is the same for all. If it fails, nobody who reads it may decide."""
        if not self._keeps_registry:
            return True
        try:
            with self._metrics.decider_seconds.labels(_STEP).time():
                self._cluster = step(self._cluster, snapshot, self._settings, self._wall.steady_since)
        except Exception as error:
            self._metrics.decider_failures.labels(_STEP).inc()
            self._complain(_STEP, error)
            self._cluster = None
            return False
        self._failing.pop(_STEP, None)
        self._metrics.seen(self._cluster)
        return True

    def _drop(self, capability: Capability, now: datetime, executor: Executor) -> None:
        """What it wanted before was decided on what was seen then."""
        executor.want(capability.name, ())
        self._deadlines[capability.name] = now + _AGAIN_AFTER_FAILURE

    def _decide(
        self, capability: Capability, snapshot: Snapshot, executor: Executor, decide: Decider
    ) -> Decision | None:
        name = capability.name
        state = DeciderState(
            executor.outcomes,
            self._computations.answer(name),
            self._computations.is_computing(name),
            self._memories.get(name),
            self._wall.steady_since,
            self._cluster,
            self._wall.even_since,
            self._host.identity,
            self._companions,
            answers=self._computations.answers,
        )
        try:
            with self._metrics.decider_seconds.labels(name).time():
                decision = decide(snapshot, state, self._settings)
        except Exception as error:  # a mistake in one capability must not end the others
            self._metrics.decider_failures.labels(name).inc()
            self._complain(name, error)
            self._drop(capability, snapshot.now, executor)
            return None
        self._failing.pop(name, None)
        return decision

    def _follow(self, capability: Capability, decision: Decision, snapshot: Snapshot, executor: Executor) -> None:
        name, wake_at, now = capability.name, decision.wake_at, snapshot.now
        self._memories[name] = decision.previous
        if isinstance(decision.previous, Failover):
            self._metrics.failed_over(decision.previous)
        if isinstance(decision.previous, NodeMemoryCarry):
            self._metrics.remembered(decision.previous, now)
        if isinstance(decision.previous, Queue):
            self._metrics.queue.show(decision.previous)
        if name == CONSOLIDATE:
            self._metrics.moves.show(snapshot, decision.previous if isinstance(decision.previous, Moves) else None)
        self._deadlines[name] = now + _AGAIN if wake_at is not None and wake_at <= now else wake_at
        self._record(name, [said for said in decision.said if isinstance(said, Hold)])
        executor.want(name, [said for said in decision.said if not isinstance(said, Hold)])
        if decision.computation is not None:
            self._computations.begin(name, decision.computation)

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
