"""A shop a while after its busiest day: dear machines of a stock-out, half empty ones, and some that must stay."""

from typing import Any, Final

import msgspec

from growth.api.node import Node
from growth.api.offering import INSTANCE_TYPE, Offering
from growth.api.pod import Pod
from growth.observe.cache import ClusterCache
from tests.decide import marketplace as market
from tests.decide.consolidation.seen import OWNER, a_budget, a_pod, observed
from tests.decide.stages import a_pod as a_waiting_pod

_PRICES: Final = {"cx23": 0.0088, "cx33": 0.0136, "cx43": 0.0256, "cpx32": 0.0569, "cpx42": 0.1114}
_SIZES: Final = {"cx23": (2, 4), "cx33": (4, 8), "cx43": (8, 16), "cpx32": (4, 8), "cpx42": (8, 16)}
REFUSED: Final = {
    "phase": "Pending",
    "conditions": [{"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}],
}


def an_offering(server_type: str) -> Offering:
    cpu, memory = _SIZES[server_type]
    resources = {"cpu": f"{cpu}", "memory": f"{memory}Gi", "pods": "110"}
    offered = market.an_offering(server_type, price=_PRICES[server_type], provider="hetzner", resources=resources)
    return msgspec.structs.replace(offered, currency="EUR")


def a_node(name: str, server_type: str) -> Node:
    offered = an_offering(server_type)
    return market.a_node(name, offering=offered.id, has=offered.resources, labels={INSTANCE_TYPE: server_type})


def of(app: str, node: str, *, count: int = 1, cpu: str = "500m", kind: str = "ReplicaSet", **fields: Any) -> list[Pod]:  # noqa: ANN401
    """Pods of one app on a node."""
    owner = {**OWNER, "kind": kind, "name": app, "uid": app}
    names = [f"{app}-{node.partition('-')[2]}-{number}" for number in range(count)]
    known: dict[str, Any] = {"requests": {"cpu": cpu}, "labels": {"app": app}, "namespace": "shop", **fields}
    return [a_pod(name, node=node, owner=owner, **known) for name in names]


NODES: Final = {
    "default-1f3a": "cpx42",
    "default-22c7": "cpx32",
    "default-5b90": "cx43",
    "default-6e01": "cx43",
    "default-83d4": "cx33",
    "default-91aa": "cx33",
    "default-c4f2": "cx23",
    "default-e7b8": "cx23",
}


def a_shop(*more: object, max_unavailable: str = "25%") -> ClusterCache:
    """All of it."""
    pods = [
        *of("web", "default-1f3a", count=8),
        *of("web", "default-22c7", count=2),
        *of("checkout", "default-22c7", count=2, cpu="400m"),
        *of("mail", "default-5b90", count=2, cpu="800m"),
        *of("orders", "default-5b90", kind="StatefulSet", cpu="300m"),
        *of("search", "default-6e01", count=13),
        *of("news", "default-83d4", count=2, cpu="1500m"),
        *of("cart", "default-91aa", count=2, cpu="1500m", annotations={"karpenter.sh/do-not-disrupt": "true"}),
        *of("stock", "default-c4f2", count=2, cpu="800m"),
        *of("ledger", "default-e7b8", count=1, cpu="1200m"),
    ]
    machines = [market.a_machine(name, offering=an_offering(server_type).id) for name, server_type in NODES.items()]
    return observed(
        ClusterCache(),
        market.a_pool(types=list(_PRICES), disruption={"maxUnavailable": max_unavailable}),
        market.a_cloud(*map(an_offering, _PRICES), machines=machines, provider="hetzner"),
        *(a_node(name, server_type) for name, server_type in NODES.items()),
        *pods,
        a_budget("web", {"matchLabels": {"app": "web"}}, allowed=3, namespace="shop"),
        a_budget("ledger", {"matchLabels": {"app": "ledger"}}, allowed=0, namespace="shop"),
        *more,
    )


def a_crowd() -> list[Pod]:
    """Pods that a scheduler refused, one that asks for too much, and one for a pool that is not there."""
    many = [
        a_waiting_pod(f"batch-{number}", namespace="shop", requests={"cpu": "6"}, status=REFUSED) for number in range(3)
    ]
    huge = a_waiting_pod("train-0", namespace="shop", requests={"cpu": "64"}, status=REFUSED)
    lost = a_waiting_pod(
        "render-0", namespace="shop", requests={"cpu": "1"}, status=REFUSED, nodeSelector={"growth.dev/pool": "gpu"}
    )
    gated = a_waiting_pod("later-0", namespace="shop", status=REFUSED, schedulingGates=[{"name": "example.org/wait"}])
    return [*many, huge, lost, gated]
