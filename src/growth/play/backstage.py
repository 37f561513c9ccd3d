"""What a world lends to the Growth that acts in a story: a client under the role that the chart ships, and a host."""

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from datetime import datetime

from growth.kube.client import Client
from growth.run.host import Host


@dataclass(frozen=True)
class Backstage:
    """Where Growth comes from; a story that does not need it never asks for more than the time."""

    now: Callable[[], datetime]
    install: Callable[[], Awaitable[None]]
    """Our own kinds and the role, if they are not there yet."""

    client: Callable[[], Awaitable[Client]]
    host: Callable[[str], Host]
