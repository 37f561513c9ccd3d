"""What was wanted lately, and what follows from it: who may come back, who is expected, and how fast less is wanted.

Pods are counted by their shape (``observe.pod_equivalence``: pods of one spec are interchangeable), not by their
labels: when a Job follows a Job, or a new ReplicaSet an old one, somebody else has the room, and no more of it is
wanted. (Unless it asks for something else than before: then room for both is kept for a while.) Counted is who is on a
node, has not ended and is not leaving; so who waits for a place is among those who may come back.

Of those who went, who may come back? All of them for a moment: a rollout, a restart. After that as many as came within
the time that is remembered: what rises and falls does so again, and what only falls, as load does in the evening, does
not come back soon. To keep room for all of it cost a tenth of the evening's bill in played days.

The time to remember is cut into slots. Of each slot the highest count of each shape is kept: what is remembered does
not grow with time. A process that has just begun knows nothing; ``since`` says from when on it does.
"""

from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS
from growth.api.meta import ObjectMeta
from growth.api.pod import Pod, PodSpec, PodStatus
from growth.api.pod_classification import ends_by_itself, is_work
from growth.api.settings.model import Settings
from growth.decide.contract import ClockTrust, Derivation, Fact, Facts
from growth.observe.pod_requests import requests_of
from growth.observe.snapshot import Snapshot

_NOTHING: Final = timedelta(0)
_HOUR: Final = timedelta(hours=1)
_SLOTS: Final = 12
# Room for everybody who went is kept about as long as nodes that stand empty are. For Jobs that have ended no longer
# than that: it would keep machines for nobody between one burst of Jobs and the next, which gets its own.
_SLOTS_OF_A_MOMENT: Final = 2
_MOST_SHAPES: Final = 5_000
# To look costs some milliseconds in a cluster of 150,000 pods. Who was there for less than this is not missed.
_LOOKS_EVERY: Final = timedelta(seconds=10)
LOOKS_WITHIN: Final = timedelta(minutes=5)
"""Who does not look for longer than this begins anew."""
_WEIGHED: Final = ("cpu", "memory")
"""By what it is judged whether more is wanted, or less."""
# Three quarters of a rise may be in one half of the time, and it is still one that goes on.
_UNEVEN: Final = 4
_GHOST: Final = "ghost-"
"""How the uids of ghosts begin; no object's uid does."""

Counts = Mapping[int, int]
"""By the identity of a spec, how many pods have it."""


class ExpectedPods(msgspec.Struct, frozen=True):
    """Pods that are not there yet, in the order in which they come, and how many come in an hour."""

    pods: tuple[Pod, ...]
    per_hour: float


NOBODY: Final = ExpectedPods((), 0.0)


