"""Which permissions each capability needs: to follow what it has to see, and to write what it decides.

The shipped role (charts/growth/rbac.yaml) grants all of them together. Here each stands by its capability, so that
``growth doctor`` asks only for those of the capabilities that run and names the one that lacks something. Tests keep
both equal, and every scenario checks that a capability writes nothing that is not listed here.
"""

from collections.abc import Collection, Iterator
from typing import Any

from growth.api.kinds import EVENTS, LEASES, Kind
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability
from growth.kube.permission_review import ScopedPermission
from growth.kube.verbs import Permission
from growth.run.informers import part_of


def needs_of(capability: AnyCapability, settings: Settings) -> frozenset[ScopedPermission]:
    """Every permission without which this capability cannot do its work."""
    found = {one for kind in capability.watches for one in _following(kind, settings)}
    for write in capability.permissions:
        namespace = write.namespace(settings) if write.namespace is not None else ""
        for one in _permissions(write.kind, write.verbs, write.subresource):
            found.add(ScopedPermission(one, namespace, write.name))
    found.update(ScopedPermission(one) for one in _permissions(EVENTS, "create patch"))
    if capability.scope == "leader":
        found.update(_inside(settings.namespace, LEASES, "get create patch"))
    return frozenset(found)


def needs(capabilities: Collection[AnyCapability], settings: Settings) -> dict[ScopedPermission, tuple[str, ...]]:
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


def _inside(namespace: str, kind: Kind[Any], verbs: str, name: str = "") -> Iterator[ScopedPermission]:
    for permission in _permissions(kind, verbs):
        yield ScopedPermission(permission, namespace, name)


def _permissions(kind: Kind[Any], verbs: str, subresource: str = "") -> Iterator[Permission]:
    resource = f"{kind.plural}/{subresource}" if subresource else kind.plural
    for verb in verbs.split():
        yield Permission(kind.group, resource, verb)
