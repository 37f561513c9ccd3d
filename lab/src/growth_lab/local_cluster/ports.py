"""Free ports for a cluster that keeps them over restarts of its components.

They lie below the kernel's ephemeral range on purpose. A port inside it can be handed to any outgoing connection while
the API server is dead, and a client that retries against it can even connect to itself; both would break exactly the
tests that kill components.
"""

import random
import socket
from collections.abc import Container
from pathlib import Path

import msgspec

_LOWEST = 10_000
_RANGE_FILE = Path("/proc/sys/net/ipv4/ip_local_port_range")


class Ports(msgspec.Struct, frozen=True, kw_only=True):
    """One port per listener; all on 127.0.0.1."""

    etcd: int
    etcd_peer: int
    apiserver: int
    controller_manager: int
    scheduler: int
    kwok: int

    def numbers(self) -> tuple[int, ...]:
        """All of them."""
        return msgspec.structs.astuple(self)


def free_ports(taken: Container[int]) -> Ports:
    """Ports that nobody listens on and no other cluster of this user has claimed (a dead one may come back)."""
    chosen: list[int] = []
    candidates = range(_LOWEST, _first_ephemeral())
    # Random, because two starters at once would otherwise look at the same candidates in the same order.
    for port in random.sample(candidates, len(candidates)):
        if port not in taken and is_free(port):
            chosen.append(port)
        if len(chosen) == len(Ports.__struct_fields__):
            return Ports(**dict(zip(Ports.__struct_fields__, chosen, strict=True)))
    raise OSError(f"no {len(Ports.__struct_fields__)} free ports between {candidates.start} and {candidates.stop}")


def is_free(port: int) -> bool:
    """Whether a listener could be opened there now."""
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
    return True


def _first_ephemeral() -> int:
    try:
        first = int(_RANGE_FILE.read_text().split()[0])
    except (OSError, ValueError, IndexError):
        return 32_768  # Linux' default
    return first if first > _LOWEST + 1_000 else 32_768
