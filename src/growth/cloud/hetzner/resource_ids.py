"""Numbers of things that were named: asked for once, and remembered for a while, whoever wants to know.

What a pool names, as numbers: images by name, id or label selector; networks and firewalls by name or id.
"""

import asyncio
import re
from collections.abc import Awaitable, Callable, Hashable
from typing import Final

from growth.cloud.errors import Invalid
from growth.cloud.hetzner.api_client import Api
from growth.cloud.hetzner.provider_errors import NOT_FOUND, ApiRefused
from growth.cloud.hetzner.wire import Image, Named, read

# So long a name that now means something else goes on meaning what it meant.
_KEPT_SECONDS: Final = 600.0


class CachedAnswers:
    """Answers by question. What could not be answered is not remembered."""

    def __init__(self, clock: Callable[[], float]) -> None:
        self._clock = clock
        self._known: dict[Hashable, tuple[int, float]] = {}
        self._asking: dict[Hashable, asyncio.Lock] = {}

    async def get(self, question: Hashable, ask: Callable[[], Awaitable[int]]) -> int:
        """The answer; of many who ask at once, one goes, and the others wait for it."""
        async with self._asking.setdefault(question, asyncio.Lock()):
            answer, until = self._known.get(question, (0, 0.0))
            if self._clock() >= until:
                answer = await ask()
                self._known[question] = (answer, self._clock() + _KEPT_SECONDS)
            return answer

    def forget(self) -> None:
        """All of it: something that is remembered may be gone."""
        self._known.clear()


# Names of images have none of these, and no label selector can do without.
_SELECTOR: Final = re.compile(r"[=!(),\s]")
_ARCHITECTURES: Final = {"amd64": "x86", "arm64": "arm"}


class ResourceIds:
    """Asks once for each name, and again after a while."""

    def __init__(self, api: Api, clock: Callable[[], float]) -> None:
        self._api = api
        self._remembered = CachedAnswers(clock)

    def forget(self) -> None:
        """Something that was named may be gone: ask again."""
        self._remembered.forget()

    async def image(self, named: str, arch: str, pool: str) -> int:
        """The image for machines of this architecture: the newest, if a selector fits several. Raises Invalid."""
        if not named:
            raise Invalid(
                f"NodePool {pool}: spec.machine.image is empty: expected an image's name such as debian-13, its id, "
                "or a label selector"
            )
        architecture = _ARCHITECTURES.get(arch, arch)
        return await self._remembered.get(
            ("images", named, architecture), lambda: self._asked_image(named, architecture, pool)
        )

    async def network(self, named: str, pool: str) -> int:
        """Raises Invalid."""
        return await self._number("networks", named, f"NodePool {pool}: spec.machine.network")

    async def firewalls(self, named: tuple[str, ...], pool: str) -> list[int]:
        """Raises Invalid."""
        where = f"NodePool {pool}: spec.machine.firewalls"
        return [await self._number("firewalls", one, f"{where}[{index}]") for index, one in enumerate(named)]

    async def _asked_image(self, named: str, architecture: str, pool: str) -> int:
        where = f"NodePool {pool}: spec.machine.image is {named!r}"
        if named.isdecimal():
            return await self._checked_image(int(named), architecture, where)
        query: dict[str, str | list[str]] = {
            "architecture": architecture,
            "include_deprecated": "true",
            "status": "available",
            "sort": ["created:desc", "id:desc"],
        }
        query["label_selector" if _SELECTOR.search(named) else "name"] = named
        answer = await self._api.ask("GET", "/images", query=query)
        found = read(answer.get("images"), list[Image], "GET /images")
        if not found:
            raise Invalid(f"{where}: there is no such image for {architecture}")
        return found[0].id

    async def _checked_image(self, number: int, architecture: str, where: str) -> int:
        try:
            answer = await self._api.ask("GET", f"/images/{number}")
        except ApiRefused as refused:
            if refused.code == NOT_FOUND:
                raise Invalid(f"{where}: there is no such image") from None
            raise
        image = read(answer.get("image"), Image, "GET /images")
        if image.architecture != architecture:
            raise Invalid(f"{where}: it is for {image.architecture}: expected one for {architecture}")
        return image.id

    async def _number(self, kind: str, named: str, where: str) -> int:
        if named.isdecimal():
            return int(named)

        async def ask() -> int:
            answer = await self._api.ask("GET", f"/{kind}", query={"name": named})
            found = read(answer.get(kind), list[Named], f"GET /{kind}")
            if not found:
                raise Invalid(f"{where} is {named!r}: the project has none of this name")
            return found[0].id

        return await self._remembered.get((kind, named), ask)
