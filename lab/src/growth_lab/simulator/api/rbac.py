"""Who may do what: the roles and bindings of manifests such as the chart's, enforced in the API server's words."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec

from growth.kube.transport import Request
from growth.kube.verbs import Permission, permission_of, target_of
from growth_lab.simulator.api.error_responses import Refusal
from growth_lab.simulator.merge_patch import Json

ADMIN: Final = "admin"
"""The user who may do everything."""


class Grant(msgspec.Struct, frozen=True):
    """A rule that somebody has; without a namespace, everywhere."""

    namespace: str
    groups: tuple[str, ...]
    resources: tuple[str, ...]
    verbs: tuple[str, ...]
    names: tuple[str, ...] = ()

    def allows(self, wanted: Permission, namespace: str, name: str) -> bool:
        """Whether this rule is enough."""
        return (
            self.namespace in ("", namespace)
            and _has(self.verbs, wanted.verb)
            and _has(self.groups, wanted.group)
            and _has(self.resources, wanted.resource)
            and (not self.names or name in self.names)
        )


def service_account(namespace: str, name: str) -> str:
    """How the API server calls the user that a ServiceAccount is."""
    return f"system:serviceaccount:{namespace}:{name}"


class Roles:
    """Everybody's grants."""

    def __init__(self, manifests: Iterable[Mapping[str, Any]] = ()) -> None:
        self._grants: dict[str, list[Grant]] = {}
        documents = list(manifests)
        rules = {
            (document["kind"], document["metadata"].get("namespace", ""), document["metadata"]["name"]): document
            for document in documents
            if document["kind"] in ("Role", "ClusterRole")
        }
        for document in documents:
            if document["kind"] in ("RoleBinding", "ClusterRoleBinding"):
                self._bind(document, rules)

    def _bind(self, binding: Mapping[str, Any], rules: Mapping[tuple[str, str, str], Mapping[str, Any]]) -> None:
        namespace = binding["metadata"].get("namespace", "") if binding["kind"] == "RoleBinding" else ""
        reference = binding["roleRef"]
        at = namespace if reference["kind"] == "Role" else ""
        role = rules.get((reference["kind"], at, reference["name"]))
        if role is None:
            raise ValueError(
                f"{binding['kind']} {binding['metadata']['name']!r} refers to {reference['kind']} "
                f"{reference['name']!r}, which none of the manifests defines"
            )
        for subject in binding.get("subjects") or ():
            is_account = subject["kind"] == "ServiceAccount"
            user = service_account(subject["namespace"], subject["name"]) if is_account else subject["name"]
            self._grants.setdefault(user, []).extend(_grant(rule, namespace) for rule in role.get("rules") or ())

    def check(self, user: str, request: Request) -> None:
        """Raises Refusal (403) if the user may not send this."""
        if user == ADMIN:
            return
        wanted = permission_of(request)
        target = target_of(request.path)
        if wanted is None or target is None:
            return
        # A namespace counts as an object within itself.
        is_space = target.resource == "namespaces" and not target.group
        namespace = target.name if is_space else target.namespace
        if any(
            grant.allows(wanted, namespace, target.name or _name_in(request)) for grant in self._grants.get(user, ())
        ):
            return
        where = f'in the namespace "{namespace}"' if namespace else "at the cluster scope"
        full = f"{target.resource}.{wanted.group}" if wanted.group else target.resource
        what = f'{full} "{target.name}"' if target.name else full
        message = (
            f'{what} is forbidden: User "{user}" cannot {wanted.verb} resource "{wanted.resource}" '
            f'in API group "{wanted.group}" {where}'
        )
        details: Json = {"name": target.name, "group": wanted.group, "kind": target.resource}
        raise Refusal(403, "Forbidden", message, {key: value for key, value in details.items() if value})


def _name_in(request: Request) -> str:
    """Whom a list or a watch is about, if it asks for one name only: a rule may name it (``resourceNames``)."""
    selector = dict(request.query).get("fieldSelector", "")
    return selector.removeprefix("metadata.name=") if selector.startswith("metadata.name=") else ""


def _grant(rule: Mapping[str, Any], namespace: str) -> Grant:
    return Grant(
        namespace,
        tuple(rule.get("apiGroups") or ()),
        tuple(rule.get("resources") or ()),
        tuple(rule["verbs"]),
        tuple(rule.get("resourceNames") or ()),
    )


def _has(granted: tuple[str, ...], wanted: str) -> bool:
    return "*" in granted or wanted in granted
