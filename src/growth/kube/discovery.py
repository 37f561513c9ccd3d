"""What a server serves: the resources of one group and version, as discovery shows them to every authenticated user."""

import asyncio
from collections.abc import Collection

import msgspec

from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.kube.transport import Method, Request


class _Resource(msgspec.Struct, frozen=True):
    name: str


class _Resources(msgspec.Struct, frozen=True):
    resources: tuple[_Resource, ...] = ()


_DECODER = msgspec.json.Decoder(_Resources)


async def served_resources(client: Client, group_versions: Collection[str]) -> frozenset[tuple[str, str]]:
    """Every (group/version, resource) of these that the server has. The core group's is ``v1``."""
    found = await asyncio.gather(*(_resources(client, one) for one in sorted(group_versions)))
    return frozenset(one for served in found for one in served)


async def _resources(client: Client, group_version: str) -> set[tuple[str, str]]:
    root = f"/apis/{group_version}" if "/" in group_version else f"/api/{group_version}"
    try:
        answer = await client.request(Request(Method.GET, root))
    except NotFound:
        return set()
    return {(group_version, one.name) for one in _DECODER.decode(answer.body).resources}
