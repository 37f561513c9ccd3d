"""What a decider is: a pure function from the inputs of a pass to a decision.

    decide(inputs) -> Decision

It looks at everything again in every pass and states all that it wants now; the loop starts each action once. It waits
for nothing: what it waits for is an event, which wakes the loop, or an instant (``requeue_at``). What one decider finds
out and another must know is a ``Fact``: one stage provides it, later stages of the same pass read it.
"""

from collections.abc import Callable, Iterable, Mapping
from datetime import datetime
from typing import Any, Final, Generic, Literal, NewType, Protocol, Self, TypeVar, cast

import msgspec

from growth.api.actions import Action, Hold, Outcome, OutcomeKey
from growth.api.core import ObjectReference
from growth.api.kinds import Kind
from growth.api.settings.model import Settings
from growth.api.settings.section import Section
from growth.decide.elapsed import since
from growth.observe.snapshot import Snapshot

CALL_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 180)
"""Buckets from one answer of a near server to a provider that takes its time."""


class Metric(msgspec.Struct, frozen=True):
    """A metric with its help, its labels and, for a histogram, its buckets."""

    name: str
    help: str
    type: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class Measurement(msgspec.Struct, frozen=True):
    """One value of a metric.

    The gauges of a pass replace those of the pass before; counters and histograms are increments.
    """

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()


CapabilityName = NewType("CapabilityName", str)
"""A string of its own type, so that a capability may come from another package."""


class Fact(msgspec.Struct, frozen=True):
    """Something that one stage of a pass finds out, for later stages."""

    @classmethod
    def default(cls) -> Self:
        """Return what holds where the provider is not enabled."""
        return cls()


FactT = TypeVar("FactT", bound=Fact)
CarryT = TypeVar("CarryT")
ResultT = TypeVar("ResultT")
IndexT = TypeVar("IndexT")


class RecoveredAt(Fact, frozen=True):
    """Since when the cluster is healthy enough to act in: what passed before that ages no deadline."""

    at: datetime | None = None


class ReportedStatuses(Fact, frozen=True):
    """What capabilities reported about themselves in the pass before, by name. Known from the start of a pass."""

    by_capability: dict[str, msgspec.Struct] = {}


class Need(msgspec.Struct, frozen=True):
    """A fact that a stage reads, and what becomes of the stage if the provider failed in this pass."""

    fact: type[Fact]
    if_failed: Literal["skip", "default"] = "skip"


class UndeclaredFact(LookupError):
    """A stage reads a fact that is not among its needs."""

    def __init__(self, fact: type[Fact]) -> None:
        super().__init__(
            f"{fact.__name__} is not among the needs of this stage; expected Need({fact.__name__}) in them"
        )


class Facts:
    """The facts of one pass that a stage may read."""

    def __init__(
        self,
        known: Mapping[type[Fact], Fact] | None = None,
        *,
        allowed: Iterable[type[Fact]] | None = None,
        missing: Callable[[type[Fact]], Fact] = lambda fact: fact.default(),
    ) -> None:
        self._known = dict(known or {})
        self._allowed = frozenset(allowed) if allowed is not None else None
        self._missing = missing

    def get(self, fact: type[FactT]) -> FactT:
        """Return the fact, or its default where no stage provides it. Raises UndeclaredFact."""
        found = self._known.get(fact)
        if self._allowed is not None and fact not in self._allowed:
            raise UndeclaredFact(fact)
        if found is None:
            found = self._known[fact] = self._missing(fact)
        return cast("FactT", found)


class ClockTrust(msgspec.Struct, frozen=True):
    """How far wall-clock times can be compared with now: clocks jump, and a halted cluster lets no deadline pass."""

    now: datetime
    steady_since: datetime | None = None
    """When the wall clock was last seen to jump; None if it never was. What was written before tells no age."""
    slipped_at: datetime | None = None
    """When the clock was last seen to move at all otherwise than time does; None if it never was."""
    healthy_since: datetime | None = None
    """``RecoveredAt``, for stages after its provider."""

    @property
    def even_since(self) -> datetime | None:
        """Since when instants a few seconds apart can be compared."""
        return self.slipped_at or self.steady_since

    def age_start(self, written: datetime | None) -> datetime:
        """Return the instant from which a deadline counts that began when this was written."""
        return since(written, self.now, self.steady_since, self.healthy_since)


class Outcomes:
    """How actions ended, the latest of each type and subject."""

    def __init__(self, latest: Mapping[OutcomeKey, Outcome] | None = None) -> None:
        self._latest: Mapping[OutcomeKey, Outcome] = latest if latest is not None else {}

    def latest(self, action: type[Action], subject: ObjectReference) -> Outcome | None:
        """Return how the latest action of this type on this subject ended."""
        return self._latest.get((action.__name__, subject))

    def of(self, action: type[Action]) -> list[Outcome]:
        """Return how the latest actions of this type ended, one for each subject."""
        name = action.__name__
        return [outcome for (kind, _), outcome in self._latest.items() if kind == name]

    def all(self) -> Iterable[Outcome]:
        """Return all of them."""
        return self._latest.values()


class Idle(msgspec.Struct, frozen=True):
    """No background computation was begun, or the last one failed."""


class Running(msgspec.Struct, frozen=True):
    """A background computation is under way; another one would be begun in vain."""


class Finished(msgspec.Struct, Generic[ResultT], frozen=True):
    """The last background computation has ended; its result stays until the next one begins."""

    result: ResultT


IDLE: Final = Idle()
RUNNING: Final = Running()


class Replica(msgspec.Struct, frozen=True):
    """The process that decides."""

    identity: str = ""
    """Its name, which no other process ever had: for what every replica does by itself."""
    enabled: frozenset[CapabilityName] = frozenset()
    """Names of the capabilities that it runs."""


