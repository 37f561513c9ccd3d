"""What the API answers, as far as we read it. Unknown fields are skipped, so that new ones break nothing.

The official client has classes for all of this, too. They are not used: some crash on a field that is new or missing,
and reading an attribute of a half-filled one asks the API, blocking and unseen.
"""

from datetime import datetime
from typing import TypeVar

import msgspec

from growth.cloud.errors import Unavailable

T = TypeVar("T")


class Wire(msgspec.Struct, frozen=True, gc=False):
    """Read only, and never sent back."""


class Named(Wire, frozen=True):
    """Something with a number and, mostly, a name."""

    id: int
    name: str | None = None


class Amount(Wire, frozen=True):
    """Money: a decimal number of up to 16 places, in the account's currency."""

    net: str


class Price(Wire, frozen=True):
    """What something costs in one place."""

    location: str
    price_hourly: Amount
    price_monthly: Amount


class Deprecation(Wire, frozen=True):
    """From when on something should not, and from when on it cannot be bought."""

    announced: datetime
    unavailable_after: datetime


class Location(Wire, frozen=True):
    """A location in which a type is sold, or was."""

    name: str
    available: bool = True
    deprecation: Deprecation | None = None


class WireServerType(Wire, frozen=True):
    """A kind of server."""

    id: int
    name: str
    cores: int
    memory: float
    """GB, as advertised."""

    disk: float
    """GB."""

    architecture: str
    prices: tuple[Price, ...] = ()
    locations: tuple[Location, ...] = ()


class AddressPrices(Wire, frozen=True):
    """What a public address costs; ``type`` is ipv4 or ipv6."""

    type: str
    prices: tuple[Price, ...] = ()


class Pricing(Wire, frozen=True):
    """The only answer that names the currency."""

    currency: str
    primary_ips: tuple[AddressPrices, ...] = ()


class Protection(Wire, frozen=True):
    """What nobody may do to it."""

    delete: bool = False


class PlacementGroup(Wire, frozen=True):
    """A placement group, with the ids of the servers in it."""

    id: int
    name: str
    servers: tuple[int, ...] = ()
    labels: dict[str, str] = {}


class Server(Wire, frozen=True):
    """A server."""

    id: int
    name: str
    status: str
    created: datetime
    labels: dict[str, str]
    server_type: Named
    location: Named | None = None
    locked: bool = False
    """Whether an action runs that wants it for itself."""

    protection: Protection = Protection()
    placement_group: PlacementGroup | None = None


class ActionError(Wire, frozen=True):
    """Why an action failed."""

    code: str
    message: str


class Action(Wire, frozen=True):
    """Work that takes time."""

    id: int
    command: str
    status: str
    error: ActionError | None = None


class Created(Wire, frozen=True):
    """A server that is on its way, and what is under way about it."""

    server: Server
    action: Action
    next_actions: tuple[Action, ...] = ()

    @property
    def actions(self) -> tuple[Action, ...]:
        """All of them."""
        return (self.action, *self.next_actions)


class Image(Wire, frozen=True):
    """What a server boots."""

    id: int
    architecture: str
    status: str = "available"


class Field(Wire, frozen=True):
    """A field of what was sent, or a limit."""

    name: str


class WireErrorDetails(Wire, frozen=True):
    """What is wrong with what was sent, or which limits of the account it would pass."""

    fields: tuple[Field, ...] = ()
    limits: tuple[Field, ...] = ()


class Pagination(Wire, frozen=True):
    """How far a list has come."""

    next_page: int | None = None
    total_entries: int | None = None


class Meta(Wire, frozen=True):
    """Beside a list."""

    pagination: Pagination = Pagination()


def read(answer: object, wanted: type[T], what: str) -> T:
    """An answer, or a part of one, as it should be; raises Unavailable for one that cannot be read."""
    try:
        return msgspec.convert(answer, wanted)
    except msgspec.ValidationError as error:
        # What was asked for may have been done: only the answer is strange.
        raise Unavailable(f"{what}: the answer cannot be read: {error}", may_have_acted=True) from error
