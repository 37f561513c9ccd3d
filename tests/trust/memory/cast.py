"""People who label nodes, and a tiny model of what those nodes should be in the end.

Only keys of people count here. A node that returns is what it was when it last left with its marker; what it brings
itself loses against that, and stays where nothing is known about it.
"""

import asyncio
import json
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from typing import Final

from growth.api.kinds import NODES
from growth.api.node_memory import MEMORIES, TRANSACTIONS
from growth.api.settings.model import MemorySettings
from growth.kube.client import Client
from growth.kube.errors import Conflict, KubeError, NotFound, ServerTrouble, Unreachable
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.nodes import kwok_node, taint
from tests.trust.memoirs import MARKER

PEOPLES: Final = "example.com/"
"""What the keys of people begin with."""

_LOOK_SECONDS: Final = 0.1


class Cast:
    """Some nodes, and what people did to them. Each write is repeated until the server says what became of it."""

    def __init__(self, client: Client, prefix: str = "", *, patience: float = 60.0) -> None:
        self.client, self._prefix, self._patience = client, prefix, patience
        self.now: dict[str, dict[str, str]] = {}
        """What each node that is there should be, once it has its marker."""
        self.left: dict[str, dict[str, str]] = {}
        """What each node was when it left."""
        self.lost: dict[str, set[str]] = {}
        """Keys that people took away from it."""

    def full(self, name: str) -> str:
        """What a node is called in the cluster."""
        return self._prefix + name

    async def register(self, name: str, /, **labels: str) -> None:
        """A node comes, with some labels of its own, closed to pods."""
        brought = _keys(labels)
        body = kwok_node(self.full(name), labels=brought, taints=[taint("dedicated=other:NoSchedule")])
        await self._insist(lambda: self.client.create(NODES, body))
        kept = {key: value for key, value in brought.items() if key not in self.lost.get(name, ())}
        self.now[name] = {**kept, **self.left.get(name, {})}

    async def label(self, name: str, /, **labels: str | None) -> None:
        """Somebody labels a node, or takes labels away; one that waits for its memory is left alone until it has it."""
        await self.until_marked(name)
        changes = {f"{PEOPLES}{key}": value for key, value in labels.items()}
        patch = MergePatch({"metadata": {"labels": changes}})
        await self._insist(lambda: self.client.patch(NODES, self.full(name), patch))
        for key, value in changes.items():
            self.now[name].pop(key, None)
            if value is None:
                self.lost.setdefault(name, set()).add(key)
            else:
                self.now[name][key] = value
                self.lost.setdefault(name, set()).discard(key)

    async def unregister(self, name: str) -> None:
        """A node leaves, whether it had its marker or not: the model does not mind as long as it brought nothing."""
        await self._insist(lambda: self.client.delete(NODES, self.full(name)))
        await self.until(lambda: self._is_gone(name), f"{name} is gone")
        self.left[name] = self.now.pop(name)

    async def until_marked(self, *names: str) -> None:
        """Wait until these nodes, or all, have their memory back."""
        for name in names or tuple(self.now):
            await self.until(lambda name=name: self._is_marked(name), f"{name} has its marker")

    async def until_noted(self, name: str) -> None:
        """Wait until a checkpoint says what this node is."""

        async def is_noted() -> bool:
            try:
                found = await self.client.get(MEMORIES, self.full(name), MemorySettings().namespace)
            except NotFound:
                return False
            said = json.loads(found.data.checkpoint or "{}").get("labels", {})
            return _peoples(said) == self.now[name]

        await self.until(is_noted, f"{name} is noted as it is")

    async def until_done(self) -> None:
        """Wait until every transaction is dealt with; other ConfigMaps there are Kubernetes' own."""

        async def is_empty() -> bool:
            found = await self.client.list(TRANSACTIONS, MemorySettings().transaction_namespace)
            return not any(one.data.type for one in found.items)

        await self.until(is_empty, "all transactions are dealt with")

    async def until(self, look: Callable[[], Awaitable[bool]], what: str) -> None:
        """Wait until something is so."""
        try:
            async with asyncio.timeout(self._patience):
                while True:
                    with suppress(ServerTrouble, Unreachable):  # it may be away for a while
                        if await look():
                            return
                    await asyncio.sleep(_LOOK_SECONDS)
        except TimeoutError:
            raise AssertionError(f"within {self._patience:g} s it did not happen that {what}") from None

    async def check(self) -> None:
        """Raise unless every node is what it should be."""
        for name, expected in sorted(self.now.items()):
            found = await self._labels(name)
            there = _peoples(found)
            assert there == expected, f"{name} is {there}, and should be {expected}"

    async def _is_marked(self, name: str) -> bool:
        return MARKER in await self._labels(name)

    async def _is_gone(self, name: str) -> bool:
        return not await self._labels(name)

    async def _labels(self, name: str) -> dict[str, str]:
        try:
            return (await self.client.get(NODES, self.full(name))).metadata.labels
        except NotFound:
            return {}

    async def _insist(self, doing: Callable[[], Awaitable[object]]) -> None:
        """Again and again while the server is away. What was done meanwhile is done."""
        is_again = False
        while True:
            try:
                await doing()
            except (ServerTrouble, Unreachable):
                is_again = True
                await asyncio.sleep(_LOOK_SECONDS)
            except KubeError as error:
                if is_again and isinstance(error, NotFound | Conflict):
                    return
                raise
            else:
                return


def _peoples(labels: Mapping[str, str]) -> dict[str, str]:
    return {key: value for key, value in labels.items() if key.startswith(PEOPLES)}


def _keys(labels: Mapping[str, str]) -> dict[str, str]:
    return {f"{PEOPLES}{key}": value for key, value in labels.items()}
