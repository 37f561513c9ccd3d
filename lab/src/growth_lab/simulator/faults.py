"""What goes wrong between the product and the API server, on order and at random.

    faults = Faults(random.Random(seed))
    faults.order(Fault.LOST, verb="create", resource="nodes")     # the next one, once
    faults.rates = {Fault.TOO_MANY: 0.01, Fault.CUT: 0.1}          # shares of the requests that it fits
    faults.stop(40, "after", happen)                               # at the 40th send: raise, or cancel the product
    faults.is_on = False                     # from now on all is well, but for watches that are silent or about to be

Everything that was done stands in ``told``. Random faults take one number from the seed per request, whether or not
anything happens, so that one and the same run can be played again.
"""

import random
from collections.abc import Callable, Mapping
from enum import StrEnum
from typing import Final, Literal

import msgspec


class Fault(StrEnum):
    """How a request or a watch fails."""

    REFUSED = "no connection"
    TIMEOUT = "lost on the way there: no answer, no work"
    TOO_MANY = "429, with the wish to wait"
    CONFLICT = "409, although nothing changed"
    GONE = "410, although nothing is too old"
    INTERNAL = "500, without any work"
    UNAVAILABLE = "503, without any work"
    GATEWAY = "504, without any work"
    INTERNAL_AFTER = "500, after the work was done"
    LOST = "the work was done, its answer lost"
    LATE = "no answer in time, and the work was done later"
    SLOW = "the work was done, its answer takes long"
    CUT = "a watch whose connection breaks"
    SILENT = "a watch that says nothing any more, and does not end"
    SLOW_WATCH = "a watch that lags behind"
    RESTART = "the server is restarted, and away for a while"


_OF_WRITES: Final = (Fault.CONFLICT, Fault.LATE)
_OF_LISTS: Final = (Fault.GONE,)
_OF_WATCHES: Final = (Fault.CUT, Fault.SILENT, Fault.SLOW_WATCH)
_NOT_OF_WATCHES: Final = (Fault.SLOW, Fault.LOST, Fault.INTERNAL_AFTER)
# How long it takes unless the order says otherwise: from when on a watch fails, for how long an answer lingers.
_SECONDS: Final[Mapping[Fault, float]] = {
    Fault.LATE: 45.0,
    Fault.SLOW: 5.0,
    Fault.CUT: 20.0,
    Fault.SILENT: 20.0,
    Fault.SLOW_WATCH: 3.0,
    Fault.RESTART: 8.0,
    Fault.TOO_MANY: 1.0,
}


class Ask(msgspec.Struct, frozen=True):
    """A request, as faults see it."""

    user: str
    verb: str
    resource: str
    name: str
    at_seconds: float


class Order(msgspec.Struct):
    """A fault for requests that match: empty matches all, the first ``skip`` of them are spared."""

    fault: Fault
    verb: str
    resource: str
    user: str
    name: str
    skip: int
    times: int
    seconds: float

    def takes(self, ask: Ask) -> bool:
        """Whether this request is meant, and now."""
        wanted = (self.verb, self.resource, self.user, self.name)
        given = (ask.verb, ask.resource, ask.user, ask.name)
        if not self.times or any(one and one != other for one, other in zip(wanted, given, strict=True)):
            return False
        if self.skip:
            self.skip -= 1
            return False
        self.times -= 1
        return True


class Happened(msgspec.Struct, frozen=True):
    """A fault that was done."""

    ask: Ask
    fault: Fault
    seconds: float
    is_ordered: bool = False


class Stop(msgspec.Struct):
    """The product's own end: at its n-th send, before it leaves or after its work was done."""

    at_send: int
    side: Literal["before", "after"]
    user: str
    happen: Callable[[], None]


class Faults:
    """Decides for each request what goes wrong with it."""

    def __init__(self, chance: random.Random | None = None) -> None:
        self.rates: Mapping[Fault, float] = {}
        self.whose = ""
        """The user whose requests fail at random; empty: everybody's."""
        self.is_on = True
        self.told: list[Happened] = []
        self.sends: dict[str, int] = {}
        """How many each user has sent."""
        self._chance = chance or random.Random(0)  # noqa: S311 - a seed, no secret
        self._orders: list[Order] = []
        self._stops: list[Stop] = []

    def order(
        self,
        fault: Fault,
        *,
        verb: str = "",
        resource: str = "",
        user: str = "",
        name: str = "",
        skip: int = 0,
        times: int = 1,
        seconds: float | None = None,
    ) -> Order:
        """Let the next ``times`` matching requests fail, after the first ``skip``; ``resource`` is the plural.

        Orders are carried out whether or not random faults are on; set ``times`` to 0 to take one back.
        """
        order = Order(
            fault, verb, resource, user, name, skip, times, _seconds_of(fault) if seconds is None else seconds
        )
        self._orders.append(order)
        return order

    def stop(
        self, at_send: int, side: Literal["before", "after"], happen: Callable[[], None], *, user: str = ""
    ) -> None:
        """Call ``happen`` at the n-th send of a user (of all, if none is named), counted from 1; it may raise."""
        self._stops.append(Stop(at_send, side, user, happen))

    def draw(self, ask: Ask) -> Happened | None:
        """What goes wrong with this request."""
        found = next((order for order in self._orders if order.takes(ask)), None)
        number = self._chance.random() if self.rates else 1.0
        if found is not None:
            happened = Happened(ask, found.fault, found.seconds, is_ordered=True)
        elif self.is_on and self.whose in ("", ask.user) and (fault := self._drawn(ask, number)):
            happened = Happened(ask, fault, _seconds_of(fault))
        else:
            return None
        self.told.append(happened)
        return happened

    def still_lasts(self, happened: Happened) -> bool:
        """Whether what goes on for as long as a watch does goes on: all that was drawn ends when faults are off."""
        return self.is_on or happened.is_ordered

    def _drawn(self, ask: Ask, number: float) -> Fault | None:
        for fault, rate in self.rates.items():
            if not _fits(fault, ask.verb):
                continue
            if number < rate:
                return fault
            number -= rate
        return None

    def leaving(self, user: str) -> list[Callable[[], None]]:
        """Count a send and do what is due before it; gives what is due after its work."""
        self.sends[user] = self.sends.get(user, 0) + 1
        total = sum(self.sends.values())
        due = [stop for stop in self._stops if stop.at_send == (self.sends[user] if stop.user else total)]
        due = [stop for stop in due if stop.user in ("", user)]
        for stop in due:
            self._stops.remove(stop)
        for stop in due:
            if stop.side == "before":
                stop.happen()
        return [stop.happen for stop in due if stop.side == "after"]


def _fits(fault: Fault, verb: str) -> bool:
    if verb == "watch":
        return fault not in (*_OF_WRITES, *_NOT_OF_WATCHES)
    if fault in _OF_WATCHES or (fault in _OF_LISTS and verb != "list"):
        return False
    return fault not in _OF_WRITES or verb not in ("get", "list")


def _seconds_of(fault: Fault) -> float:
    return _SECONDS.get(fault, 0.0)
