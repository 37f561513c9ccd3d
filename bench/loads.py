"""Loads for the planner: pods as a World holds them (shared specs and labels), pools and offerings."""

import itertools
import random
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Final

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.interning import InternTables
from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_pool import NodePool, NodePoolSpec, ServerType
from growth.api.offering import HOSTNAME, SPOT, ZONE, Offering, offering_id
from growth.api.pod import (
    Affinity,
    Container,
    Pod,
    PodAffinity,
    PodAffinityTerm,
    PodSpec,
    ResourceRequirements,
    TopologySpreadConstraint,
)
from growth.api.selectors import LabelSelector
from growth.cloud.kwok.catalog import shipped_catalogue
from growth.decide.fit import SimulatedCluster
from growth.decide.solver.node_options import NodeOptions, node_options_of
from growth.observe.cache import ClusterCache

NOW: Final = datetime(2026, 3, 1, 9, tzinfo=UTC)
EU: Final = ("fsn1", "nbg1", "hel1")
_LETTERS: Final = "abcdefg"


@dataclass(frozen=True, slots=True)
class Load:
    """What one solve gets."""

    stage: SimulatedCluster
    pods: list[Pod]
    market: NodeOptions
    offerings: Sequence[Offering]


class _Maker:
    """Makes pods and puts them into a World."""

    def __init__(self) -> None:
        self.world = ClusterCache()
        self._sharing = InternTables()
        self.pods: list[Pod] = []

    def spec(
        self,
        cpu_millis: int,
        memory_mib: int,
        *,
        affinity: Affinity | None = None,
        spread: TopologySpreadConstraint | None = None,
        node_selector: dict[str, str] | None = None,
    ) -> PodSpec:
        requests = ResourceRequirements({"cpu": f"{cpu_millis}m", "memory": f"{memory_mib}Mi"})
        return self._sharing.value(
            PodSpec(
                containers=(Container("main", requests),),
                affinity=affinity,
                topology_spread_constraints=(spread,) if spread else (),
                node_selector=node_selector or {},
            )
        )

    def add(self, spec: PodSpec, labels: dict[str, str], count: int = 1, node: str = "") -> None:
        shared = self._sharing.mapping(labels)
        for _ in range(count):
            number = len(self.pods)
            meta = ObjectMeta(name=f"pod-{number}", namespace="default", uid=f"uid-{number:07d}", labels=shared)
            self.pods.append(Pod(meta, spec, node))

    def load(self, offerings: Sequence[Offering], nodes: Sequence[Node] = ()) -> Load:
        random.Random(7).shuffle(self.pods)
        self.world.hear_of_nodes([Change(ChangeType.ADDED, node, None) for node in nodes])
        self.world.hear_of_pods([Change(ChangeType.ADDED, pod, None) for pod in self.pods])
        stage = SimulatedCluster.of(self.world.snapshot(NOW))
        types = {offering.server_type: None for offering in offerings}
        pool = NodePool(
            ObjectMeta(name="default", uid="pool"), NodePoolSpec(server_types=tuple(ServerType(name) for name in types))
        )
        waiting = [pod for pod in self.pods if not pod.node_name]
        return Load(stage, waiting, node_options_of(stage, [pool], offerings), offerings)


def _selector(key: str, value: str) -> LabelSelector:
    return LabelSelector({key: value})


def _apart(key: str, value: str, topology: str = HOSTNAME) -> Affinity:
    return Affinity(pod_anti_affinity=PodAffinity((PodAffinityTerm(topology, _selector(key, value)),)))


def _spread(topology: str, key: str, value: str) -> TopologySpreadConstraint:
    return TopologySpreadConstraint(1, topology, "DoNotSchedule", _selector(key, value))


