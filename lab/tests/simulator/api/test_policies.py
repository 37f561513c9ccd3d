"""The chart's admission policies on the virtual API server; tests/cluster plays the same scenes on a real one."""

from typing import Any

import pytest

from growth.kube.errors import Invalid
from growth.run.shipped_manifests import shipped_policies
from growth_lab.scenarios.cleanup import POLICIES, POLICY_BINDINGS
from growth_lab.simulator.api.policies import CONDITIONS, MUTATIONS
from lab.tests.simulator.api.policy_scenes import SCENES, add_namespaces, install, is_in_force, play
from lab.tests.simulator.api.worlds import World, in_a_world


@pytest.mark.parametrize("name", SCENES)
def test_what_the_policies_make_of(name: str) -> None:
    async def on(world: World) -> Any:  # noqa: ANN401 - as the scene says it
        client = world.client()
        await add_namespaces(client)
        await install(client)
        return await play(client, 0, name)

    assert in_a_world(on) == SCENES[name][-1]


def test_a_policy_without_a_binding_does_nothing_and_neither_does_a_binding_without_a_policy() -> None:
    async def on(world: World) -> list[bool]:
        client, found = world.client(), list[bool]()
        await add_namespaces(client)
        await install(client)
        found.append(await is_in_force(client, "shop"))
        await client.delete(POLICIES, "growth-queue-jobs")
        found.append(await is_in_force(client, "shop"))
        await client.create(POLICIES, shipped_policies()[0])
        await client.delete(POLICY_BINDINGS, "growth-queue-jobs")
        found.append(await is_in_force(client, "shop"))
        return found

    assert in_a_world(on) == [True, False, False]


def test_a_policy_that_the_virtual_server_cannot_follow_is_refused() -> None:
    policy = shipped_policies()[0]
    other = {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}}

    async def on(world: World) -> None:
        await world.client().create(POLICIES, {**policy, "spec": {**policy["spec"], "mutations": [other]}})

    with pytest.raises(Invalid, match=r"spec\.mutations.*Object\{\}.*policies that Growth ships"):
        in_a_world(on)


def test_every_expression_of_the_chart_is_known_and_no_other() -> None:
    specs = [policy["spec"] for policy in shipped_policies() if "mutations" in policy["spec"]]
    mutations = [one["applyConfiguration"]["expression"] for spec in specs for one in spec["mutations"]]
    conditions = [one["expression"] for spec in specs for one in spec.get("matchConditions", ())]
    assert {" ".join(one.split()) for one in mutations} == set(MUTATIONS)
    assert {" ".join(one.split()) for one in conditions} == set(CONDITIONS)
