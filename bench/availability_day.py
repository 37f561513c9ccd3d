"""A day of ``bench.memory_availability``, drawn from a seed: what fails when, and which nodes leave when.

Each kind of fault, and each replica, draws from a source of its own. So replica 0 has the same day whether it runs
alone or beside two others, and another rate of one kind leaves all other kinds as they are.
"""

import math
import random
from collections.abc import Iterator, Mapping
from enum import StrEnum
from typing import Final

import msgspec

HOUR: Final = 3600.0
ALL: Final = -1
"""In the place of a replica's number: it is about all of them, or about the API server."""
_SILENCE_SECONDS: Final = 190.0  # by which an informer knows that its watch is dead (growth.kube.informer)
_RACK: Final = 10
_RACK_SHARE: Final = 0.05


class Fault(StrEnum):
    """What fails."""

    REPLICA_KILLED = "replica killed"
    HOST_LOST = "host of a replica lost"
    REPLICA_PAUSED = "replica paused"
    CUT_OFF = "replica cut off from the API server"
    WATCHES_BROKEN = "watches of a replica broken"
    WATCH_SILENT = "watch of nodes silent"
    ALL_KILLED = "all replicas killed"
    SERVER_AWAY = "API server restarted"


class Rate(msgspec.Struct, frozen=True):
    """How often a fault happens on average, and between which bounds its length is drawn."""

    option: str
    every_minutes: float
    seconds: tuple[float, float]
    is_of_each_replica: bool = True


RATES: Final[Mapping[Fault, Rate]] = {
    Fault.REPLICA_KILLED: Rate("kill", 40, (2, 30)),
    # The grace of its heartbeats, the 300 s for which pods tolerate that, and a start elsewhere.
    Fault.HOST_LOST: Rate("host-loss", 720, (340, 420)),
    Fault.REPLICA_PAUSED: Rate("pause", 120, (5, 60)),
    Fault.CUT_OFF: Rate("cut", 120, (5, 120)),
    Fault.WATCHES_BROKEN: Rate("watch-break", 10, (0, 0)),
    Fault.WATCH_SILENT: Rate("watch-silence", 240, (_SILENCE_SECONDS, _SILENCE_SECONDS)),
    Fault.ALL_KILLED: Rate("kill-all", 360, (2, 30), is_of_each_replica=False),
    Fault.SERVER_AWAY: Rate("server-restart", 120, (10, 60), is_of_each_replica=False),
}
"""Each far above what clusters see: a pod that is killed every 40 minutes would be in CrashLoopBackOff."""


class Trouble(msgspec.Struct, frozen=True, order=True):
    """One fault of the day."""

    at: float
    seconds: float
    fault: Fault
    replica: int

    def overlaps(self, begin: float, end: float) -> bool:
        """Whether it lasts at any instant of this span."""
        return self.at <= end and self.at + self.seconds >= begin


class Leave(msgspec.Struct, frozen=True):
    """Nodes that leave together, and for how long each of them stays away."""

    at: float
    away_seconds: tuple[float, ...]


def drawn_troubles(seed: int, hours: float, replicas: int, rates: Mapping[Fault, Rate] = RATES) -> list[Trouble]:
    """The faults of a day in their order. A rate of 0 minutes is never."""
    troubles = list[Trouble]()
    for fault, rate in rates.items():
        for replica in range(replicas) if rate.is_of_each_replica else (ALL,):
            chance = random.Random(f"{seed}/{fault.name}/{replica}")
            moments = _moments(chance, hours, HOUR / (60 * rate.every_minutes) if rate.every_minutes else 0.0)
            troubles += [Trouble(at, chance.uniform(*rate.seconds), fault, replica) for at in moments]
    return sorted(troubles)


def drawn_leaves(seed: int, hours: float, returns_per_day: float) -> list[Leave]:
    """Who leaves: mostly one node, now and then a rack; each is back after 20 s to 5 minutes."""
    chance = random.Random(f"{seed}/leaves")
    nodes_each = 1 + _RACK_SHARE * (_RACK - 1)
    leaves = list[Leave]()
    for at in _moments(chance, hours, returns_per_day / 24 / nodes_each):
        count = _RACK if chance.random() < _RACK_SHARE else 1
        leaves.append(Leave(at, tuple(chance.uniform(20, 300) for _ in range(count))))
    return leaves


def _moments(chance: random.Random, hours: float, per_hour: float) -> Iterator[float]:
    """Instants of a day at which something happens that often on average, each independent of the others. They are
    drawn one by one, so that a shorter day is the beginning of a longer one."""
    now = chance.expovariate(per_hour / HOUR) if per_hour else math.inf
    while now < hours * HOUR:
        yield now
        now += chance.expovariate(per_hour / HOUR)
