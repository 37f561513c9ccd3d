"""From a recipe in a Secret to the node that registers: what was planned, closed, and let in by a token of its own."""

import msgspec
import pytest

from growth.api.machine import MachineRequest, request_for
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_pool import MachineTemplate as MachineSettings
from growth.api.node_pool import NodePool, NodePoolSpec, UserDataSecret
from growth.api.taints import closed
from growth.api.tolerations import NO_EXECUTE, Taint
from growth.cloud.errors import Invalid
from growth.decide.capacity.node_startup import StartupStep, arrival_of
from growth_lab.hetzner_sandbox.node_manifest import node_manifest
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.hetzner.rig import Rig
from tests.cloud.hetzner.virtual_start import ROOT, SECRET, VirtualStart

RECIPES = {path.stem: path.read_text(encoding="utf-8") for path in sorted((ROOT / "docs" / "recipes").iterdir())}
POOL = NodePool(
    ObjectMeta(name="web"),
    NodePoolSpec(
        labels={"disk": "ssd"},
        taints=(Taint("dedicated", "shop", NO_EXECUTE),),
        machine=MachineSettings(image="debian-13", user_data_secret=UserDataSecret(SECRET, "recipe")),
    ),
)


class Boot(Rig):
    """A project whose servers are told what stands in a Secret of a virtual cluster."""

    def __init__(self, recipe: str) -> None:
        super().__init__()
        self.cluster = VirtualStart({"recipe": recipe})
        self._renderer = self.cluster.renderer()

    async def render(self, request: MachineRequest) -> str:
        return await self._renderer.render(request)


@pytest.mark.parametrize("recipe", RECIPES)
def test_the_node_that_registers_is_the_one_that_was_planned(recipe: str) -> None:
    async def scene() -> None:
        boot = Boot(RECIPES[recipe])
        uid = boot.cluster.ask("web-1").uid
        async with boot.opened() as provider:
            offering = next(one for one in await provider.offerings() if one.id == "hetzner-cax11-fsn1")
            request = request_for("web-1", POOL, offering, uid=uid)
            machine = await provider.create(request)
        server = boot.server("web-1")
        node = msgspec.convert(node_manifest(server), Node)
        assert node.spec.provider_id == machine.provider_id
        assert node.spec.taints == (*POOL.spec.taints, closed("web-1"))
        assert arrival_of(node, request, POOL).step is StartupStep.NOT_READY, "no label is missing, and nothing else"
        (token,) = await boot.cluster.tokens()
        assert f"{token['token-id']}.{token['token-secret']}" in server.user_data

    run_virtually(scene())


def test_nothing_is_asked_of_hetzner_for_user_data_that_cannot_be_used() -> None:
    async def scene() -> None:
        boot = Boot("__GROWTH_LABLES__")
        async with boot.opened() as provider:
            offering = (await provider.offerings())[0]
            with pytest.raises(Invalid, match="there is no placeholder __GROWTH_LABLES__"):
                await provider.create(request_for("web-1", POOL, offering))
        assert boot.calls["POST /servers"] == 0
        assert boot.names == []

    run_virtually(scene())
