"""What three days ask of a cluster, drawn from a seed before they begin: web load, bursts of jobs, a shrinking fleet.

``web``: services whose replicas follow the sun, at night a third of the day, with noise; they are scaled as a
HorizontalPodAutoscaler does it, when they are off by more than a tenth. ``batch``: services that stay as they are, and
Jobs of five minutes to an hour that come in bursts. ``shrinking``: services that lose between a fifth and four fifths
of their replicas over the day, half of them all together.
"""

import itertools
import math
import random
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

Kind = Literal["web", "batch", "shrinking"]
KINDS: Final[tuple[Kind, ...]] = ("web", "batch", "shrinking")

STEP_SECONDS: Final = 300.0
HOUR: Final = 3_600.0
# A node stands for the largest shared machine of Hetzner, which is the cheapest by the core, almost full.
_CORES_PER_NODE: Final = 16 * 0.95
_CPU_MILLIS: Final = (500, 1000, 2000, 4000)
_MIB_PER_CORE: Final = (1024, 1536, 2048, 3072)
_NODES_PER_APP: Final = 3
# As Kubernetes has it: a difference of a tenth is none.
_TOLERANCE: Final = 0.1
# Noise that is forgotten in about an hour, five percent wide.
_NOISE_KEPT: Final = 0.9
_NOISE_WIDTH: Final = 0.02
# Of the fleet: what stays in the batch day, and what one burst asks for; one comes every three quarters of an hour.
_STEADY: Final = 0.4
_BURST: Final = (0.1, 0.4)
_BURST_EVERY: Final = 0.75 * HOUR


class Shape(msgspec.Struct, frozen=True):
    """What a pod asks for."""

    cpu_millis: int
    memory_mib: int


class App(msgspec.Struct, frozen=True):
    """A service, and how many pods it has at its height."""

    name: str
    shape: Shape
    height: int


class Scaled(msgspec.Struct, frozen=True):
    """A service has so many pods from now on."""

    at: float
    app: App
    replicas: int


class Burst(msgspec.Struct, frozen=True):
    """A Job comes: so many pods at once, each of which takes so long."""

    at: float
    name: str
    shape: Shape
    pods: int
    lasts: float


class Day(msgspec.Struct, frozen=True):
    """All of it; seconds count from midnight."""

    kind: Kind
    begins: tuple[Scaled, ...]
    """How it is at midnight."""
    happens: tuple[Scaled | Burst, ...]
    """In order."""
    seconds: float


def drawn(kind: Kind, nodes: int, hours: float, seed: int) -> Day:
    """A day for a fleet of about so many nodes at its height."""
    draw = random.Random(f"{kind}/{nodes}/{seed}")
    seconds = hours * HOUR
    cores = nodes * _CORES_PER_NODE * (_STEADY if kind == "batch" else 1.0)
    apps = list(_apps(draw, max(4, nodes // _NODES_PER_APP), cores))
    lives = [_life(draw, kind, app, seconds) for app in apps]
    begins = tuple(Scaled(0.0, app, life[0]) for app, life in zip(apps, lives, strict=True))
    happens: list[Scaled | Burst] = [
        Scaled(step * STEP_SECONDS, app, now)
        for app, life in zip(apps, lives, strict=True)
        for step, (before, now) in enumerate(itertools.pairwise(life), 1)
        if now != before
    ]
    if kind == "batch":
        happens += _bursts(draw, nodes * _CORES_PER_NODE, seconds)
    return Day(kind, begins, tuple(sorted(happens, key=lambda one: one.at)), seconds)


def _shape(draw: random.Random) -> Shape:
    cpu = draw.choice(_CPU_MILLIS)
    return Shape(cpu, cpu * draw.choice(_MIB_PER_CORE) // 1000)


def _apps(draw: random.Random, count: int, cores: float) -> Iterator[App]:
    weights = [draw.uniform(0.3, 1.7) for _ in range(count)]
    for number, weight in enumerate(weights):
        shape = _shape(draw)
        yield App(f"app-{number:04d}", shape, max(2, round(1000 * cores * weight / sum(weights) / shape.cpu_millis)))


def _life(draw: random.Random, kind: Kind, app: App, seconds: float) -> list[int]:
    """How many replicas it has at each step."""
    steps = range(int(seconds / STEP_SECONDS))
    if kind == "batch":
        return [app.height for _ in steps]
    if kind == "shrinking":
        lost = draw.uniform(0.2, 0.8)
        return [math.ceil(app.height * (1 - lost * step * STEP_SECONDS / seconds)) for step in steps]
    life, noise = list[int](), 0.0
    for step in steps:
        noise = _NOISE_KEPT * noise + draw.gauss(0, _NOISE_WIDTH)
        sun = 2 / 3 - math.cos(2 * math.pi * step * STEP_SECONDS / (24 * HOUR)) / 3
        wanted = max(1, math.ceil(app.height * sun * (1 + noise)))
        life.append(wanted if not life or abs(wanted / life[-1] - 1) > _TOLERANCE else life[-1])
    return life


def _bursts(draw: random.Random, cores: float, seconds: float) -> Iterator[Burst]:
    at = draw.expovariate(1 / _BURST_EVERY)
    while at < seconds:
        shape, share = _shape(draw), draw.uniform(*_BURST)
        pods = max(1, round(1000 * cores * share / shape.cpu_millis))
        yield Burst(at, f"job-{round(at)}", shape, pods, draw.uniform(300, HOUR))
        at += draw.expovariate(1 / _BURST_EVERY)
