"""May the current user do this? The server answers, by the rules that it applies to the request itself."""

from collections.abc import Mapping

import msgspec

from growth.kube.client import Client
from growth.kube.transport import Method, Request
from growth.kube.verbs import Permission

_USERS = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
_PERMISSIONS = "/apis/authorization.k8s.io/v1/selfsubjectaccessreviews"


class ScopedPermission(msgspec.Struct, frozen=True, order=True):
    """A permission in one namespace (empty: in all of them) and for one name (empty: for any)."""

    permission: Permission
    namespace: str = ""
    name: str = ""

    def __str__(self) -> str:
        name = f" {self.name}" if self.name else ""
        return f"{self.permission}{name}" + (f" in {self.namespace}" if self.namespace else "")


class _UserInfo(msgspec.Struct, frozen=True):
    username: str = ""


class _UserStatus(msgspec.Struct, frozen=True, rename="camel"):
    user_info: _UserInfo = _UserInfo()


class _UserReview(msgspec.Struct, frozen=True):
    status: _UserStatus = _UserStatus()


class _Verdict(msgspec.Struct, frozen=True):
    allowed: bool = False


class _PermissionReview(msgspec.Struct, frozen=True):
    status: _Verdict = _Verdict()


_USER_DECODER = msgspec.json.Decoder(_UserReview)
_PERMISSION_DECODER = msgspec.json.Decoder(_PermissionReview)


async def current_user(client: Client) -> str:
    """The name by which the server knows us, such as ``system:serviceaccount:growth-system:growth``."""
    body = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    return _USER_DECODER.decode(await _posted(client, _USERS, body)).status.user_info.username


async def is_allowed(client: Client, wanted: ScopedPermission) -> bool:
    """Whether the current user has this permission."""
    resource, _, subresource = wanted.permission.resource.partition("/")
    attributes = {
        "group": wanted.permission.group,
        "resource": resource,
        "subresource": subresource,
        "verb": wanted.permission.verb,
        "namespace": wanted.namespace,
        "name": wanted.name,
    }
    spec = {"resourceAttributes": attributes}
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "SelfSubjectAccessReview", "spec": spec}
    return _PERMISSION_DECODER.decode(await _posted(client, _PERMISSIONS, body)).status.allowed


async def _posted(client: Client, path: str, body: Mapping[str, object]) -> bytes:
    return (await client.request(Request(Method.POST, path, body=msgspec.json.encode(body)))).body
