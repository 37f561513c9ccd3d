"""What the settings say about this provider, and what of it cannot be.

Their names are those of the section ``hetzner`` of the settings.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.duration import DurationError, parse_duration
from growth.api.labels import is_hostname
from growth.cloud.errors import Invalid
from growth.cloud.finding import check_options

CLUSTER_OPTION: Final = "clusterName"
TOKEN_SECRET_OPTION: Final = "tokenSecret"  # noqa: S105 - the name of an option
ENDPOINT_OPTION: Final = "endpoint"
CATALOGUE_EVERY_OPTION: Final = "catalogueEvery"
_NAMES: Final = (CLUSTER_OPTION, TOKEN_SECRET_OPTION, ENDPOINT_OPTION, CATALOGUE_EVERY_OPTION)

_ENDPOINT: Final = "https://api.hetzner.cloud/v1"
_CATALOGUE_EVERY: Final = "10m"


class Options(msgspec.Struct, frozen=True):
    """How this provider is set up."""

    cluster: str
    token_secret: str = ""
    """Name of the Secret; empty is the environment."""

    endpoint: str = _ENDPOINT
    catalogue_every: timedelta = timedelta(minutes=10)


def options_from(given: Mapping[str, str]) -> Options:
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
    return Options(cluster, given.get(TOKEN_SECRET_OPTION, ""), endpoint, catalogue_every)


def _not_possible(name: str, value: str, expected: str) -> Invalid:
    return Invalid(f"hetzner.{name}: {value!r} is not possible: expected {expected}")
