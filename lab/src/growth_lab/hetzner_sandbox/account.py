"""One project: everything that it holds, what is under way, and the time.

Nothing happens between two looks. ``advance`` plays what was due, each thing at its own instant and in its order, so it
does not matter how often anybody looks.
"""

import heapq
from collections.abc import Callable, Iterable, Mapping
from datetime import datetime, timedelta
from typing import Final, Protocol, TypeVar

import msgspec

from growth_lab.hetzner_sandbox.api_errors import Refusal, name_taken, not_found
from growth_lab.hetzner_sandbox.faults import CutOff, Orders, Quota, SoldOut
from growth_lab.hetzner_sandbox.images import system_images
from growth_lab.hetzner_sandbox.records import (
    Action,
    Firewall,
    Image,
    Network,
    PlacementGroup,
    Resource,
    Server,
    SshKey,
    Volume,
)
from growth_lab.hetzner_sandbox.timings import Timings

# November 2023: ids count from there.
_EPOCH_SECONDS: Final = 1_700_000_000
_IDS_PER_SECOND: Final = 10


class _Named(Protocol):
    @property
    def id(self) -> int: ...
    @property
    def name(self) -> str | None: ...


N = TypeVar("N", bound=_Named)


def last_id_before(now: datetime) -> int:
    """Ids follow the clock at which an account begins: nodes of an earlier sandbox have none of this one's."""
    return (int(now.timestamp()) - _EPOCH_SECONDS) * _IDS_PER_SECOND


class Account:
    """The tables, the timers and the rules that hold for all of them."""

    def __init__(self, now: datetime, timings: Timings) -> None:
        self.now = now
        self.timings = timings
        self.servers: dict[int, Server] = {}
        self.volumes: dict[int, Volume] = {}
        self.networks: dict[int, Network] = {}
        self.firewalls: dict[int, Firewall] = {}
        self.placement_groups: dict[int, PlacementGroup] = {}
        self.ssh_keys: dict[int, SshKey] = {}
        self.images: dict[int, Image] = system_images()
        self.actions: dict[int, Action] = {}
        self.promised: dict[tuple[int, str], int] = {}
        """Addresses by network and text, for the servers that are on their way into it."""
        self.orders = Orders()
        self.sold_out: list[SoldOut] = []
        self.quota = Quota()
        self.cut_off: list[CutOff] = []
        self._last_id = last_id_before(now)
        self._running: dict[Resource, dict[int, None]] = {}
        self._timers: list[tuple[datetime, int, Callable[[], None]]] = []
        self._timers_set = 0

    # Time

    def advance(self, now: datetime) -> None:
        """Let everything happen that was due by now; a clock that was set back changes nothing."""
        while self._timers and self._timers[0][0] <= now:
            at, _, happen = heapq.heappop(self._timers)
            self.now = max(self.now, at)
            happen()
        self.now = max(self.now, now)

    @property
    def next_at(self) -> datetime | None:
        """When something happens by itself."""
        return self._timers[0][0] if self._timers else None

    def after(self, seconds: float, happen: Callable[[], None]) -> None:
        """Let something happen later; of two at one instant the first comes first."""
        self._timers_set += 1
        heapq.heappush(self._timers, (self.now + timedelta(seconds=seconds), self._timers_set, happen))

    # Tables

    def new_id(self) -> int:
        """Never used before, whatever for."""
        self._last_id += 1
        return self._last_id

    def server(self, server_id: int) -> Server:
        """The server, or ``not_found``."""
        return found(self.servers, server_id, "server")

    def change(self, server: Server, **changes: object) -> Server:
        """A server in the place of itself."""
        changed = msgspec.structs.replace(self.servers[server.id], **changes)
        self.servers[server.id] = changed
        return changed

    # Actions

    def begin(
        self,
        command: str,
        resources: Iterable[Resource],
        seconds: float,
        happen: Callable[[], object] | None = None,
        otherwise: Callable[[], object] | None = None,
        *,
        waits_seconds: float = 0.0,
    ) -> Action:
        """Begin an action. ``happen`` comes to pass when it ends well, ``otherwise`` when it fails, which is half-way.

        It may have to wait for another one first, and says that it runs meanwhile.
        """
        failure = self.orders.failing(command)
        lasts = waits_seconds + (seconds / 2 if failure else seconds)
        action = Action(
            id=self.new_id(),
            command=command,
            resources=tuple(resources),
            started=self.now,
            ends_at=self.now + timedelta(seconds=waits_seconds + seconds),
        )
        self.actions[action.id] = action
        for resource in action.resources:
            self._running.setdefault(resource, {})[action.id] = None

        def end() -> None:
            if not self.actions[action.id].is_running:
                return  # it ended early: what it was about is gone
            self.end(action, (failure.code, failure.message) if failure else None)
            effect = otherwise if failure else happen
            if effect:
                effect()

        self.after(lasts, end)
        return action

    def end(self, action: Action, error: tuple[str, str] | None = None) -> None:
        """An action is over, well or with an error."""
        if not self.actions[action.id].is_running:
            return
        self.actions[action.id] = msgspec.structs.replace(action, finished=self.now, error=error)
        for resource in action.resources:
            running = self._running[resource]
            del running[action.id]
            if not running:
                del self._running[resource]

    def running_on(self, resource: Resource) -> list[Action]:
        """What is under way about something."""
        return [self.actions[one] for one in self._running.get(resource, ())]

    def check_unlocked(self, resource: Resource) -> None:
        """Nothing begins while another action runs."""
        if self.running_on(resource):
            raise Refusal("locked", f"{resource.type} is locked")


def found(table: Mapping[int, N], wanted: int, what: str) -> N:
    """The one of this id, or ``not_found``."""
    if wanted not in table:
        raise not_found(what)
    return table[wanted]


def found_by(table: Mapping[int, N], wanted: int | str) -> N | None:
    """The one of this id or name; a text of digits is an id first."""
    if isinstance(wanted, int) or wanted.isdecimal():
        by_id = table.get(int(wanted))
        if by_id is not None or isinstance(wanted, int):
            return by_id
    return next((one for one in table.values() if one.name == wanted), None)


def check_name_free(table: Mapping[int, N], name: str, what: str, besides: int | None = None) -> None:
    """Names are unique among things of one kind."""
    if any(one.name == name and one.id != besides for one in table.values()):
        raise name_taken(what)
