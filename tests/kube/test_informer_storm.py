"""Whatever goes wrong: no change lost, none told twice, and in the end everybody sees the same.

A seed draws the world, its changes and its faults. First safety while everything breaks (the witness refuses what
breaks a promise), then the faults stop and the picture must become the server's. Replay a failure with
``pytest tests/kube/test_informer_storm.py -k "[SEED]"``; more seeds with ``GROWTH_STORMS=1000``.
"""

import asyncio
import os
import random
from contextlib import suppress

import pytest

from growth.api.kinds import NODES
from growth.api.node import Node
from growth.kube.client import Client
from growth.kube.errors import Unreachable
from growth.kube.informer import Informer
from growth.kube.transport import Request
from growth_lab.simulator.virtual_loop import run_virtually
from tests.builders import a_status
from tests.kube.fake_server import NO_TROUBLE, FakeServer, Trouble
from tests.kube.scripted import dice, no
from tests.kube.witness import Witness
from tests.virtual_time import wait_until

pytestmark = pytest.mark.long

STORMS = int(os.environ.get("GROWTH_STORMS", "60"))
CHANGES = 150
NAMES = [f"node-{number}" for number in range(8)]  # few, so that names are used again and again


def some_trouble(chance: random.Random, *, is_stream: bool) -> Trouble:
    """What happens to one request: often nothing."""
    lines = chance.choice((0, 1, 2, 5, 20))
    streams = [
        Trouble(lines),
        Trouble(lines, error=Unreachable("reset", sent=True)),
        Trouble(lines, line=a_status(500, "InternalError", "etcd is gone")),
        Trouble(lines, line=a_status(410, "Expired", "too old")),
        Trouble(lines, line=a_status(504, "Timeout", "Too large resource version: 999999", retry_after=1)),
        Trouble(lines, is_silent=True),
    ]
    answers = [
        Trouble(0, error=Unreachable("refused", sent=False)),
        Trouble(answer=no(410, "Expired", "too old resource version")),
        Trouble(answer=no(429, "TooManyRequests", retry_after=2)),
        Trouble(answer=no(503, "ServiceUnavailable")),
    ]
    return chance.choice([NO_TROUBLE] * 6 + answers + (streams if is_stream else []))


async def change_at_random(server: FakeServer, chance: random.Random) -> None:
    """Make, change and delete nodes, often many at once; forget history and drop all connections now and then."""
    for _ in range(CHANGES):
        name = chance.choice(NAMES)
        if name in server.nodes and chance.random() < 0.4:
            await server.delete(name)
        else:
            await server.put(name)
        match chance.randrange(40):
            case 0:
                server.compact()
            case 1 | 2:
                await server.hang_up()
            case 3:
                server.version += 1_000  # other kinds change
            case _:
                pass
        if chance.random() < 0.5:
            await asyncio.sleep(chance.expovariate(1 / chance.choice((0.01, 1, 100))))


async def storm(seed: int) -> None:
    chance = dice(seed)
    server = FakeServer(streams_lists=chance.random() < 0.7, page_size=chance.choice((1, 3, None)))
    for name in chance.sample(NAMES, chance.randrange(len(NAMES))):
        await server.put(name)
    server.batch_size = lambda: chance.choice((1, 2, 3, 100))
    calm = False

    def trouble(request: Request) -> Trouble:
        is_stream = ("watch", "true") in request.query
        return NO_TROUBLE if calm else some_trouble(chance, is_stream=is_stream)

    server.trouble = trouble
    witness = Witness[Node]()
    informer = Informer(Client(server, jitter=dice(seed)), NODES, witness)

    running = asyncio.create_task(informer.run())
    await change_at_random(server, chance)
    calm = True
    await server.hang_up()
    if server.nodes:
        await server.put(next(iter(server.nodes)))

    def agree() -> bool:
        seen = {uid: node.metadata.resource_version for uid, node in informer.objects.items()}
        return seen == witness.picture == server.picture

    try:
        await wait_until(lambda: running.done() or (informer.synced.is_set() and agree()))
        told = len(witness.told)
        await asyncio.sleep(1_500)  # long enough for watches to end and begin again
        assert agree(), "the pictures parted again"
        assert len(witness.told) == told, "something was told without a change"
    finally:
        running.cancel()
        with suppress(asyncio.CancelledError):
            await running
    assert server.open_streams == 0, "a stream was left open"


@pytest.mark.parametrize("seed", range(STORMS))
def test_in_a_storm_nothing_is_lost_or_told_twice(seed: int) -> None:
    run_virtually(storm(seed))
