"""The providers of one term of leadership: opened, asked again and again, and told to the World.

A provider that cannot be opened or does not answer is a fact like any other: it is told, and tried again. It must not
stop those that do answer, so each has a task of its own. However often one is opened anew, it is asked no more often
than was agreed: rate limits of providers are low.

Which providers the settings name, and how each is opened.
"""

import asyncio
import logging
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Final

import msgspec

from growth.api.duration import format_duration
from growth.api.provider_state import NOT_ASKED, ProviderState
from growth.api.settings.model import Settings
from growth.cloud.errors import ProviderError, RateLimited, Unavailable
from growth.cloud.plugins import (
    CATALOGUE_EVERY_OPTION,
    CATALOGUE_OPTION,
    CLUSTER_OPTION,
    ENDPOINT_OPTION,
    TOKEN_SECRET_OPTION,
    ProviderEnvironment,
    find_provider,
)
from growth.cloud.provider import Provider
from growth.kube.client import Client

_LOG: Final = logging.getLogger(__name__)

# Between two attempts to open a provider, doubling from the first to the last.
_FIRST_PAUSE_SECONDS: Final = 1.0
_LONGEST_PAUSE_SECONDS: Final = 60.0
# A question that has no answer after so long has none. Lists of thousands of machines are read page by page.
_PATIENCE_SECONDS: Final = 60.0

OpenProvider = Callable[[Client], AbstractAsyncContextManager[Provider]]
"""Opens one provider, with the client whose writes the term allows."""


class ProviderPoller:
    """Who has machines. ``providers`` are those that are open now."""

    def __init__(
        self,
        open_by_name: Mapping[str, OpenProvider],
        *,
        every_seconds: float,
        tell: Callable[[ProviderState], None],
        now: Callable[[], datetime],
    ) -> None:
        self.providers: dict[str, Provider] = {}
        self._open_by_name = open_by_name
        self._every_seconds = every_seconds
        self._tell = tell
        self._now = now
        self._last = {name: ProviderState(name, problem=NOT_ASKED) for name in open_by_name}
        self._clock = asyncio.get_running_loop().time
        self._not_before = dict.fromkeys(open_by_name, 0.0)

    @asynccontextmanager
    async def following(self, client: Client) -> AsyncGenerator[None]:
        """As long as this lasts, all are asked regularly; nothing that one of them does ends it."""
        for cloud in self._last.values():
            self._tell(cloud)
        tasks = [
            asyncio.create_task(self._follow(name, opener, client), name=f"provider {name}")
            for name, opener in self._open_by_name.items()
        ]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
            if tasks:
                await asyncio.wait(tasks)

    async def _follow(self, name: str, opener: OpenProvider, client: Client) -> None:
        pause = _FIRST_PAUSE_SECONDS
        while True:
            try:
                async with opener(client) as provider:
                    self.providers[name] = provider
                    while True:
                        await asyncio.sleep(self._not_before[name] - self._clock())
                        await self._ask(name, provider)
                        pause = _FIRST_PAUSE_SECONDS
            except Exception as error:  # a mistake in one provider must not end the others
                self._note_problem(name, error)
            finally:
                self.providers.pop(name, None)
            if _is_cancelled():
                return  # the context failed while it was left, and hid that somebody wants us to end
            await asyncio.sleep(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

    async def _ask(self, name: str, provider: Provider) -> None:
        read_at, rest_seconds = self._now(), self._every_seconds
        try:
            async with asyncio.timeout(_PATIENCE_SECONDS):
                offerings, machines = await provider.offerings(), await provider.list()
        except TimeoutError:
            silence = f"there was no answer within {_PATIENCE_SECONDS:.0f} s"
            self._note_problem(name, Unavailable(silence, may_have_acted=False))
        except ProviderError as error:
            if isinstance(error, RateLimited):
                rest_seconds = max(rest_seconds, error.retry_after)
            self._note_problem(name, error)
        else:
            if self._last[name].problem:
                _LOG.info("the provider %s answers", name, extra={"facts": {"offerings": len(offerings)}})
            self._note(ProviderState(name, tuple(offerings), tuple(machines), read_at))
        finally:
            self._not_before[name] = self._clock() + rest_seconds

    def _note_problem(self, name: str, error: Exception) -> None:
        is_mistake = not isinstance(error, ProviderError)
        problem = f"{type(error).__name__}: {error}" if is_mistake or not str(error) else str(error)
        if self._last[name].problem != problem:
            _LOG.warning("the provider %s does not answer: %s", name, problem, exc_info=error if is_mistake else None)
        self._note(msgspec.structs.replace(self._last[name], problem=problem))

    def _note(self, cloud: ProviderState) -> None:
        self._last[cloud.provider] = cloud
        self._tell(cloud)


def _is_cancelled() -> bool:
    task = asyncio.current_task()
    return task is not None and task.cancelling() > 0


def open_providers(
    settings: Settings, now: Callable[[], datetime], *, is_looking: bool = False
) -> Mapping[str, OpenProvider]:
    """How to open each provider that is enabled; raises Invalid for one that is not installed, before any is opened.

    With ``is_looking`` nothing is changed by opening one.
    """
    return {name: _opener(name, settings, now, is_looking=is_looking) for name in settings.providers.names}


def options_of(provider: str, settings: Settings) -> dict[str, str]:
    """What the settings say about this provider; what is not set is not said, and the provider's own default holds."""
    match provider:
        case "kwok" if settings.kwok.catalogue:
            return {CATALOGUE_OPTION: settings.kwok.catalogue}
        case "hetzner":
            hetzner = settings.hetzner
            return {
                CLUSTER_OPTION: hetzner.cluster_name,
                TOKEN_SECRET_OPTION: hetzner.token_secret,
                ENDPOINT_OPTION: hetzner.endpoint,
                CATALOGUE_EVERY_OPTION: format_duration(hetzner.catalogue_every),
            }
        case _:
            return {}


def _opener(name: str, settings: Settings, now: Callable[[], datetime], *, is_looking: bool) -> OpenProvider:
    open_there, options = find_provider(name), options_of(name, settings)

    def open_with(client: Client) -> AbstractAsyncContextManager[Provider]:
        return open_there(ProviderEnvironment(client, settings.namespace, now, options, is_looking))

    return open_with
