"""All that a leader decides follows from one ordered log: watch events, provider answers, instants, outcomes of actions
and results of computations. A second pass through that log comes to the same decisions."""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from typing import Any, Final

import msgspec
import pytest

from growth.api.actions import Action, Hold
from growth.api.change import Change
from growth.api.kinds import PODS, Kind
from growth.api.provider_state import ProviderState
from growth.api.settings.model import Settings
from growth.decide.contract import ClockTrust, Outcomes, Replica
from growth.decide.pipeline import CAPABILITIES, stages_of
from growth.decide.stage_runner import Computations, PassInputs, StageEnd, StageRunner
from growth.observe.cache import ClusterCache, Listener
from growth.run import reconciler, replica
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.registry import TAINTED
from tests.stories.shrinking import SOON

SETTINGS: Final = msgspec.structs.replace(QUICK, queue=msgspec.structs.replace(QUICK.queue, enabled=True))


class WatchEvents(msgspec.Struct, frozen=True):
    """A watch brought these."""

    at: datetime
    kind: Kind[Any]
    changes: tuple[Change[Any], ...]


class ProviderAnswer(msgspec.Struct, frozen=True):
    """A provider said this; without a state, providers are asked no more."""

    state: ProviderState | None = None


class Pass(msgspec.Struct, frozen=True):
    """The leader decided at this instant, with these outcomes and results at hand, and came to this."""

    settings: Settings
    identity: Replica
    clock: ClockTrust
    outcomes: Outcomes
    computations: Computations
    unread: Any
    ends: list[tuple[str, tuple[Action | Hold, ...], datetime | None]] = []


Entry = WatchEvents | ProviderAnswer | Pass


class RecordingCache(ClusterCache):
    """A cache that writes down what it hears."""

    log: list[Entry]

    def __init__(self, now: Callable[[], datetime], *, remembers: bool = False, queues: bool = False) -> None:
        super().__init__(now, remembers=remembers, queues=queues)
        self._now = now

    def listeners(self) -> dict[Kind[Any], Listener]:
        return {kind: self._writing(kind, listener) for kind, listener in super().listeners().items()}

    def _writing(self, kind: Kind[Any], listener: Listener) -> Listener:
        def hear(changes: list[Change[Any]]) -> None:
            self.log.append(WatchEvents(self._now(), kind, tuple(changes)))
            listener(changes)

        return hear

    def hear_of_cloud(self, cloud: ProviderState) -> None:
        self.log.append(ProviderAnswer(cloud))
        super().hear_of_cloud(cloud)

    def forget_clouds(self) -> None:
        self.log.append(ProviderAnswer())
        super().forget_clouds()


def summary(end: StageEnd) -> tuple[str, tuple[Action | Hold, ...], datetime | None]:
    decision = end.decision
    return end.stage.name, decision.said if decision is not None else (), decision.requeue_at if decision else None


def recorded(patched: pytest.MonkeyPatch) -> list[Entry]:
    """Record the leader of one scenario: a sold-out type, machines that come, a job, a pod that goes again."""
    log: list[Entry] = []
    RecordingCache.log = log

    class RecordingRunner(StageRunner):
        def __init__(self, stages: Sequence[Any], settings: Settings, identity: Replica) -> None:
            super().__init__(stages, settings, identity)
            self._is_leader = any(stage.name == "grow" for stage in stages)
            self._given = (settings, identity)

        def run(self, given: PassInputs) -> Iterator[StageEnd]:
            if not self._is_leader:
                yield from super().run(given)
                return
            outcomes = Outcomes({(type(one.action).__name__, one.action.subject): one for one in given.outcomes.all()})
            entry = Pass(*self._given, given.clock, outcomes, dict(given.computations), dict(given.snapshot.unread))
            log.append(entry)
            for end in super().run(given):
                entry.ends.append(summary(end))
                yield end

    patched.setattr(replica, "ClusterCache", RecordingCache)
    patched.setattr(reconciler, "StageRunner", RecordingRunner)

    async def tell(play: Play) -> None:
        await play.node("other", taints=TAINTED)
        async with growing(play, settings=SETTINGS):
            await a_pool(play, "default", types="small", scaleDown=SOON)
            for number in range(3):
                await play.pod(f"web-{number}", cpu="1500m", nodeSelector={})
            await play.until(play.pod_is("web-0"), "the first pod runs")
            await play.until(play.pod_is("web-2"), "the last pod runs")
            await play.delete(PODS, "web-1", grace_seconds=0)
            await play.until(lambda: len(play.trace.nodes) == 3, "the empty node is gone")

    play_virtually(tell, alone=True)
    return log


def test_replay_of_the_log_comes_to_the_same_decisions(monkeypatch: pytest.MonkeyPatch) -> None:
    log = recorded(monkeypatch)
    heard_at = [next(one.at for one in log if isinstance(one, WatchEvents))]
    cache = ClusterCache(lambda: heard_at[0], remembers=True, queues=True)
    listeners, runner, passes = cache.listeners(), None, 0
    for entry in log:
        match entry:
            case WatchEvents():
                heard_at[0] = entry.at
                listeners[entry.kind](list(entry.changes))
            case ProviderAnswer(state=None):
                cache.forget_clouds()
            case ProviderAnswer(state=state) if state is not None:
                cache.hear_of_cloud(state)
            case Pass():
                if runner is None:
                    capabilities = [one for one in CAPABILITIES if one.scope == "leader"]
                    runner = StageRunner(stages_of(capabilities), entry.settings, entry.identity)
                snapshot = msgspec.structs.replace(cache.snapshot(entry.clock.now), unread=entry.unread)
                given = PassInputs(snapshot, entry.clock, entry.outcomes, entry.computations)
                assert [summary(end) for end in runner.run(given)] == entry.ends, f"pass {passes}"
                passes += 1
            case _:
                raise AssertionError(entry)
    said = [one for entry in log if isinstance(entry, Pass) for _, said, _ in entry.ends for one in said]
    kinds = {type(one).__name__ for one in said if not isinstance(one, Hold)}
    assert passes > 30
    assert {"CreateObject", "CreateMachine", "DeleteMachine", "PatchObject", "RecordEvent"} <= kinds
