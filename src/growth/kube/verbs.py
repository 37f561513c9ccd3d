"""Which RBAC verb a request needs.

The API server derives it from method, path and query; so do we, to name a missing verb in words, to check that the
shipped role grants all we use and nothing more, and to play the role's part in the virtual cluster.
"""

import msgspec

from growth.kube.transport import Method, Request


class Permission(msgspec.Struct, frozen=True, order=True):
    """A verb on a resource, as a rule of a role would name it. ``resource`` includes the subresource."""

    group: str
    resource: str
    verb: str

    def __str__(self) -> str:
        group = f"{self.resource}.{self.group}" if self.group else self.resource
        return f"{self.verb} {group}"


class Target(msgspec.Struct, frozen=True):
    """What a path points at."""

    group: str
    resource: str
    subresource: str = ""
    namespace: str = ""
    name: str = ""


def target_of(path: str) -> Target | None:
    """What the path of a request points at; None for paths outside the resource trees, such as ``/version``."""
    parts = [part for part in path.split("/") if part]
    match parts:
        case ["api", _, *rest]:
            group = ""
        case ["apis", group, _, *rest]:
            pass
        case _:
            return None
    namespace = ""
    if len(rest) > 2 and rest[0] == "namespaces" and rest[2] not in ("status", "finalize"):
        namespace, rest = rest[1], rest[2:]
    if not rest:
        return None
    name = rest[1] if len(rest) > 1 else ""
    return Target(group=group, resource=rest[0], subresource="/".join(rest[2:]), namespace=namespace, name=name)


def permission_of(request: Request) -> Permission | None:
    """The permission that a request needs; None where RBAC has no say over resources."""
    target = target_of(request.path)
    if target is None:
        return None
    resource = f"{target.resource}/{target.subresource}" if target.subresource else target.resource
    return Permission(group=target.group, resource=resource, verb=_verb(request, named=bool(target.name)))


def _verb(request: Request, *, named: bool) -> str:
    match request.method:
        case Method.GET if named:
            return "get"
        case Method.GET:
            return "watch" if dict(request.query).get("watch") in ("1", "true") else "list"
        case Method.POST:
            return "create"
        case Method.PUT:
            return "update"
        case Method.PATCH:
            return "patch"
        case Method.DELETE:
            return "delete" if named else "deletecollection"
