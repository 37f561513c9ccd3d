"""Demand to be planned for, drawn by a seed: pods with rules, offerings in three zones, sometimes a node that stands.

Many plans share one control plane. Each has a namespace and a pool of its own name; its pods ask for that pool by
label, so neither their placement nor their spread looks at anybody else's nodes.
"""

import random
from dataclasses import dataclass
from typing import Any

from growth.api.meta import ObjectMeta
from growth.api.node_pool import NodePool, NodePoolSpec, ServerType
from growth.api.offering import HOSTNAME, ZONE, Offering, offering_id

Json = dict[str, Any]

ZONES = ("zone-a", "zone-b", "zone-c")
APPS = ("web", "db", "cache")
POOL = "growth.dev/pool"


@dataclass(frozen=True)
class Draft:
    """What is there before the plan, and what it may buy."""

    seed: int
    index: int
    name: str
    nodes: list[Json]
    pods: list[Json]
    pool: NodePool
    offerings: list[Offering]


def draw(seed: int, index: int) -> Draft:
    """The index-th demand of this seed."""
    rng = random.Random(f"{seed}/{index}")  # noqa: S311 - a seed that can be repeated is the point
    name = f"p{seed}-{index}"
    offerings = _offerings(rng)
    types = tuple(ServerType(one) for one in sorted({o.server_type for o in offerings}))
    pool = NodePool(ObjectMeta(name=name, uid=name), NodePoolSpec(server_types=types))
    nodes = [_node(rng, name, number) for number in range(rng.choice((0, 0, 0, 1, 2)))]
    pods: list[Json] = []
    for group in range(rng.randint(1, 5)):
        app = rng.choice(APPS)
        rules = _rules(rng, app)
        requests = {"cpu": rng.choice(("100m", "250m", "500m", "1", "1500m", "2500m")), "memory": rng.choice(_MEMORY)}
        pods += [_pod(f"{app}-{group}-{n}", name, app, requests, rules) for n in range(rng.randint(1, 7))]
    return Draft(seed, index, name, nodes, pods, pool, offerings)


_MEMORY = ("64Mi", "256Mi", "1Gi", "2Gi")


def _offerings(rng: random.Random) -> list[Offering]:
    offerings: list[Offering] = []
    for size in rng.sample((1, 2, 4, 8), rng.randint(2, 3)):
        price = round(size * rng.choice((0.5, 0.45, 0.6)), 4)
        offerings += [
            Offering(
                id=offering_id("shop", f"s{size}", zone),
                provider="shop",
                server_type=f"s{size}",
                location=zone,
                price_per_hour=price,
                resources={"cpu": str(size), "memory": f"{2 * size}Gi", "pods": str(rng.choice((4, 20)))},
            )
            for zone in ZONES
        ]
    return offerings


def _node(rng: random.Random, plan: str, number: int) -> Json:
    name = f"{plan}-old-{number}"
    room = {"cpu": rng.choice(("1", "4")), "memory": "8Gi", "pods": "20"}
    return {
        "kind": "Node",
        "metadata": {"name": name, "labels": {HOSTNAME: name, ZONE: rng.choice(ZONES), POOL: plan}},
        "status": {"capacity": room, "allocatable": room},
    }


def _pod(name: str, plan: str, app: str, requests: Json, rules: Json) -> Json:
    container = {"name": "main", "image": "main", "resources": {"requests": requests}, **rules.get("container", {})}
    spec = {key: value for key, value in rules.items() if key != "container"}
    return {
        "kind": "Pod",
        "metadata": {"name": name, "namespace": plan, "labels": {"app": app}},
        "spec": {"containers": [container], "nodeSelector": {POOL: plan}, **spec},
    }


def _rules(rng: random.Random, app: str) -> Json:
    other = rng.choice(APPS)
    port = {"containerPort": 80, "hostPort": 8080}
    choices: list[Json] = [
        {},
        {},
        _affinity("podAntiAffinity", app, HOSTNAME),
        _affinity("podAntiAffinity", app, ZONE),
        _affinity("podAntiAffinity", other, HOSTNAME),
        _affinity("podAffinity", app, ZONE),
        _affinity("podAffinity", other, ZONE),
        _affinity("podAffinity", app, HOSTNAME),
        _spread(app, ZONE, 1),
        _spread(other, ZONE, rng.choice((1, 2))),
        _spread(app, HOSTNAME, rng.choice((1, 2))),
        _spread(other, HOSTNAME, 1),
        {"container": {"ports": [port]}},
    ]
    return rng.choice(choices)


def _selector(app: str) -> Json:
    return {"matchLabels": {"app": app}}


def _affinity(kind: str, app: str, key: str) -> Json:
    term = {"topologyKey": key, "labelSelector": _selector(app)}
    return {"affinity": {kind: {"requiredDuringSchedulingIgnoredDuringExecution": [term]}}}


def _spread(app: str, key: str, skew: int) -> Json:
    one = {"maxSkew": skew, "topologyKey": key, "whenUnsatisfiable": "DoNotSchedule", "labelSelector": _selector(app)}
    return {"topologySpreadConstraints": [one]}
