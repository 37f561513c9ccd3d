"""Lives of a small cluster as hypothesis draws them: what comes, changes and goes, and how time passes between."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any

import msgspec
from hypothesis import strategies as st
from hypothesis.strategies import DrawFn

from growth.api.actions import Action, Hold
from growth.api.machine import Machine, Power
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.phases import REMOVAL_MOVES, REQUEST_MOVES
from growth.api.provider_state import ProviderState
from tests.decide import stages
from tests.decide.registry.stage import (
    LARGE,
    NOW,
    SMALL,
    Thing,
    Watch,
    a_cloud,
    a_machine,
    a_node,
    a_pool,
    a_removal,
    a_request,
)

NAMES = [f"default-{number}" for number in range(1, 7)]
_OFFERINGS = st.sampled_from([SMALL.id, SMALL.id, LARGE.id])
# On both sides of every deadline there is.
_AGES = st.sampled_from([0, 1, 10, 119, 120, 899, 900, 1199, 1200, 1799, 1800, 86_400])
_SPANS = st.sampled_from([0, 1, 9, 10, 60, 120, 600, 900, 1200, 1800])
# Most nodes run where their name says.
_PLACES = [None, None, None, "", "kwok://default-1", "elsewhere://1"]


class Gone(msgspec.Struct, frozen=True):
    """Something goes."""

    thing: Node | NodeRequest | NodeRemovalRequest


class Passes(msgspec.Struct, frozen=True):
    """Time passes."""

    by: timedelta


class Jumps(msgspec.Struct, frozen=True):
    """Somebody sets the clock."""

    by: timedelta


Event = Thing | Gone | Passes | Jumps


class _Drawing:
    """A life while it is drawn: its clock, and what is there."""

    def __init__(self, draw: DrawFn) -> None:
        self._draw, self.now = draw, NOW
        self.there: dict[tuple[str, str], Any] = {}

    def _ago(self) -> datetime:
        return self.now - timedelta(seconds=self._draw(_AGES))

    def event(self, share_ready: int) -> Event:
        """Whatever happens next; so many nodes of ten are ready."""
        draw = self._draw
        what = draw(
            st.sampled_from(["node", "node", "node", "request", "removal", "cloud", "goes", "time", "time", "odd"])
        )
        if what == "time":
            by = timedelta(seconds=draw(_SPANS))
            self.now += by
            return Passes(by)
        if what == "cloud":
            return self.cloud()
        if what == "odd":
            return self._odd()
        if what == "goes" and self.there:
            return Gone(self.there.pop(draw(st.sampled_from(sorted(self.there)))))
        thing = {"request": self.request, "removal": self.removal}.get(what, lambda: self.node(share_ready))()
        self.there[type(thing).__name__, thing.metadata.name] = thing
        return thing

    def _odd(self) -> Event:
        draw = self._draw
        if draw(st.booleans()):
            return a_pool(types=("small", "large"), scaleDown={"unreadyAfter": draw(st.sampled_from(["10m", "20m"]))})
        by = timedelta(minutes=draw(st.sampled_from([-5, 600])))
        self.now += by
        return Jumps(by)

    def node(self, share_ready: int, name: str = "") -> Node:
        draw = self._draw
        born = self._ago()
        return a_node(
            name or draw(st.sampled_from(NAMES)),
            ready=draw(st.integers(0, 9)) < share_ready,
            born=born,
            since=max(born, self._ago()),
            is_closed=draw(st.integers(0, 4)) == 0,
            started=draw(st.sampled_from([None, True, False])),
            pool=draw(st.sampled_from(["default", "default", "default", "gone", ""])),
            offering=draw(_OFFERINGS),
            provider_id=draw(st.sampled_from(_PLACES)),
            goes_at=draw(st.sampled_from([None, None, self.now])),
        )

    def request(self) -> NodeRequest:
        draw = self._draw
        phase = draw(st.sampled_from(list(REQUEST_MOVES)))
        since = self._ago()
        return a_request(
            draw(st.sampled_from(NAMES)),
            phase,
            since=None if phase == "Pending" and draw(st.booleans()) else since,
            asked_at=since - timedelta(seconds=1),
            offering=draw(_OFFERINGS),
            reason=draw(st.sampled_from(["OutOfStock", "NoMachine"])) if phase == "Unmet" else "",
        )

    def removal(self) -> NodeRemovalRequest:
        draw = self._draw
        phase = draw(st.sampled_from(list(REMOVAL_MOVES)))
        place = draw(st.sampled_from([None, None, "", "kwok://gone"]))
        return a_removal(draw(st.sampled_from(NAMES)), phase, at=self._ago(), provider_id=place)

    def cloud(self) -> ProviderState:
        draw = self._draw
        if draw(st.integers(0, 5)) == 0:
            return a_cloud(read_at=None, problem="it was not asked yet")
        machines: list[Machine] = []
        for number, name in enumerate(draw(st.lists(st.sampled_from(NAMES), max_size=8))):
            is_named = name not in {one.name for one in machines}
            machines.append(
                a_machine(
                    name,
                    offering=draw(_OFFERINGS),
                    provider_id=None if is_named else f"kwok://{number}",
                    created_at=self._ago(),
                    power=draw(st.sampled_from([Power.ON, Power.OFF])),
                )
            )
        problem = draw(st.sampled_from(["", "", "", "no answer"]))
        return a_cloud(*machines, read_at=self.now, problem=problem)


@st.composite
def histories(draw: DrawFn, most: int, share_ready: int = 7) -> list[Event]:
    """A pool, a provider that has answered, nodes of all names, and whatever happens then."""
    drawing = _Drawing(draw)
    beginning: list[Event] = [a_pool(types=("small", "large")), a_cloud(*NAMES)]
    beginning += [drawing.node(share_ready, name) for name in NAMES]
    drawing.there |= {("Node", one.metadata.name): one for one in beginning if isinstance(one, Node)}
    return [*beginning, *(drawing.event(share_ready) for _ in range(draw(st.integers(1, most))))]


def happen(watch: Watch, event: Event) -> None:
    """The watch hears of it."""
    match event:
        case Gone():
            watch.remove(event.thing)
        case Passes():
            watch.now += event.by
        case Jumps():
            watch.now += event.by
            watch.steady_since = watch.now
        case _:
            watch.add(event)


def a_waiting_pod(name: str) -> Thing:
    """A pod that no node has room for, as its scheduler says."""
    refused = {"type": "PodScheduled", "status": "False", "reason": "Unschedulable"}
    return stages.a_pod(name, requests={"cpu": "1"}, status={"phase": "Pending", "conditions": [refused]})


def named(spoken: Sequence[Action | Hold]) -> list[str]:
    """What was said, for whoever reads a failure."""
    return [f"{type(one).__name__} {one.subject.kind} {one.subject.name}" for one in spoken]