class Inputs(msgspec.Struct, Generic[CarryT, ResultT, IndexT], frozen=True):
    """All that a decider may know. The same inputs give the same decision."""

    snapshot: Snapshot
    settings: Settings
    facts: Facts
    carry: CarryT
    """What the decider carried over from the pass before; lost with the process, and safe to lose."""
    clock: ClockTrust
    index: IndexT
    """What the capability keeps up from snapshots alone; it was advanced to this one, and is only read here."""
    computation: Idle | Running | Finished[ResultT] = IDLE
    outcomes: Outcomes = Outcomes()
    replica: Replica = Replica()

    @property
    def is_computing(self) -> bool:
        """Whether a background computation of this decider is under way."""
        return isinstance(self.computation, Running)

    @property
    def result(self) -> ResultT | None:
        """What the last background computation came to; None if there is none, or the next one is under way."""
        return self.computation.result if isinstance(self.computation, Finished) else None


class Decision(msgspec.Struct, Generic[CarryT], frozen=True, kw_only=True):
    """All that should happen now, all that should not (and why), and when to decide again if nothing happens before."""

    carry: CarryT
    said: tuple[Action | Hold, ...] = ()
    """Actions and holds in the order in which they were decided. All that is wanted now, stated again in every pass."""
    facts: tuple[Fact, ...] = ()
    requeue_at: datetime | None = None
    compute: Callable[[], object] | None = None
    """What takes too long for a pass. It owns all that it reads and runs on a thread; its result comes with the inputs
    of a later pass. One is under way at a time; others that are asked for meanwhile are forgotten."""
    measurements: tuple[Measurement, ...] = ()
    status: msgspec.Struct | None = None
    """What ``growth status`` shows of the capability; of the type that it declares (``Capability.status``)."""

    @property
    def actions(self) -> tuple[Action, ...]:
        """What should be done."""
        return tuple(one for one in self.said if not isinstance(one, Hold))

    @property
    def holds(self) -> tuple[Hold, ...]:
        """What is wanted and not done now."""
        return tuple(one for one in self.said if isinstance(one, Hold))


class WritePermission(msgspec.Struct, frozen=True):
    """What a capability must be allowed to write: verbs, separated by spaces, on a kind or one of its subresources."""

    verbs: str
    kind: Kind[Any]
    subresource: str = ""
    namespace: Callable[[Settings], str] | None = None
    """The one namespace in which it writes; None for the whole cluster."""
    name: str = ""
    """The one object that it writes; empty for all."""


def own_namespace(settings: Settings) -> str:
    """Return the namespace of Growth itself."""
    return settings.namespace


Decider = Callable[[Inputs[CarryT, ResultT, IndexT]], Decision[CarryT]]


class IncrementalIndex(Protocol):
    """What a capability works out of one snapshot after the other, so that a pass costs as much as has changed."""

    def advance(self, snapshot: Snapshot, settings: Settings) -> None:
        """Take in what has changed. Nothing else changes the index, and to build it anew comes to the same."""
        ...


def always(_: Settings) -> bool:
    """Enable a capability under all settings."""
    return True


class Capability(msgspec.Struct, Generic[CarryT, ResultT, IndexT], frozen=True, kw_only=True):
    """Something that Growth can do: a stage of the pipeline that decides."""

    name: CapabilityName
    decide: Decider[CarryT, ResultT, IndexT]
    initial_carry: Callable[[Snapshot, Settings], CarryT]
    new_index: Callable[[], IncrementalIndex] | None = None
    """What keeps up ``Inputs.index``, if the capability has one."""
    watches: tuple[Kind[Any], ...]
    """Kinds that it reads. Only what some enabled capability watches is watched, so a role may leave out the rest."""
    needs: tuple[Need, ...] = ()
    provides: tuple[type[Fact], ...] = ()
    computes: type[Fact] | None = None
    """The fact that its background computation comes to, if it is one. It is known from the start of a pass, so earlier
    stages may need it."""
    reports: tuple[type[Fact], ...] = ()
    """It comes with every capability that needs one of these facts: it says to people what that one goes by."""
    permissions: tuple[WritePermission, ...] = ()
    """What it writes; what it watches follows from ``watches``."""
    metrics: tuple[Metric, ...] = ()
    settings: type[Section] | None = None
    """Its section of the settings. That of a capability from another package has the capability's name."""
    status: type[msgspec.Struct] | None = None
    """What it reports of itself, for ``growth status``."""
    is_late: bool = False
    """Whether other capabilities start before its kinds are read; it sees for itself which are not (``unread``)."""
    scope: Literal["leader", "every_replica"] = "leader"
    is_enabled: Callable[[Settings], bool] = always
    """Whether the settings want it. Kinds of a disabled capability are not even watched: they may not be defined."""
    on_shutdown: Decider[CarryT, ResultT, IndexT] | None = None
    """What it decides last when the process is asked to stop; only the first of it is waited for."""


class Derivation(msgspec.Struct, Generic[FactT], frozen=True, kw_only=True):
    """A stage without actions: it works out a fact, from its last value if it likes."""

    name: str
    """How it is called where time and failures are measured."""
    provides: type[FactT]
    derive: Callable[[Snapshot, Settings, Facts, ClockTrust, FactT | None], FactT]
    also_provides: tuple[type[Fact], ...] = ()
    derive_more: Callable[[FactT], tuple[Fact, ...]] = lambda _: ()
    """Work out those; the loop keeps them up to date with the first."""
    needs: tuple[Need, ...] = ()


AnyCapability = Capability[Any, Any, Any]
Stage = AnyCapability | Derivation[Any]
