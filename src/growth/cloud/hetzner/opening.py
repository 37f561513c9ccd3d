"""How Growth opens the provider of servers at Hetzner."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager

from growth.cloud.finding import Surroundings
from growth.cloud.hetzner.budget import Budget
from growth.cloud.hetzner.calling import Api, Connect, Run, Threads, connect_to
from growth.cloud.hetzner.options import Options, options_from
from growth.cloud.hetzner.provider import HetznerProvider
from growth.cloud.hetzner.rendering import Renderer
from growth.cloud.hetzner.tokens import ReadToken, token_from_environment, token_from_secret


@asynccontextmanager
async def open_hetzner(surroundings: Surroundings) -> AsyncGenerator[HetznerProvider]:
    """Servers at Hetzner, for as long as the context lasts. Raises Invalid for options that cannot be."""
    threads = Threads()
    try:
        async with opened(surroundings, threads, connect_to) as provider:
            yield provider
    finally:
        threads.close()


@asynccontextmanager
async def opened(
    surroundings: Surroundings, run: Run, connect_to: Callable[[str, Budget], Connect]
) -> AsyncGenerator[HetznerProvider]:
    """The same, where calls are run by somebody else, on clients of somebody else: a sandbox in this process, say."""
    options = options_from(surroundings.options)
    budget = Budget(asyncio.get_running_loop().time)
    api = Api(connect_to(options.endpoint, budget), _token(options, surroundings), budget, run)
    renderer = Renderer(surroundings.client, surroundings.namespace, options.cluster, surroundings.now)
    provider = HetznerProvider(api, options.cluster, renderer, surroundings.now, options.catalogue_every)
    try:
        yield provider
    finally:
        await provider.close()


def _token(options: Options, surroundings: Surroundings) -> ReadToken:
    if options.token_secret:
        return token_from_secret(surroundings.client, surroundings.namespace, options.token_secret)
    return token_from_environment()
