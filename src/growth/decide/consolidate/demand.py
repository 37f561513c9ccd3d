"""What was wanted a while ago and is not there now: room for it is kept, so that nothing is given up that is wanted
back.

Pods are counted by their shape (``observe.shapes``: pods of one spec are interchangeable), not by their labels: when a
Job follows a Job, or a new ReplicaSet an old one, somebody else has the room, and no more of it is wanted. (Unless it
asks for something else than before: then room for both is kept for a while.) Counted is who is on a node, has not ended
and is not leaving; so who waits for a place is among those who may come back.

The time to remember is cut into slots. Of each slot the highest count of each shape is kept: what is remembered does
not grow with time. A process that has just begun knows nothing; ``since`` says from when on it does.
"""

from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.emptiness import is_work
from growth.api.meta import ObjectMeta
from growth.api.pod import Pod, PodSpec, PodStatus
from growth.decide.consolidate.shunning import ends_by_itself
from growth.observe.snapshot import Snapshot

_NOTHING: Final = timedelta(0)
_SLOTS: Final = 12
# Room for Jobs that have ended is kept about as long as nodes that they leave empty are: longer, it would keep machines
# for nobody between one burst of Jobs and the next, which gets its own.
_SLOTS_OF_JOBS: Final = 2
_MOST_SHAPES: Final = 5_000
# To look costs some milliseconds in a cluster of 150,000 pods. Who was there for less than this is not missed.
_LOOKS_EVERY: Final = timedelta(seconds=10)
LOOKS_WITHIN: Final = timedelta(minutes=5)
"""Who does not look for longer than this begins anew."""
_GHOST: Final = "ghost-"
"""How the uids of ghosts begin; no object's uid does."""

Counts = Mapping[int, int]
"""By the identity of a spec, how many pods have it."""


class Demand(msgspec.Struct, frozen=True):
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
        """Pods that were there within the window and are not now, up to so many; shapes seen last come first.

        If there are more than that, less room is kept than may be wanted: a cluster that shrank by so much has room.
        """
        found: list[Pod] = []
        for identity, sample in reversed(self.samples.items()):
            missing = min(self._missed(identity, sample), at_most - len(found))
            if missing > 0 and is_work(sample):
                found += (_ghost(sample, number) for number in range(missing))
        return tuple(found)

    def _missed(self, identity: int, sample: Pod) -> int:
        """How many of a shape were there, and are not now."""
        newest = self.slots[-1][0] if self.slots else 0
        slots = _SLOTS_OF_JOBS if ends_by_itself(sample) else _SLOTS
        peaks = (counts.get(identity, 0) for number, counts in self.slots if number >= newest - slots)
        return max(peaks, default=0) - self.there.get(identity, 0)


def noted(known: Demand | None, snapshot: Snapshot, window: timedelta) -> Demand:
    """What is remembered after a look at this snapshot."""
    now = snapshot.now
    if known is None or not _goes_on(known, now, window):
        known = Demand(window, now, now)
    elif known.slots and _NOTHING <= now - known.looked_at < min(_LOOKS_EVERY, window / _SLOTS):
        return known
    there, samples = _looked(snapshot, known.samples)
    slots = _with_slot(known.slots, _slot(now, window), there)
    samples = {key: sample for key, sample in samples.items() if any(key in counts for _, counts in slots)}
    if len(samples) > _MOST_SHAPES:
        samples = dict(list(samples.items())[-_MOST_SHAPES:])
        there = _of(there, samples)
        slots = tuple((number, _of(counts, samples)) for number, counts in slots)
    return Demand(window, known.since, now, slots, there, samples)


def _goes_on(known: Demand, now: datetime, window: timedelta) -> bool:
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
        if family.is_leaving or _is_pinned(spec):
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


def _ghost(sample: Pod, number: int) -> Pod:
    """A pod of the same shape that is not there."""
    meta = sample.metadata
    known = ObjectMeta(
        name=f"{meta.name}-{number}",
        namespace=meta.namespace,
        uid=f"{_GHOST}{meta.uid}-{number}",
        creation_timestamp=meta.creation_timestamp,
        labels=meta.labels,
        owner_references=meta.owner_references,
    )
    return Pod(known, sample.spec, status=PodStatus(phase="Pending"))
