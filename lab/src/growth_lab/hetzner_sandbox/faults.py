"""What goes wrong, on order: as Python objects, or as JSON with ``kind`` (see ``control``).

    sandbox.order(SoldOut(server_type="cax11", location="fsn1"))
    sandbox.order(Lost(method="POST", path="/servers"))            # the next create works, and its answer is lost
    sandbox.order(Refuse(code="server_error", times=3))            # the next three calls, whichever

Some are a state and stay until all faults are cleared (``SoldOut``, ``Quota``, ``CutOff``), some happen at once and
leave nothing to clear (``RateLimit``, ``Vanish``, ``PowerCut``), the others wait for the calls or actions that they
fit.
"""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase
from typing import Annotated, Final

import msgspec

from growth_lab.hetzner_sandbox.api_errors import STATUS
from growth_lab.hetzner_sandbox.locations import LOCATIONS
from growth_lab.hetzner_sandbox.messages import Request
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES

COMMANDS: Final = frozenset(
    (
        "create_server",
        "start_server",
        "stop_server",
        "shutdown_server",
        "reboot_server",
        "reset_server",
        "delete_server",
        "change_server_type",
        "change_protection",
        "create_image",
        "attach_to_network",
        "detach_from_network",
        "add_to_placement_group",
        "remove_from_placement_group",
        "apply_firewall",
        "remove_firewall",
        "set_firewall_rules",
        "create_volume",
        "attach_volume",
        "detach_volume",
        "resize_volume",
        "add_subnet",
        "delete_subnet",
    )
)
"""Everything that the sandbox takes time for."""

_Count = Annotated[int, msgspec.Meta(ge=0)]
_AtLeastOne = Annotated[int, msgspec.Meta(ge=1)]


def _check_known(field: str, text: str, known: Iterable[str]) -> None:
    names = list(known)
    if not any(fnmatchcase(name, text.lower()) for name in names):
        raise ValueError(f"{field} {text!r} is not there: expected one of {', '.join(names)}, or *")


class _Order(msgspec.Struct, frozen=True, tag_field="kind", forbid_unknown_fields=True, kw_only=True):
    """Anything that can be ordered."""


class SoldOut(_Order, frozen=True, tag="sold_out"):
    """Few or none are left of a type, in one place or everywhere (``*`` is any); what is deleted does not come back."""

    server_type: str
    location: str = "*"
    left: Annotated[int, msgspec.Meta(ge=0)] = 0
    is_listed: bool = False
    """Whether the list of types goes on saying that it is available, which is a hint and no promise."""

    def __post_init__(self) -> None:
        _check_known("server_type", self.server_type, [one.name for one in SERVER_TYPES.values()])
        _check_known("location", self.location, LOCATIONS)

    def is_about(self, server_type: str, location: str) -> bool:
        """Whether this type in this place is meant."""
        return fnmatchcase(server_type, self.server_type.lower()) and fnmatchcase(location, self.location.lower())


class Quota(_Order, frozen=True, tag="quota"):
    """How much the account may have; None is no limit."""

    servers: int | None = None
    dedicated_cores: int | None = None


class RateLimit(_Order, frozen=True, tag="rate_limit"):
    """So many calls are left from now on; they come back one each second, as always."""

    left: int = 0


class Vanish(_Order, frozen=True, tag="vanish"):
    """A server is gone, and nobody asked for it. ``server`` is its name or id."""

    server: str


class PowerCut(_Order, frozen=True, tag="power_cut"):
    """A server is off, and nobody asked for it."""

    server: str


