"""Which permissions each capability needs: to follow what it has to see, and to write what it decides.

The shipped role (charts/growth/rbac.yaml) grants all of them together. Here each stands by its capability, so that
``growth doctor`` asks only for those of the capabilities that run and names the one that lacks something. Tests keep
both equal, and every scenario checks that a capability writes nothing that is not listed here.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS, EVENTS, LEASES, NODES, PODS, Kind
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.api.settings.model import Settings
from growth.kube.permission_review import ScopedPermission
from growth.kube.verbs import Permission
from growth.run.capability import CONSOLIDATE, REGISTRY, Capability
from growth.run.informers import part_of

Write = tuple[str, Kind[Any], str]
"""Verbs, separated by spaces, on a kind or one of its subresources."""

_ASK_FOR_MACHINES: Final[Write] = ("get create", NODE_REQUESTS, "")
_ASK_FOR_REMOVALS: Final[Write] = ("get create", NODE_REMOVAL_REQUESTS, "")
_EVICT: Final[Write] = ("create", PODS, "eviction")

_WRITES: Final[Mapping[str, tuple[Write, ...]]] = {
    REGISTRY: (),
    "memory": (("patch", NODES, ""),),
    "queue": (
        ("get create patch", WORKLOADS, ""),
        ("patch", WORKLOADS, "status"),
        ("patch", CLUSTER_QUEUES, "status"),
        ("patch", LOCAL_QUEUES, "status"),
        ("patch", QUEUED_JOBS, ""),
        ("patch", QUEUED_JOBS, "status"),
        ("patch delete", PODS, ""),
        ("patch", PODS, "status"),
        ("patch", RESOURCE_FLAVORS, ""),
        ("patch", CLUSTER_QUEUES, ""),
    ),
    "pools": (("patch", NODE_POOLS, ""), ("patch", NODE_POOLS, "status")),
    "failover": (("patch delete", NODES, ""), ("patch", PODS, "status"), ("delete", PODS, "")),
    CONSOLIDATE: (
        _ASK_FOR_MACHINES,
        _ASK_FOR_REMOVALS,
        ("get create delete", NODE_MOVES, ""),
        ("patch", NODE_MOVES, "status"),
        ("patch", NODES, ""),
        _EVICT,
    ),
    "grow": (_ASK_FOR_MACHINES, ("patch", NODE_REQUESTS, ""), ("patch", PODS, "")),
    "provision": (
        _ASK_FOR_MACHINES,
        _ASK_FOR_REMOVALS,
        ("delete", NODE_REQUESTS, ""),
        ("patch", NODE_REQUESTS, "status"),
        ("patch", NODES, ""),
        ("patch", PODS, ""),
    ),
    "shrink": (
        _ASK_FOR_REMOVALS,
        ("patch delete", NODE_REMOVAL_REQUESTS, ""),
        ("patch", NODE_REMOVAL_REQUESTS, "status"),
        ("patch delete", NODES, ""),
        ("delete", PODS, ""),
        _EVICT,
    ),
}
"""What each one writes in the whole cluster."""


def needs_of(capability: Capability, settings: Settings) -> frozenset[ScopedPermission]:
    """Every permission without which this capability cannot do its work."""
    found = {one for kind in capability.kinds for one in _following(kind, settings)}
    for verbs, kind, subresource in _WRITES[capability.name]:
        found.update(ScopedPermission(one) for one in _permissions(kind, verbs, subresource))
    found.update(_own_objects(capability.name, settings))
    found.update(ScopedPermission(one) for one in _permissions(EVENTS, "create patch"))
    if capability.is_for_leader:
        found.update(_inside(settings.namespace, LEASES, "get create patch"))
    return frozenset(found)


def needs(capabilities: Collection[Capability], settings: Settings) -> dict[ScopedPermission, tuple[str, ...]]:
    """All of them, each with the capabilities that need it."""
    found: dict[ScopedPermission, tuple[str, ...]] = {}
    for capability in capabilities:
        for one in needs_of(capability, settings):
            found[one] = (*found.get(one, ()), capability.name)
    return dict(sorted(found.items()))


def _following(kind: Kind[Any], settings: Settings) -> Iterator[ScopedPermission]:
    """To list and watch the part of a kind that is followed; one name of it is a permission of its own."""
    part = part_of(kind, settings)
    _, _, name = part.get("field_selector", "").partition("metadata.name=")
    for permission in _permissions(kind, "list watch"):
        yield ScopedPermission(permission, part.get("namespace", ""), name)


def _own_objects(capability: str, settings: Settings) -> Iterator[ScopedPermission]:
    """What is written in Growth's own namespaces."""
    own, carry = settings.namespace, settings.memory
    if capability == REGISTRY:
        yield from _inside(own, CONFIG_MAPS, "create")
        yield from _inside(own, CONFIG_MAPS, "get patch", GROWTH_STATUS)
    elif capability == "failover":
        yield from _inside(own, CONFIG_MAPS, "patch", GROWTH_STATUS)
    elif capability == "memory":
        yield from _inside(own, LEASES, "create patch")
        yield from _inside(carry.namespace, CONFIG_MAPS, "get create patch delete")
        yield from _inside(carry.transaction_namespace, CONFIG_MAPS, "create delete")


def _inside(namespace: str, kind: Kind[Any], verbs: str, name: str = "") -> Iterator[ScopedPermission]:
    for permission in _permissions(kind, verbs):
        yield ScopedPermission(permission, namespace, name)


def _permissions(kind: Kind[Any], verbs: str, subresource: str = "") -> Iterator[Permission]:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    for verb in verbs.split():
        yield Permission(kind.group, resource, verb)