def mixed(pods: int, seed: int, offerings: int = 2_000) -> Load:
    """Karpenter's benchmark: a fifth each of plain, zonal spread, hostname spread, zonal affinity, hostname apart."""
    draw = random.Random(seed)
    make = _Maker()

    def sizes() -> tuple[int, int]:
        return draw.choice((100, 250, 500, 1000, 1500)), draw.choice((100, 256, 512, 1024, 2048, 4096))

    for _ in range(pods // 5):
        make.add(make.spec(*sizes()), {"my-label": draw.choice(_LETTERS)})
        for topology in (ZONE, HOSTNAME):
            spread = _spread(topology, "my-label", draw.choice(_LETTERS))
            make.add(make.spec(*sizes(), spread=spread), {"my-label": draw.choice(_LETTERS)})
        letter = draw.choice(_LETTERS)
        near = Affinity(pod_affinity=PodAffinity((PodAffinityTerm(ZONE, _selector("my-affinity", letter)),)))
        make.add(make.spec(*sizes(), affinity=near), {"my-affinity": letter})
        make.add(make.spec(*sizes(), affinity=_apart("app", "nginx")), {"app": "nginx"})
    return make.load(_sized_offerings(offerings // 5))


def _sized_offerings(types: int) -> list[Offering]:
    """Types of i vCPU, 2i GiB and 10i pods, on demand in three zones and as spot in two of them."""
    places = [("on-demand", zone) for zone in ("zone-1", "zone-2", "zone-3")] + [(SPOT, "zone-1"), (SPOT, "zone-2")]
    return [
        Offering(
            id=offering_id("bench", f"t{size}", zone, capacity),
            provider="bench",
            server_type=f"t{size}",
            location=zone,
            price_per_hour=round(0.1 * size + 0.1 * 2 * size, 6),
            resources={"cpu": str(size), "memory": f"{2 * size}Gi", "pods": str(10 * size)},
            capacity_type=capacity,
        )
        for size in range(1, types + 1)
        for capacity, zone in places
    ]


def hetzner(pods: int, seed: int, scarce: str = "") -> Load:
    """200 shapes on Hetzner's catalogue; a tenth of the pods keep apart by node or are spread over zones."""
    draw = random.Random(seed)
    make = _Maker()
    shapes = [_shape(draw, tied=seed % 2 == 1) for _ in range(200)]
    apart, spread = pods // 20 // 25, pods // 20 // 100
    for group in range(apart):
        name = f"apart-{group}"
        make.add(make.spec(*draw.choice(shapes), affinity=_apart("app", name)), {"app": name}, 25)
    for group in range(spread):
        name = f"spread-{group}"
        make.add(make.spec(*draw.choice(shapes), spread=_spread(ZONE, "app", name)), {"app": name}, 100)
    specs = [make.spec(*shape) for shape in shapes]
    for _ in range(pods - len(make.pods)):
        make.add(draw.choice(specs), {"app": "plain"})
    return make.load(hetzner_offerings(scarce))


def _shape(draw: random.Random, *, tied: bool) -> tuple[int, int]:
    """CPU from 0.1 to 4, memory from 128 MiB to 8 GiB, by even logarithms; if tied, 1 to 4 GiB for each CPU."""
    cpu = max(50, round(10 ** draw.uniform(2, 3.6) / 50) * 50)
    memory = cpu * 2 ** draw.uniform(0, 2) if tied else 2 ** draw.uniform(7, 13)
    return cpu, max(64, round(memory / 64) * 64)


def hetzner_offerings(scarce: str = "") -> list[Offering]:
    """What is sold in Europe; ``scarce`` leaves out what is cheap, or says that there is little of it."""
    offerings = [o for o in shipped_catalogue("hetzner").offerings if o.location in EU and o.is_cloud]
    if scarce == "none":
        return [o for o in offerings if not o.server_type.startswith(("cx", "cax"))]
    if scarce == "stock":
        # cx53 at most 300 and every other cx at most 200, a third of it in each place.
        return [
            msgspec.structs.replace(o, stock=100 if o.server_type == "cx53" else 66)
            if o.server_type.startswith("cx")
            else o
            for o in offerings
        ]
    return offerings


def plain(pods: int, shapes: int, seed: int) -> Load:
    """Nothing but requests, on Hetzner's catalogue."""
    draw = random.Random(seed)
    make = _Maker()
    known: dict[tuple[int, int], PodSpec] = {}
    while len(known) < shapes:
        shape = _shape(draw, tied=False) if shapes <= 1000 else (draw.randint(50, 4000), draw.randint(64, 8192))
        known[shape] = make.spec(*shape)
    specs = list(known.values())
    for number in range(pods):
        make.add(specs[number] if number < shapes else draw.choice(specs), {"app": "plain"})
    return make.load(hetzner_offerings(""))


def specs(shapes: int, seed: int) -> list[PodSpec]:
    """So many distinct specs, each one object."""
    draw, make = random.Random(seed), _Maker()
    return [
        make.spec(cpu := max(10, round(10 ** draw.uniform(1, 2.5) / 10) * 10), cpu * draw.choice((2, 3, 4)))
        for _ in range(shapes)
    ]


def sized(sizes: Sequence[tuple[int, int]], offerings: Sequence[Offering]) -> Load:
    """Plain pods of these sizes: thousandths of a core, and MiB."""
    make = _Maker()
    for (cpu, memory), alike in itertools.groupby(sizes):
        make.add(make.spec(cpu, memory), {}, len(list(alike)))
    return make.load(offerings)


def trickle(pods: int, nodes: int, seed: int) -> Load:
    """A few pods against many nodes, each with ten pods and some room; two of the few ask for a zone by label."""
    draw = random.Random(seed)
    make = _Maker()
    offerings = hetzner_offerings("")
    standing: list[Node] = []
    running = [make.spec(cpu, 2 * cpu) for cpu in (250, 500, 1000, 1400)]
    for number in range(nodes):
        name = f"node-{number:05d}"
        labels = {HOSTNAME: name, ZONE: ("fsn1-dc14", "nbg1-dc3", "hel1-dc2")[number % 3], "growth.dev/pool": "default"}
        room = {"cpu": "16", "memory": "32Gi", "pods": "110"}
        standing.append(Node(ObjectMeta(name=name, uid=name, labels=labels), NodeSpec(), NodeStatus(room, room)))
        for _ in range(10):
            make.add(draw.choice(running), {"app": f"app-{draw.randrange(40)}"}, node=name)
    for number in range(pods):
        selector = {ZONE: "hel1-dc2"} if number % 5 == 4 else None
        cpu, memory = _shape(draw, tied=True)
        make.add(make.spec(cpu, memory, node_selector=selector), {"app": "new"})
    return make.load(offerings, standing)
