"""The role that the chart ships, enforced as on a real server."""

from pathlib import Path
from typing import Any

import pytest
import yaml

from growth.api.kinds import CONFIG_MAPS, LEASES, PODS
from growth.api.kinds import NAMESPACES as NAMESPACE_KIND
from growth.kube.errors import Forbidden
from growth.kube.transport import Method, Request
from growth.kube.verbs import Permission
from growth_lab.simulator.api.error_responses import Refusal
from growth_lab.simulator.api.rbac import Roles, service_account
from growth_lab.simulator.served_kinds import NAMESPACES
from lab.tests.simulator.api.worlds import World, in_a_world

RBAC = Path(__file__).parents[4] / "charts" / "growth" / "rbac.yaml"
GROWTH = service_account("growth-system", "growth")


def shipped() -> list[dict[str, Any]]:
    return list(yaml.safe_load_all(RBAC.read_text()))


def test_what_the_role_grants_is_done_and_what_it_lacks_is_refused_by_name() -> None:
    async def play(world: World) -> None:
        world.store.create(NAMESPACES, {"metadata": {"name": "growth-system"}})
        client = world.client(GROWTH)
        assert (await client.list(PODS)).items == []
        await client.create(LEASES, {"metadata": {"name": "growth"}}, "growth-system")
        assert await client.server_version()
        with pytest.raises(Forbidden, match="the role lacks the verb 'delete' on namespaces") as refused:
            await client.delete(NAMESPACE_KIND, "any")
        assert refused.value.permission == Permission("", "namespaces", "delete")
        with pytest.raises(Forbidden, match=r'in API group "coordination.k8s.io" in the namespace "default"'):
            await client.create(LEASES, {"metadata": {"name": "growth"}}, "default")
        with pytest.raises(Forbidden, match="at the cluster scope"):
            await client.list(CONFIG_MAPS)

    in_a_world(play, roles=shipped())


def test_a_stranger_may_do_nothing() -> None:
    async def play(world: World) -> None:
        with pytest.raises(Forbidden, match='User "system:serviceaccount:default:default" cannot list resource "pods"'):
            await world.client(service_account("default", "default")).list(PODS)

    in_a_world(play, roles=shipped())


@pytest.mark.parametrize(
    ("rule", "is_allowed"),
    [
        ({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]}, True),
        ({"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"]}, True),
        ({"apiGroups": [""], "resources": ["pods"], "verbs": ["create"]}, False),
        ({"apiGroups": ["policy"], "resources": ["pods/eviction"], "verbs": ["create"]}, False),
        ({"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"], "resourceNames": ["web"]}, True),
        ({"apiGroups": [""], "resources": ["pods/eviction"], "verbs": ["create"], "resourceNames": ["db"]}, False),
    ],
)
def test_a_rule_allows_what_it_names(rule: dict[str, Any], is_allowed: bool) -> None:  # noqa: FBT001 - a table
    subjects = [{"kind": "ServiceAccount", "name": "growth", "namespace": "growth-system"}]
    roles = Roles(
        [
            {"kind": "ClusterRole", "metadata": {"name": "one"}, "rules": [rule]},
            {
                "kind": "RoleBinding",
                "metadata": {"name": "one", "namespace": "shop"},
                "roleRef": {"kind": "ClusterRole", "name": "one"},
                "subjects": subjects,
            },
        ]
    )
    request = Request(Method.POST, "/api/v1/namespaces/shop/pods/web/eviction")
    if is_allowed:
        roles.check(GROWTH, request)
    else:
        with pytest.raises(Refusal):
            roles.check(GROWTH, request)
    with pytest.raises(Refusal):
        roles.check(GROWTH, Request(Method.POST, "/api/v1/namespaces/other/pods/web/eviction"))


def test_a_binding_to_nothing_is_told_at_once() -> None:
    binding = {
        "kind": "ClusterRoleBinding",
        "metadata": {"name": "growth"},
        "roleRef": {"kind": "ClusterRole", "name": "grwth"},
    }
    with pytest.raises(ValueError, match="ClusterRoleBinding 'growth' refers to ClusterRole 'grwth', which none"):
        Roles([binding])


def test_a_rule_may_name_the_one_that_a_list_or_a_watch_is_about() -> None:
    roles, path = Roles(shipped()), "/apis/coordination.k8s.io/v1/leases"
    for selector, may in (("metadata.name=c1f6bfd2.kueue.x-k8s.io", True), ("metadata.name=other", False), ("", False)):
        request = Request(Method.GET, path, (("fieldSelector", selector),))
        if may:
            roles.check(GROWTH, request)
        else:
            with pytest.raises(Refusal):
                roles.check(GROWTH, request)
