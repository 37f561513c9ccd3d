"""Everything that ``growth doctor`` asks the server for. It reads, and asks for reviews, which change nothing."""

import asyncio
from collections.abc import Sequence
from typing import Any

import msgspec

from growth import __version__
from growth.api.crd import definitions
from growth.api.growth_kinds import GROUP, OWN_KINDS
from growth.api.kinds import Kind
from growth.api.server_features import Feature
from growth.api.settings.model import Settings
from growth.cli.doctor_definitions import Document, first_difference
from growth.cli.doctor_report import DoctorReport, FoundKind, KindState, MissingFeature, MissingPermission
from growth.cli.manifests_deployment import NAME
from growth.cli.manifests_documents import roles_for
from growth.decide.contract import AnyCapability
from growth.kube.client import Client
from growth.kube.discovery import served_resources
from growth.kube.errors import Forbidden
from growth.kube.permission_review import ScopedPermission, current_user, is_allowed
from growth.kube.transport import Method, Request
from growth.kube.verbs import Permission
from growth.run.missing_features import is_tested, missing_features
from growth.run.permissions import needs
from growth.run.shipped_manifests import shipped_roles

_DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"


async def read_report(
    client: Client, server: str, settings: Settings, capabilities: Sequence[AnyCapability]
) -> DoctorReport:
    """Ask for all of it, and conclude."""
    version = await client.server_version()
    names = tuple(one.name for one in capabilities)
    wanted = _wanted(settings, capabilities)
    user, features, kinds, allowed = await asyncio.gather(
        current_user(client),
        missing_features(client, version, names),
        _kinds(client, capabilities),
        asyncio.gather(*(is_allowed(client, one) for one in wanted)),
    )
    refused = [one for one, is_granted in zip(wanted, allowed, strict=True) if not is_granted]
    return DoctorReport(
        growth=__version__,
        server=server,
        version=version,
        is_tested=is_tested(version),
        user=user,
        capabilities=names,
        missing_features=tuple(_missing(one, names) for one in features),
        kinds=kinds,
        missing_permissions=tuple(MissingPermission(str(one), wanted[one]) for one in refused),
        permissions=len(wanted),
    )


def _missing(feature: Feature, capabilities: tuple[str, ...]) -> MissingFeature:
    return MissingFeature(feature.name, feature.since, feature.capabilities or capabilities, feature.without)


def _wanted(settings: Settings, capabilities: Sequence[AnyCapability]) -> dict[ScopedPermission, tuple[str, ...]]:
    """What capabilities and the enabled providers need. Only a leader opens providers."""
    wanted = needs(capabilities, settings)
    if not any(one.scope == "leader" for one in capabilities):
        return wanted
    for provider in settings.providers.names:
        for role in roles_for(settings, shipped_roles()):
            if role["metadata"]["name"] == f"{NAME}-{provider}":
                for one in _granted_by(role):
                    wanted[one] = (*wanted.get(one, ()), f"provider {provider}")
    return wanted


def _granted_by(role: Document) -> list[ScopedPermission]:
    """Each permission of a role by itself; bindings grant none."""
    return [
        ScopedPermission(Permission(group, resource, verb), role["metadata"].get("namespace", ""), name)
        for rule in role.get("rules", ())
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    ]


async def _kinds(client: Client, capabilities: Sequence[AnyCapability]) -> tuple[FoundKind, ...]:
    """Every kind that a capability has to see, once, by where it is served."""
    by_address: dict[tuple[str, str], tuple[Kind[Any], list[str]]] = {}
    for capability in capabilities:
        for kind in capability.watches:
            _, users = by_address.setdefault((kind.api_version, kind.plural), (kind, []))
            if capability.name not in users:
                users.append(capability.name)
    served = await served_resources(client, {group_version for group_version, _ in by_address})
    found = (_found(client, kind, tuple(users), served) for kind, users in by_address.values())
    return tuple(await asyncio.gather(*found))


async def _found(
    client: Client, kind: Kind[Any], users: tuple[str, ...], served: frozenset[tuple[str, str]]
) -> FoundKind:
    state, detail = KindState.SAME, ""
    if (kind.api_version, kind.plural) not in served:
        state = KindState.MISSING
    elif kind.group == GROUP:
        state, detail = await _compared(client, kind)
    return FoundKind(kind.name, kind.api_version, state, users, detail)


async def _compared(client: Client, kind: Kind[Any]) -> tuple[KindState, str]:
    (ours,) = definitions([own for own in OWN_KINDS if own.kind == kind])
    try:
        answer = await client.request(Request(Method.GET, f"{_DEFINITIONS}/{kind.plural}.{kind.group}"))
    except Forbidden:
        return KindState.UNKNOWN, ""
    difference = first_difference(ours, msgspec.json.decode(answer.body))
    return (KindState.DIFFERENT, difference) if difference else (KindState.SAME, "")
