"""Which providers are installed, and how to open one.

A provider is an entry point of the group ``growth.providers``: a name, and a function that opens it. So a third party
ships one as a package of its own; those that come with Growth are found in the same way.
"""

import difflib
from collections.abc import Callable, Mapping
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from importlib.metadata import entry_points
from typing import Final, cast

from growth.cloud.errors import Invalid
from growth.cloud.provider import Provider
from growth.kube.client import Client

# Options of providers that settings of Growth stand for.
CLUSTER_OPTION: Final = "clusterName"
TOKEN_SECRET_OPTION: Final = "tokenSecret"  # noqa: S105 - the name of an option
ENDPOINT_OPTION: Final = "endpoint"
CATALOGUE_EVERY_OPTION: Final = "catalogueEvery"
CATALOGUE_OPTION: Final = "catalogue"

GROUP: Final = "growth.providers"


@dataclass(frozen=True, slots=True)
class ProviderEnvironment:
    """What a provider finds where it is opened."""

    client: Client
    """The cluster, for those that keep something there; under a lease its writes are fenced."""

    namespace: str
    """Where Growth keeps its own objects."""

    now: Callable[[], datetime]
    options: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the settings say about this provider."""

    is_looking: bool = False
    """Whether somebody only wants to know what it sells and has: then nothing may be changed on its behalf."""


OpenProvider = Callable[[ProviderEnvironment], AbstractAsyncContextManager[Provider]]
"""Opens a provider; connections and whatever else it needs live as long as the context."""


def installed_providers() -> list[str]:
    """The names of all providers that are installed here."""
    return sorted({point.name for point in entry_points(group=GROUP)})


def find_provider(name: str) -> OpenProvider:
    """The function that opens this provider; raises Invalid, for an unknown name with those that exist."""
    for point in entry_points(group=GROUP, name=name):
        try:
            return cast("OpenProvider", point.load())
        except (ImportError, AttributeError) as error:
            raise Invalid(f"the provider {name!r} is installed, but {point.value} cannot be loaded: {error}") from error
    known = installed_providers()
    close = difflib.get_close_matches(name, known, 1, 0.5)
    hint = f"the closest is {close[0]}" if close else f"installed are {', '.join(known) or 'none'}"
    raise Invalid(f"there is no provider {name!r}: {hint}")


def check_options(provider: str, options: Mapping[str, str], known: tuple[str, ...]) -> None:
    """Refuse options that this provider does not have, with the closest that it has."""
    for name in options:
        if name not in known:
            close = difflib.get_close_matches(name, known, 1, 0.5)
            hint = f"the closest is {close[0]}" if close else f"it has {', '.join(known) or 'none'}"
            raise Invalid(f"the provider {provider!r} has no option {name!r}: {hint}")
