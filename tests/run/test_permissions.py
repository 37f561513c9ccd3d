"""What the capabilities need is what the shipped role grants, neither more nor less."""

from typing import Any

from growth.api.settings.model import Settings
from growth.decide.pipeline import CAPABILITIES, chosen
from growth.kube.permission_review import ScopedPermission
from growth.kube.verbs import Permission
from growth.run.permissions import needs, needs_of
from growth.run.shipped_manifests import shipped_roles

SETTINGS = Settings()


def granted(*names: str) -> set[ScopedPermission]:
    """What the shipped roles of these names grant; where names are listed, for each of them."""
    roles = [one for one in shipped_roles() if one["kind"].endswith("Role") and one["metadata"]["name"] in names]
    return {permission for role in roles for rule in role["rules"] for permission in of_rule(role, rule)}


def of_rule(role: dict[str, Any], rule: dict[str, Any]) -> set[ScopedPermission]:
    return {
        ScopedPermission(Permission(group, resource, verb), role["metadata"].get("namespace", ""), name)
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
        for name in rule.get("resourceNames", [""])
    }


def test_capabilities_together_need_what_the_role_grants() -> None:
    needed, given = set(needs(CAPABILITIES, SETTINGS)), granted("growth", "growth-queue")
    assert sorted(map(str, needed - given)) == [], "needed and not granted"
    # One rule names both webhook configurations and both kinds of them, so each name is granted for each kind.
    crossed = {one for one in given - needed if one.permission.resource.endswith("webhookconfigurations")}
    assert len(crossed) == 4
    assert sorted(map(str, given - needed - crossed)) == [], "granted and not needed"


def test_memory_alone_needs_nothing_of_pods_or_pools() -> None:
    (memory,) = chosen(["memory"])
    resources = {one.permission.resource for one in needs_of(memory, SETTINGS)}
    assert resources == {"nodes", "configmaps", "leases", "events"}


def test_permissions_follow_the_namespaces_of_the_settings() -> None:
    moved = Settings(namespace="elsewhere")
    (registry,) = chosen(["registry"])
    spaces = {one.namespace for one in needs_of(registry, moved)}
    assert spaces == {"", "elsewhere"}


def test_permission_names_every_capability_that_needs_it() -> None:
    found = needs(CAPABILITIES, SETTINGS)
    assert found[ScopedPermission(Permission("", "nodes", "delete"))] == ("failover", "shrink")
    assert found[ScopedPermission(Permission("growth.dev", "nodemoves", "delete"))] == ("consolidate",)
