"""From a request's path to what it is about."""

from typing import Final

import msgspec

from growth.kube.verbs import target_of
from growth_lab.simulator.api.error_responses import Refusal, no_such_path
from growth_lab.simulator.served_kinds import ALL, PODS, Resource


class Address(msgspec.Struct, frozen=True):
    """A kind, one object of it if it is named, and a part of that one."""

    resource: Resource
    namespace: str
    name: str
    subresource: str


_BY_PLACE: Final = {(resource.group, resource.version, resource.plural): resource for resource in ALL}
_GROUPS: Final = frozenset(resource.group for resource in ALL)
_OF_PODS: Final = ("binding", "eviction")


def address_of(path: str) -> Address:
    """Where a path leads. Raises Refusal."""
    target = target_of(path)
    if target is None or target.group not in _GROUPS:
        raise Refusal(404, "", "404 page not found\n")
    version = path.split("/")[2 if not target.group else 3]
    resource = _BY_PLACE.get((target.group, version, target.resource))
    if resource is None or (target.namespace and not resource.is_namespaced):
        raise no_such_path()
    if resource.is_namespaced and target.name and not target.namespace:
        raise no_such_path()
    part = target.subresource
    if part and not ((part == "status" and resource.has_status) or (resource is PODS and part in _OF_PODS)):
        raise no_such_path()
    return Address(resource, target.namespace, target.name, part)
