"""Which permissions each capability needs: to follow what it has to see, and to write what it decides.

The shipped role (charts/growth/rbac.yaml) grants all of them together. Here each stands by its capability, so that
``growth doctor`` asks only for those of the capabilities that run and names the one that lacks something. Tests keep
both equal, and every scenario checks that a capability writes nothing that is not listed here.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any, Final

from growth.api.kinds import EVENTS, LEASES, Kind
from growth.api.settings.model import Settings
from growth.decide.contract import AnyCapability
from growth.kube.permission_review import ScopedPermission
from growth.kube.verbs import Permission
from growth.run.informers import part_of
from growth.run.shipped_manifests import ACCOUNT

_RBAC: Final = "rbac.authorization.k8s.io"


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


def role_of(capability: AnyCapability, settings: Settings) -> list[dict[str, Any]]:
    """Return the roles that a capability from another package needs beside the shipped one, each with its binding."""
    found: dict[str, dict[tuple[str, str, str], set[str]]] = {}
    for one in needs_of(capability, settings):
        rule = one.permission.group, one.permission.resource, one.name
        found.setdefault(one.namespace, {}).setdefault(rule, set()).add(one.permission.verb)
    return [
        document for namespace, rules in sorted(found.items()) for document in _bound(capability.name, namespace, rules)
    ]


def _bound(capability: str, namespace: str, rules: Mapping[tuple[str, str, str], set[str]]) -> list[dict[str, Any]]:
    kind = "Role" if namespace else "ClusterRole"
    place, account = ACCOUNT
    metadata = {"name": f"{account}-{capability}"} | ({"namespace": namespace} if namespace else {})
    granted = [
        {"apiGroups": [group], "resources": [resource]}
        | ({"resourceNames": [name]} if name else {})
        | {"verbs": sorted(verbs)}
        for (group, resource, name), verbs in sorted(rules.items())
    ]
    role_ref = {"apiGroup": _RBAC, "kind": kind, "name": metadata["name"]}
    subjects = [{"kind": "ServiceAccount", "name": account, "namespace": place}]
    head = {"apiVersion": f"{_RBAC}/v1"}
    return [
        head | {"kind": kind, "metadata": metadata, "rules": granted},
        head | {"kind": f"{kind}Binding", "metadata": metadata, "roleRef": role_ref, "subjects": subjects},
    ]


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
