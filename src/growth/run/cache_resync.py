"""What the last leader wrote is read before the next one decides.

A watch that has fallen silent is noticed after three minutes, and a lease changes hands in seconds. Whoever decides
meanwhile does not know what was asked for just before, and would ask for it once more: another machine for the same
pods, the same quota for another job. As long as it leads, it knows what it has asked for; what another one did, or it
itself in an earlier term, it has to read.
"""

import asyncio
from collections.abc import Iterable
from contextlib import suppress
from typing import Any, Final

from growth.api.growth_kinds import NODE_MOVES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.queue.kinds import WORKLOADS
from growth.kube.informer import Informer

# What is decided about all of them together: who misses one decides too much. Whatever else we write is written on the
# version that was seen, so that who sees an old one writes nothing.
_COUNTED: Final = frozenset({NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_MOVES, WORKLOADS})
# A connection may die while we read, too. There may be many to read: each attempt gets twice the time.
_FIRST_ATTEMPT_SECONDS: Final = 10.0


async def catch_up(informers: Iterable[Informer[Any]]) -> None:
    """Return once all that counts is as new as this call. What was never read yet is newer when it is read."""
    behind = [one for one in informers if one.kind in _COUNTED and one.synced.is_set()]
    await asyncio.gather(*map(_reread, behind))


async def _reread(informer: Informer[Any]) -> None:
    seconds = _FIRST_ATTEMPT_SECONDS
    while True:
        with suppress(TimeoutError):
            async with asyncio.timeout(seconds):
                return await informer.reread()
        seconds *= 2
