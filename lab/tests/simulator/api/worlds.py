"""A virtual cluster without controllers: clock, store and API server, on virtual time."""

import random
from collections.abc import Callable, Coroutine, Iterable, Mapping
from typing import Any, TypeVar

from growth.kube.client import Client
from growth_lab.simulator.api.rbac import ADMIN
from growth_lab.simulator.api.server import VirtualApiServer
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.faults import Faults
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.virtual_loop import run_virtually

T = TypeVar("T")


class World:
    """What a test needs of it."""

    def __init__(self, seed: int = 1, roles: Iterable[Mapping[str, Any]] = ()) -> None:
        self.clock = Clock()
        self.store = Store(self.clock, random.Random(seed))  # noqa: S311 - a seed
        self.faults = Faults(random.Random(seed))  # noqa: S311 - a seed
        self.timings = Timings()
        self.server = VirtualApiServer(self.clock, self.store, timings=self.timings, faults=self.faults, roles=roles)

    def client(self, user: str = ADMIN) -> Client:
        """A client of the product, as it is."""
        return Client(self.server.connect(user), jitter=random.Random(2))  # noqa: S311 - a seed


def in_a_world(
    test: Callable[[World], Coroutine[Any, Any, T]], seed: int = 1, roles: Iterable[Mapping[str, Any]] = ()
) -> T:
    """Play a test in a world of its own."""

    async def play() -> T:
        return await test(World(seed, roles))

    return run_virtually(play())