class CutOff(_Order, frozen=True, tag="cut_off"):
    """Servers run, and nothing gets from them to the cluster: a partition, or user data that does not work.

    Hetzner knows nothing of it. With ``--boot kwok`` their nodes fall silent, or never come.
    """

    server: str = "*"
    """By name; those that do not exist yet are meant, too."""

    location: str = "*"
    server_type: str = "*"
    """Of this type: an image or user data may work on others."""

    def __post_init__(self) -> None:
        _check_known("location", self.location, LOCATIONS)
        _check_known("server_type", self.server_type, [one.name for one in SERVER_TYPES.values()])

    def is_about(self, name: str, location: str, server_type: str) -> bool:
        """Whether this server is meant."""
        pairs = ((name.lower(), self.server), (location, self.location), (server_type.lower(), self.server_type))
        return all(fnmatchcase(text, pattern.lower()) for text, pattern in pairs)


class _OfCalls(_Order, frozen=True, kw_only=True):
    """Fits calls by method and path (without ``/v1``); ``*`` is anything. The first ``skip`` are spared."""

    method: str = "*"
    path: str = "*"
    skip: _Count = 0
    times: _AtLeastOne = 1

    def fits(self, request: Request) -> bool:
        """Whether this call is meant."""
        path = request.path.removeprefix("/v1")
        return fnmatchcase(request.method, self.method.upper()) and fnmatchcase(path, self.path)


class Refuse(_OfCalls, frozen=True, kw_only=True, tag="refuse"):
    """The answer is an error: any code of the API, such as ``server_error``, ``unavailable`` or ``placement_error``."""

    code: str
    message: str = "ordered by the sandbox"
    works: bool = False
    """Whether the work is done nevertheless, and only the answer says otherwise."""

    is_plain: bool = False
    """Whether a text comes instead of JSON, as from a proxy in between."""

    def __post_init__(self) -> None:
        if self.code not in STATUS:
            raise ValueError(f"code {self.code!r} is no error of the API: expected one of {', '.join(sorted(STATUS))}")


class Slow(_OfCalls, frozen=True, kw_only=True, tag="slow"):
    """The work is done, and its answer takes long."""

    seconds: Annotated[float, msgspec.Meta(ge=0)]


class Lost(_OfCalls, frozen=True, tag="lost"):
    """The connection is closed without an answer."""

    works: bool = True
    """Whether the work was done."""


class ActionFails(_Order, frozen=True, tag="action_fails"):
    """An action that begins from now on fails half-way, such as ``create_server`` or ``start_server``."""

    command: str
    code: str = "action_failed"
    message: str = "ordered by the sandbox"
    skip: _Count = 0
    times: _AtLeastOne = 1

    def __post_init__(self) -> None:
        if self.command not in COMMANDS:
            raise ValueError(f"command {self.command!r} is no action: expected one of {', '.join(sorted(COMMANDS))}")


OfCalls = Refuse | Slow | Lost
Waiting = OfCalls | ActionFails
Fault = SoldOut | Quota | CutOff | RateLimit | Vanish | PowerCut | Refuse | Slow | Lost | ActionFails


class Orders:
    """The faults that wait for their calls and actions."""

    def __init__(self) -> None:
        self.waiting: list[Waiting] = []

    def taken(self, request: Request) -> Sequence[OfCalls]:
        """What happens to this call: at most one of each kind, in the order of their orders."""
        found: list[OfCalls] = []
        for kind in (Refuse, Slow, Lost):
            for order in [one for one in self.waiting if isinstance(one, kind)]:
                if order.fits(request) and self._uses_up(order):
                    found.append(order)
                    break
        return found

    def failing(self, command: str) -> ActionFails | None:
        """What becomes of an action that begins now."""
        for order in [one for one in self.waiting if isinstance(one, ActionFails)]:
            if order.command == command and self._uses_up(order):
                return order
        return None

    def _uses_up(self, order: Waiting) -> bool:
        """Count one that fits; gives whether it happens to this one."""
        place = next(index for index, one in enumerate(self.waiting) if one is order)
        if order.skip > 0:
            self.waiting[place] = msgspec.structs.replace(order, skip=order.skip - 1)
            return False
        if order.times > 1:
            self.waiting[place] = msgspec.structs.replace(order, times=order.times - 1)
        else:
            del self.waiting[place]
        return True
