"""What the settings say about this provider, and what of it cannot be.

Their names are those of the section ``hetzner`` of the settings.

How Growth opens the provider of servers at Hetzner.
"""

import asyncio
from collections.abc import AsyncGenerator, Callable, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.duration import DurationError, parse_duration
from growth.api.labels import is_hostname
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.api_client import Api, Connect, Run, Threads, connect_to
from growth.cloud.hetzner.provider import HetznerProvider
from growth.cloud.hetzner.rate_budget import RateBudget
from growth.cloud.hetzner.secrets import ReadToken, token_from_environment, token_from_secret
from growth.cloud.hetzner.user_data import Renderer
from growth.cloud.plugins import (
    CATALOGUE_EVERY_OPTION,
    CLUSTER_OPTION,
    ENDPOINT_OPTION,
    TOKEN_SECRET_OPTION,
    ProviderEnvironment,
    check_options,
)

_NAMES: Final = (CLUSTER_OPTION, TOKEN_SECRET_OPTION, ENDPOINT_OPTION, CATALOGUE_EVERY_OPTION)

_ENDPOINT: Final = "https://api.hetzner.cloud/v1"
_CATALOGUE_EVERY: Final = "10m"


class HetznerOptions(msgspec.Struct, frozen=True):
    """How this provider is set up."""

    cluster: str
    token_secret: str = ""
    """Name of the Secret; empty is the environment."""

    endpoint: str = _ENDPOINT
    catalogue_every: timedelta = timedelta(minutes=10)


def options_from(given: Mapping[str, str]) -> HetznerOptions:
    """Read and check them; raises Invalid, which names the option, its value and what was expected."""
    check_options("hetzner", given, _NAMES)
    cluster = given.get(CLUSTER_OPTION, "")
    if not is_hostname(cluster):
        raise _not_possible(CLUSTER_OPTION, cluster, "a name of up to 63 small letters, digits and '-'")
    endpoint = given.get(ENDPOINT_OPTION, _ENDPOINT)
    if not endpoint.startswith(("https://", "http://")) or endpoint.endswith("/"):
        raise _not_possible(ENDPOINT_OPTION, endpoint, "an http or https address without a slash at its end")
    every = given.get(CATALOGUE_EVERY_OPTION, _CATALOGUE_EVERY)
    try:
        catalogue_every = parse_duration(every)
    except DurationError as error:
        raise _not_possible(CATALOGUE_EVERY_OPTION, every, "a duration such as 10m") from error
    if catalogue_every <= timedelta(0):
        raise _not_possible(CATALOGUE_EVERY_OPTION, every, "a duration above zero")
    return HetznerOptions(cluster, given.get(TOKEN_SECRET_OPTION, ""), endpoint, catalogue_every)


def _not_possible(name: str, value: str, expected: str) -> Invalid:
    return Invalid(f"hetzner.{name}: {value!r} is not possible: expected {expected}")


@asynccontextmanager
async def open_hetzner(surroundings: ProviderEnvironment) -> AsyncGenerator[HetznerProvider]:
    """Servers at Hetzner, for as long as the context lasts. Raises Invalid for options that cannot be."""
    threads = Threads()
    try:
        async with opened(surroundings, threads, connect_to) as provider:
            yield provider
    finally:
        threads.close()


@asynccontextmanager
async def opened(
    surroundings: ProviderEnvironment, run: Run, connect_to: Callable[[str, RateBudget], Connect]
) -> AsyncGenerator[HetznerProvider]:
    """The same, where calls are run by somebody else, on clients of somebody else: a sandbox in this process, say."""
    options = options_from(surroundings.options)
    budget = RateBudget(asyncio.get_running_loop().time)
    api = Api(connect_to(options.endpoint, budget), _token(options, surroundings), budget, run)
    renderer = Renderer(surroundings.client, surroundings.namespace, options.cluster, surroundings.now)
    provider = HetznerProvider(api, options.cluster, renderer, surroundings.now, options.catalogue_every)
    try:
        yield provider
    finally:
        await provider.close()


def _token(options: HetznerOptions, surroundings: ProviderEnvironment) -> ReadToken:
    if options.token_secret:
        return token_from_secret(surroundings.client, surroundings.namespace, options.token_secret)
    return token_from_environment()
