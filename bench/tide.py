"""Work that comes in waves: jobs that fill machines, live for a while and end, all drawn from a seed before it begins.

In each wave jobs come during its first half and none during its second. A job lives for half to one and a half waves,
so the machines at work rise and fall, are never all the same, and are as many at the end of a wave as at its beginning.

All pods of a job end together, so machines are emptied; and a job's pods fill whole machines of one pool, so that it
can be said beforehand how many machines are at work.
"""

import random
from typing import Final

import msgspec

from growth.api.quantity import milli_value, value
from growth.cloud.kwok.catalog import shipped_catalogue

WAVE_SECONDS: Final = 120.0
POOLS: Final = {"whole": ("cx23", 1), "halves": ("cx33", 2)}
"""Pools: of which type their machines are, and how many pods fill one. Pods of several sizes would leave holes on ever
more nodes that only a smaller one fits in: the scheduler spreads them, and nothing empties nodes by moving pods yet."""

_ROOM: Final = {offering.server_type: offering.resources for offering in shipped_catalogue("kwok").offerings}
_MIB: Final = 1024 * 1024
# Jobs of up to a fiftieth of the machines: large enough that nodes are emptied by the dozen, small enough that many end
# at different times.
_JOBS_SHARE: Final = 50


class Job(msgspec.Struct, frozen=True):
    """Pods of one size that come and go together, and select the nodes of one pool."""

    name: str
    pool: str
    begins: float
    ends: float
    pods: int
    cpu_millis: int
    memory_mib: int


class Tide(msgspec.Struct, frozen=True):
    """Jobs in the order in which they begin; seconds count from the first one."""

    jobs: list[Job]
    measured_from: float
    """When the jobs have been as many as ever for a whole wave."""
    ends: float


def drawn(machines: int, seconds: float, seed: int) -> Tide:
    """Jobs for so many machines on average: half a wave to get there, one wave to settle, then ``seconds`` to measure.

    What is measured is a whole number of waves, from one high tide to another.
    """
    draw, wave = random.Random(seed), seconds / max(1, round(seconds / WAVE_SECONDS))
    measured_from, ends = 1.5 * wave, 1.5 * wave + seconds
    jobs, begins = list[Job](), 0.0
    while begins < ends:
        at_work = draw.randint(1, max(1, machines // _JOBS_SHARE))
        lives = draw.uniform(0.5, 1.5) * wave
        jobs.append(_job(draw, len(jobs), at_work, begins, min(ends, begins + lives)))
        # Jobs of this many machines that live for one wave on average, twice as often in the half that they come in.
        begins += 0.5 * wave * at_work / machines
        if begins % wave > 0.5 * wave:
            begins = wave * (begins // wave + 1)
    return Tide(jobs, measured_from, ends)


def _job(draw: random.Random, number: int, machines: int, begins: float, ends: float) -> Job:
    pool = draw.choice(sorted(POOLS))
    server_type, per_machine = POOLS[pool]
    room = _ROOM[server_type]
    return Job(
        name=f"job-{number}",
        pool=pool,
        begins=begins,
        ends=ends,
        pods=machines * per_machine,
        cpu_millis=milli_value(room["cpu"]) // per_machine,
        memory_mib=value(room["memory"]) // _MIB // per_machine,
    )
