"""Where scripts are played: on a virtual API server, and on a real one."""

import asyncio
import secrets

from growth.api.kinds import NAMESPACES
from growth.kube.client import Client
from growth.kube.transport import Method, Request
from growth_lab.simulator.api.rbac import ADMIN
from growth_lab.simulator.served_kinds import CONFIG_MAPS
from growth_lab.simulator.served_kinds import NAMESPACES as SPACES
from lab.tests.simulator.api.scripts.player import Json, Script, play
from lab.tests.simulator.api.worlds import World, in_a_world

REAL_CONTROLLERS = (
    "namespace-controller,serviceaccount-controller,serviceaccount-token-controller,"
    "root-ca-certificate-publisher-controller"
)
"""Those that a namespace needs before pods can be made in it; all others would answer the scripts, too."""

# What these controllers put into every namespace before a script begins.
_GIVEN = ("serviceaccounts/default", "configmaps/kube-root-ca.crt")


def play_virtually(script: Script) -> list[Json]:
    """The virtual server's answers."""

    async def on(world: World) -> list[Json]:
        world.store.create(SPACES, {"metadata": {"name": "script-space"}})
        world.store.create(CONFIG_MAPS, {"metadata": {"name": "kube-root-ca.crt", "namespace": "script-space"}})
        return await play(world.server.connect(ADMIN), script, "script-space", "script-suffix")

    return in_a_world(on)


async def play_for_real(client: Client, script: Script) -> list[Json]:
    """The real server's answers, in a namespace of the script's own."""
    suffix = secrets.token_hex(4)
    namespace = f"script-{suffix}"
    await client.create(NAMESPACES, {"metadata": {"name": namespace}})
    async with asyncio.timeout(30):
        while not await _is_furnished(client, namespace):  # noqa: ASYNC110 - a server in another process
            await asyncio.sleep(0.05)
    answers = await play(client.transport, script, namespace, f"x{suffix}")
    await client.delete(NAMESPACES, namespace)
    return answers


async def _is_furnished(client: Client, namespace: str) -> bool:
    paths = [f"/api/v1/namespaces/{namespace}/{given}" for given in _GIVEN]
    answers = [await client.transport.send(Request(Method.GET, path)) for path in paths]
    return all(answer.status == 200 for answer in answers)