class DemandHistory(msgspec.Struct, frozen=True):
    """What is remembered. Identities in it are those of the specs of ``samples``, which are held as long."""

    window: timedelta
    since: datetime
    """From when on it is known what there was."""
    looked_at: datetime
    slots: tuple[tuple[int, Counts], ...] = ()
    """The highest counts of each slot of time, the newest last, each with its number."""
    there: Counts = {}
    """Who is there now."""
    samples: dict[int, Pod] = {}
    """Of each shape one pod, as it was when the shape was first seen. Those seen last come last."""

    def knows(self) -> bool:
        """Whether it remembers the whole window: if not, it is too early to give anything up."""
        return self.looked_at - self.since >= self.window

    def ghosts(self, at_most: int) -> tuple[Pod, ...]:
        """Pods that were there within the window, are not now and may come back, up to so many; shapes seen last come
        first.

        If there are more than that, less room is kept than may be wanted: a cluster that shrank by so much has room.
        """
        found: list[Pod] = []
        for identity, sample in reversed(self.samples.items()):
            missing = min(self._missed(identity, sample), at_most - len(found))
            if missing > 0 and is_work(sample):
                found += (_ghost(sample, f"{number}") for number in range(missing))
        return tuple(found)

    def expected(self, at_most: int) -> ExpectedPods:
        """Who comes next, up to so many, if it goes on as within the window. Nobody, if on the whole no more was wanted
        from each half of it to the next: what came all at once is there, and nothing follows from it."""
        grown, steady = self._grown(self._first), self._steadily()
        risen = _amounts(self.samples, {identity: max(0, count) for identity, count in grown.items()})
        share = min((max(0, steady[name]) / risen[name] for name in _WEIGHED if risen[name]), default=0.0)
        # Each shape comes evenly over the time, so that any beginning of them is like the whole.
        order: list[tuple[float, int, Pod]] = []
        for place, (identity, count) in enumerate(grown.items()):
            coming = round(max(0, count) * share)
            order += (((number + 0.5) / coming, place, self.samples[identity]) for number in range(coming))
        order.sort(key=lambda one: one[:2])
        pods = tuple(_ghost(sample, f"next-{number}") for number, (*_, sample) in enumerate(order[:at_most]))
        return ExpectedPods(pods, len(order) / (self.window / _HOUR)) if pods else NOBODY

    def fades_per_hour(self) -> float:
        """Which share of what was wanted became less in an hour of the window; 0 if it did not in both halves of it.
        Where cores and memory differ, the smaller share counts: both are wanted for a place."""
        steady, had = self._steadily(), _amounts(self.samples, self._first)
        share = min((max(0.0, -steady[name] / had[name]) for name in _WEIGHED if had[name]), default=0.0)
        return share / (self.window / _HOUR) if self.window else 0.0

    def _steadily(self) -> dict[str, int]:
        """How much more is wanted than a window ago, as far as that went on in both halves of it; negative if in both
        less was wanted."""
        whole = _amounts(self.samples, self._grown(self._first))
        late = _amounts(self.samples, self._grown(self._middle))
        return {name: _steady(whole[name] - late[name], late[name]) for name in _WEIGHED}

    @property
    def _first(self) -> Counts:
        return _of(self.slots[0][1], self._lasting) if self.slots else {}

    @property
    def _middle(self) -> Counts:
        newest = self.slots[-1][0] if self.slots else 0
        return next((counts for number, counts in reversed(self.slots) if number <= newest - _SLOTS // 2), self._first)

    @property
    def _lasting(self) -> list[int]:
        """Shapes of work that does not end by itself."""
        return [key for key, sample in self.samples.items() if is_work(sample) and not ends_by_itself(sample)]

    def _grown(self, before: Counts) -> dict[int, int]:
        """By shape, how many more there are than then; without Jobs, which end by themselves."""
        return {identity: self.there.get(identity, 0) - before.get(identity, 0) for identity in self._lasting}

    def _missed(self, identity: int, sample: Pod) -> int:
        """How many of a shape were there, are not now, and may come back."""
        there, newest = self.there.get(identity, 0), self.slots[-1][0] if self.slots else 0
        peaks = [(number, counts.get(identity, 0)) for number, counts in self.slots]
        lately = max((count for number, count in peaks if number >= newest - _SLOTS_OF_A_MOMENT), default=0) - there
        if ends_by_itself(sample):
            return lately
        gone = max((count for _, count in peaks), default=0) - there
        return max(lately, min(gone, _highest_rise([*(count for _, count in peaks), there])))


def _steady(early: int, late: int) -> int:
    """What came in both halves of a time, or went: all of it, unless almost all was in one of them."""
    if early > 0 and late > 0:
        return min(early + late, _UNEVEN * min(early, late))
    return max(early + late, _UNEVEN * max(early, late)) if early < 0 and late < 0 else 0


def _highest_rise(counts: Sequence[int]) -> int:
    """By how many it was more at one time than at one before."""
    highest, lowest = 0, counts[0]
    for count in counts:
        lowest = min(lowest, count)
        highest = max(highest, count - lowest)
    return highest


def _amounts(samples: Mapping[int, Pod], counts: Counts) -> dict[str, int]:
    """What so many of each shape ask for together."""
    total: dict[str, int] = dict.fromkeys(_WEIGHED, 0)
    for identity, count in counts.items():
        if count:
            asked = requests_of(samples[identity].spec)
            for name in _WEIGHED:
                total[name] += count * asked.get(name, 0)
    return total


def noted(known: DemandHistory | None, snapshot: Snapshot, window: timedelta) -> DemandHistory:
    """What is remembered after a look at this snapshot."""
    now = snapshot.now
    if known is None or not _goes_on(known, now, window):
        known = DemandHistory(window, now, now)
    elif known.slots and _NOTHING <= now - known.looked_at < min(_LOOKS_EVERY, window / _SLOTS):
        return known
    there, samples = _looked(snapshot, known.samples)
    slots = _with_slot(known.slots, _slot(now, window), there)
    samples = {key: sample for key, sample in samples.items() if any(key in counts for _, counts in slots)}
    if len(samples) > _MOST_SHAPES:
        samples = dict(list(samples.items())[-_MOST_SHAPES:])
        there = _of(there, samples)
        slots = tuple((number, _of(counts, samples)) for number, counts in slots)
    return DemandHistory(window, known.since, now, slots, there, samples)


class RecentDemand(Fact, frozen=True):
    """The demand history, where a pool is optimized."""

    history: DemandHistory | None = None


def derive(
    snapshot: Snapshot, settings: Settings, _facts: Facts, _clock: ClockTrust, previous: RecentDemand | None
) -> RecentDemand:
    """Go on with the history; where no pool is optimized nothing is remembered."""
    if all(pool.spec.disruption.mode == "off" for pool in snapshot.table(NODE_POOLS).values()):
        return RecentDemand()
    known = previous.history if previous is not None else None
    history = noted(known, snapshot, settings.consolidate.window)
    return previous if previous is not None and history is known else RecentDemand(history)


RECENT_DEMAND: Final = Derivation(name="recent-demand", provides=RecentDemand, derive=derive)


def _goes_on(known: DemandHistory, now: datetime, window: timedelta) -> bool:
    """Whether nothing was missed: after a pause, or a jump of the clock, nobody knows what there was meanwhile."""
    return known.window == window > _NOTHING and abs(now - known.looked_at) <= LOOKS_WITHIN


def _slot(now: datetime, window: timedelta) -> int:
    return int(now.timestamp() // (window / _SLOTS).total_seconds()) if window else 0


def _with_slot(slots: tuple[tuple[int, Counts], ...], number: int, there: Counts) -> tuple[tuple[int, Counts], ...]:
    """The slots that are within the window. The one that began a window ago is kept: a part of it is."""
    if slots and slots[-1][0] >= number:  # or the clock was set back a little
        number, before = slots[-1]
        peaks = {**before, **{key: max(count, before.get(key, 0)) for key, count in there.items()}}
        slots = slots[:-1]
    else:
        peaks = there
    return (*(one for one in slots if one[0] >= number - _SLOTS), (number, peaks))


def _looked(snapshot: Snapshot, known: Mapping[int, Pod]) -> tuple[dict[int, int], dict[int, Pod]]:
    """Who is there, and a sample of each shape: those that are there now come last."""
    there: dict[int, int] = {}
    fresh: dict[int, tuple[PodSpec, str]] = {}
    for (_, _, identity, _), family in snapshot.families.items():
        spec = family.spec
        if family.is_terminating or _is_pinned(spec):
            continue
        there[identity] = there.get(identity, 0) + sum(family.by_node.values())
        if identity not in known and identity not in fresh:
            fresh[identity] = spec, next(iter(family.by_node))
    found = {identity: _sample(snapshot, spec, node) for identity, (spec, node) in fresh.items()}
    samples = {identity: sample for identity, sample in known.items() if identity not in there}
    samples |= {identity: found[identity] if identity in found else known[identity] for identity in there}
    return there, samples


def _is_pinned(spec: PodSpec) -> bool:
    """Whether it asks for nodes by name, as a DaemonSet's pods do, each for its own: it comes and goes with them."""
    affinity = spec.affinity.node_affinity if spec.affinity is not None else None
    required = affinity.required if affinity is not None else None
    return required is not None and all(term.match_fields for term in required.node_selector_terms)


def _sample(snapshot: Snapshot, spec: PodSpec, node: str) -> Pod:
    return next(pod for pod in snapshot.pods_by_node[node].values() if pod.spec is spec)


def _of(counts: Counts, keys: Iterable[int]) -> Counts:
    return {key: counts[key] for key in keys if key in counts}


def _ghost(sample: Pod, name: str) -> Pod:
    """A pod of the same shape that is not there."""
    meta = sample.metadata
    known = ObjectMeta(
        name=f"{meta.name}-{name}",
        namespace=meta.namespace,
        uid=f"{_GHOST}{meta.uid}-{name}",
        creation_timestamp=meta.creation_timestamp,
        labels=meta.labels,
        owner_references=meta.owner_references,
    )
    return Pod(known, sample.spec, status=PodStatus(phase="Pending"))
