"""What there is at the beginning: one to three pools, DaemonSets, a node that is not ours; all of it drawn.

The first pool sells everything to everybody, so that it can be said in the end who should have found a place.
"""

import random
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

Json = Mapping[str, Any]

CORES: Final = {"small": 2.0, "medium": 4.0, "large": 8.0}
"""What the catalogue of stories sells."""

FIRST: Final = "default"
_OTHERS: Final = ("batch", "web")
_SECONDS: Final = ("1s", "2s", "4s", "8s")


@dataclass(frozen=True)
class World:
    """What is created before anything goes wrong."""

    replicas: int
    pools: dict[str, Json]
    daemon_cpu: str
    """What the DaemonSet asks for on every node; empty if there is none."""

    is_daemon_shy: bool
    """Whether it waits until a node is open."""

    seconds: float
    """How long the trouble lasts."""

    quiet_seconds: float
    """For how long nobody may write in the end."""

    is_lied_to: bool
    """Whether the provider may leave machines out of its lists; limits and order are then kept by what it says."""

    is_sold_less: bool
    """Whether machines may be smaller than promised; then pods may lose their places on those that are coming."""


def drawn_world(chance: random.Random) -> World:
    """One of them."""
    pools = {FIRST: drawn_pool(chance, FIRST)}
    for name in _OTHERS[: chance.choice([0, 1, 1, 2])]:
        pools[name] = drawn_pool(chance, name)
    return World(
        replicas=chance.choice([1, 2, 2, 3]),
        pools=pools,
        daemon_cpu=chance.choice(["", "50m", "150m"]),
        is_daemon_shy=chance.random() < 0.5,
        seconds=chance.choice([15.0, 30.0, 45.0, 60.0]),
        quiet_seconds=chance.choice([30.0, 30.0, 30.0, 30.0, 180.0]),
        is_lied_to=chance.random() < 0.1,
        is_sold_less=chance.random() < 0.2,
    )


def drawn_pool(chance: random.Random, name: str) -> Json:
    """The spec of a pool. All but the first may be closed to those who do not ask for them, and lack some types."""
    types = list(CORES) if name == FIRST else chance.sample(sorted(CORES), chance.choice([1, 2, 3]))
    spec: dict[str, Any] = {
        "serverTypes": [drawn_type(chance, one) for one in types],
        "priority": chance.choice([0, 0, 0, 10, -10]),
        "scaleDown": drawn_terms(chance),
        "disruption": {"maxUnavailable": chance.choice([1, 2, "50%", "10%"])},
        "deletionPolicy": chance.choice(["Drain", "Drain", "Orphan"]),
    }
    if limits := drawn_limits(chance):
        spec["limits"] = limits
    if name != FIRST and chance.random() < 0.3:
        spec["taints"] = [{"key": "dedicated", "value": name, "effect": "NoSchedule"}]
    if chance.random() < 0.3:
        spec["locations"] = [chance.choice(["fsn1", "nbg1"])]
    return spec


def drawn_type(chance: random.Random, name: str) -> Json:
    """One server type of a pool."""
    least = chance.choice([0, 0, 0, 0, 1, 2])
    most = chance.choice([None, None, least + 1, least + 3])
    stated: dict[str, Any] = {"name": name, "min": least, "priority": chance.choice([0, 0, 0, 5])}
    return stated if most is None else {**stated, "max": most}


def drawn_terms(chance: random.Random) -> Json:
    """How patient a pool is with empty nodes: seconds."""
    terms: dict[str, Any] = {
        "enabled": chance.random() < 0.9,
        "emptyAfter": chance.choice(_SECONDS),
        "unreadyAfter": chance.choice(_SECONDS),
        "delayAfterScaleUp": chance.choice(["0s", *_SECONDS]),
        "removeUnreachable": chance.random() < 0.2,
    }
    if chance.random() < 0.3:
        terms["retryFailedAfter"] = chance.choice(["5s", "15s"])
    return terms


def drawn_limits(chance: random.Random) -> Json:
    """Bounds of a pool; mostly none."""
    return chance.choice(
        [{}, {}, {}, {"nodes": chance.randint(1, 6)}, {"cpu": chance.choice([6, 12, 20])}, {"costPerHour": "0.08"}]
    )
