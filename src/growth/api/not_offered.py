"""Server types that people name and no provider offers through its API: why, and what to name instead.

Hetzner's API lists a withdrawn type for a while with its deprecation (``Offering.withdrawn``), and then not at all; it
never lists dedicated servers. So that a pool that names one gets more than "unknown", they stand here. The types of the
provider kwok are Hetzner's, so they hold for both.
"""

from collections.abc import Mapping
from datetime import date
from typing import Final

from growth.api.meta import FrozenValue

_PROVIDERS: Final = ("hetzner", "kwok")


class NotOffered(FrozenValue, frozen=True):
    """One server type. It was withdrawn on a day, or is none of the cloud's and never was."""

    withdrawn_on: date | None = None
    successor: str = ""
    """The type of the same size that is offered now, or the next larger one."""


_FIRST_CX_ENDED: Final = date(2024, 9, 6)
_SECOND_CX_ENDED: Final = date(2026, 1, 1)
_TYPES: Final[Mapping[str, NotOffered]] = {
    "cx11": NotOffered(_FIRST_CX_ENDED, "cx23"),
    "cx21": NotOffered(_FIRST_CX_ENDED, "cx23"),
    "cx31": NotOffered(_FIRST_CX_ENDED, "cx33"),
    "cx41": NotOffered(_FIRST_CX_ENDED, "cx43"),
    "cx51": NotOffered(_FIRST_CX_ENDED, "cx53"),
    "cx22": NotOffered(_SECOND_CX_ENDED, "cx23"),
    "cx32": NotOffered(_SECOND_CX_ENDED, "cx33"),
    "cx42": NotOffered(_SECOND_CX_ENDED, "cx43"),
    "cx52": NotOffered(_SECOND_CX_ENDED, "cx53"),
    "gex44": NotOffered(),
}


def not_offered(provider: str, server_type: str) -> NotOffered | None:
    """What is known of a type that the provider does not list; None if nothing is."""
    return _TYPES.get(server_type.lower()) if provider in _PROVIDERS else None


def withdrawn_types() -> Mapping[str, NotOffered]:
    """Those that were withdrawn, by name."""
    return {name: one for name, one in _TYPES.items() if one.withdrawn_on is not None}
