"""The sandbox: a Request in, an Answer out, and the account in between.

    sandbox = Sandbox(clock.now)
    answer = sandbox.answer(request_from("GET", "/v1/servers", "Bearer sandbox"))

It is synchronous and asks nothing but its clock, so virtual time works. Threads may call it at once: a test orders
faults while the door answers on another one.
"""

import threading
from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Final

import msgspec

from growth_lab.hetzner_sandbox.account import Account, found_by
from growth_lab.hetzner_sandbox.api_errors import STATUS, Refusal, not_found
from growth_lab.hetzner_sandbox.faults import (
    CutOff,
    Fault,
    Lost,
    PowerCut,
    Quota,
    RateLimit,
    Refuse,
    Slow,
    SoldOut,
    Vanish,
)
from growth_lab.hetzner_sandbox.messages import Answer, Request
from growth_lab.hetzner_sandbox.rate_limit import RateLimit as Limit
from growth_lab.hetzner_sandbox.records import Image, Resource, Server, Status
from growth_lab.hetzner_sandbox.routes import Handler, route
from growth_lab.hetzner_sandbox.server_types import SERVER_TYPES
from growth_lab.hetzner_sandbox.servers import remove
from growth_lab.hetzner_sandbox.timings import Timings

TOKEN: Final = "sandbox"  # noqa: S105 - of a cloud that is none
LOST: Final = 0
"""What stands in the list of calls as the status of an answer that never came."""
_READS: Final = ("GET",)


class Right(StrEnum):
    """What a token allows."""

    READ = "read"
    READ_WRITE = "read_write"


class Call(msgspec.Struct, frozen=True):
    """A call that was made, for those who count."""

    at: datetime
    method: str
    route: str
    """As the reference writes it, such as ``/servers/{id}``."""

    status: int


class NoSuchServer(LookupError):
    """A fault was ordered for a server that is not there."""


class Sandbox:
    """One project at a Hetzner that costs nothing."""

    def __init__(
        self, now: Callable[[], datetime], *, tokens: Mapping[str, Right] | None = None, timings: Timings | None = None
    ) -> None:
        self._now = now
        self._turn = threading.RLock()
        self.tokens = dict(tokens or {TOKEN: Right.READ_WRITE})
        self.account = Account(now(), timings or Timings())
        self.limit = Limit(now())
        self.calls: list[Call] = []

    def answer(self, request: Request) -> Answer:
        """Do what is asked for, unless it is refused or a fault was ordered."""
        with self._turn:
            return self._answer(request)

    def _answer(self, request: Request) -> Answer:
        self.advance()
        found = route(request.path)
        if found is None:
            # Before anybody looks at the token: the API says so to everyone.
            return not_found("endpoint").answer
        orders = self.account.orders.taken(request)
        ending = next((one for one in orders if isinstance(one, Refuse | Lost)), None)
        delay_seconds = sum(one.seconds for one in orders if isinstance(one, Slow))
        if ending is None:
            answer = self._answered(request, *found)
        else:
            if ending.works:
                self._answered(request, *found)
            answer = _instead(ending)
        self.calls.append(Call(self.account.now, request.method, found[0], answer.status))
        return msgspec.structs.replace(answer, delay_seconds=delay_seconds)

    def advance(self) -> None:
        """Let happen what was due by now."""
        with self._turn:
            self.account.advance(self._now())

    # What is there

    def servers(self) -> Sequence[Server]:
        """All servers, as they are now."""
        with self._turn:
            self.advance()
            return list(self.account.servers.values())

    def connected_servers(self) -> Sequence[Server]:
        """Those from which something gets to the cluster, as they are now."""
        with self._turn:
            cut_off = self.account.cut_off
            return [one for one in self.servers() if not any(_is_about(fault, one) for fault in cut_off)]

    def add_snapshot(self, labels: Mapping[str, str], architecture: str = "x86", description: str = "") -> Image:
        """An image that somebody made of a server long ago."""
        with self._turn:
            image = Image(
                id=self.account.new_id(),
                type="snapshot",
                name=None,
                description=description,
                os_flavor="unknown",
                os_version=None,
                architecture=architecture,
                created=self.account.now,
                labels=dict(labels),
            )
            self.account.images[image.id] = image
            return image

    # Faults

    def order(self, fault: Fault) -> None:
        """Let something go wrong, now or later; raises NoSuchServer."""
        with self._turn:
            self.advance()
            self._order(fault)

    def _order(self, fault: Fault) -> None:
        account = self.account
        match fault:
            case SoldOut():
                account.sold_out.append(fault)
            case Quota():
                account.quota = fault
            case CutOff():
                account.cut_off.append(fault)
            case RateLimit(left=left):
                self.limit.set_left(left, account.now)
            case Vanish(server=name):
                remove(account, self._server(name))
            case PowerCut(server=name):
                self._cut_power(self._server(name))
            case _:
                account.orders.waiting.append(fault)

    def faults(self) -> Sequence[Fault]:
        """What is ordered and has yet to happen, or lasts."""
        account = self.account
        quota = [account.quota] if account.quota != Quota() else []
        return [*account.sold_out, *quota, *account.cut_off, *account.orders.waiting]

    def clear_faults(self) -> None:
        """From now on all is well."""
        with self._turn:
            self.account.sold_out.clear()
            self.account.cut_off.clear()
            self.account.orders.waiting.clear()
            self.account.quota = Quota()

    def _server(self, name: str) -> Server:
        server = found_by(self.account.servers, name)
        if server is None:
            raise NoSuchServer(f"there is no server {name!r}: expected a name or an id")
        return server

    def _cut_power(self, server: Server) -> None:
        for action in self.account.running_on(Resource("server", server.id)):
            self.account.end(action, ("server_error", "power was cut"))
        self.account.change(server, status=Status.OFF)

    # Answering

    def _answered(self, request: Request, _: str, methods: Mapping[str, Handler], numbers: Sequence[int]) -> Answer:
        right = self.tokens.get(request.token or "")
        if right is None:
            return Refusal("unauthorized", "unable to authenticate").answer
        try:
            answer = self._permitted(request, right, methods, numbers)
        except Refusal as refusal:
            answer = refusal.answer
        headers = (*answer.headers, *self.limit.headers(self.account.now))
        return msgspec.structs.replace(answer, headers=headers)

    def _permitted(
        self, request: Request, right: Right, methods: Mapping[str, Handler], numbers: Sequence[int]
    ) -> Answer:
        if not self.limit.takes(self.account.now):
            raise Refusal("rate_limit_exceeded", "limit of 3600 requests per hour reached")
        handler = methods.get(request.method)
        if handler is None:
            raise Refusal("method_not_allowed", f"{request.method} is not possible at {request.path}")
        if right is Right.READ and request.method not in _READS:
            raise Refusal("token_readonly", "the token is only allowed to perform GET requests")
        return handler(self.account, request, *numbers)


def _instead(order: Refuse | Lost) -> Answer:
    """What comes instead of the answer."""
    if isinstance(order, Lost):
        return Answer(LOST, is_lost=True)
    if order.is_plain:
        return Answer(STATUS[order.code], f"<html>{order.message}</html>")
    return Refusal(order.code, order.message).answer


def _is_about(fault: CutOff, server: Server) -> bool:
    return fault.is_about(server.name, server.location, SERVER_TYPES[server.server_type].name)
