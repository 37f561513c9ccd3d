"""How Growth opens the provider of played machines: with a catalogue, and the cloud that plays them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

from growth.cloud.errors import Invalid
from growth.cloud.kwok.catalog import Catalog, CatalogError, read_catalogue, shipped_catalogue
from growth.cloud.kwok.machine_controller import MachineController
from growth.cloud.kwok.provider import KwokProvider
from growth.cloud.kwok.provider_errors import as_provider_errors
from growth.cloud.plugins import CATALOGUE_OPTION, ProviderEnvironment, check_options


@asynccontextmanager
async def open_kwok(surroundings: ProviderEnvironment) -> AsyncGenerator[KwokProvider]:
    """Played machines for as long as the context lasts. The option ``catalogue`` is a file; unset, the shipped one.
    For those who only look nothing is played: that is up to whoever buys them.

    If the machines cannot be played (a right is missing, say), the context ends with that error.
    """
    check_options("kwok", surroundings.options, (CATALOGUE_OPTION,))
    path = surroundings.options.get(CATALOGUE_OPTION)
    catalogue = catalogue_from_file(Path(path)) if path else shipped_catalogue("kwok")
    client, namespace, now = surroundings.client, surroundings.namespace, surroundings.now
    if surroundings.is_looking:
        yield KwokProvider(client, namespace, catalogue, now)
        return
    try:
        async with asyncio.TaskGroup() as tasks:
            cloud = tasks.create_task(_play(MachineController(client, namespace, now)), name="played cloud")
            yield KwokProvider(client, namespace, catalogue, now)
            cloud.cancel()
    except ExceptionGroup as group:
        raise group.exceptions[0] from None


async def _play(cloud: MachineController) -> None:
    with as_provider_errors("playing machines"):
        await cloud.run()


def catalogue_from_file(path: Path) -> Catalog:
    """The catalogue in this file; raises Invalid with everything that is wrong in it."""
    try:
        return read_catalogue(path.read_text(encoding="utf-8"), file_name=path.name)
    except OSError as error:
        raise Invalid(f"the catalogue {path} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise Invalid(f"the catalogue {path} cannot be read: it is no UTF-8 text ({error.reason})") from error
    except CatalogError as error:
        raise Invalid(str(error)) from error
