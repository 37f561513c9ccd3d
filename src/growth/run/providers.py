"""Which providers the settings name, and how each is opened."""

from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from datetime import datetime

from growth.api.duration import format_duration
from growth.api.settings.model import Settings
from growth.cloud.finding import Surroundings, find_provider
from growth.cloud.hetzner.options import (
    CATALOGUE_EVERY_OPTION,
    CLUSTER_OPTION,
    ENDPOINT_OPTION,
    TOKEN_SECRET_OPTION,
)
from growth.cloud.kwok.opening import CATALOGUE_OPTION
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.run.clouds import OpenProvider


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
        return open_there(Surroundings(client, settings.namespace, now, options, is_looking))

    return open_with
