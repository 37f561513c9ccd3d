"""What failover never does, whatever becomes of nodes, machines, clocks, processes and answers."""

from typing import Any, Final

import msgspec
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from growth.api.actions import EditObject, ReadPower, ReadPowers, ReleasePod
from growth.api.machine import Power
from growth.api.out_of_service import PROOF, SHUTDOWN, out_of_service_taint
from growth.api.settings.model import Settings
from tests.decide.failover.stage import EVERYTHING, SECOND, machine_id, terms
from tests.decide.failover.witness import WatchedStage
from tests.drawing import examples

HURT = ["n1", "n2", "n3", "n4"]
CALM = ["n5", "n6", "n7", "n8", "n9"]
"""Nothing happens to these before the end."""
Event = tuple[Any, ...]

DEAD = [Power.OFF, Power.OFF, Power.GONE, Power.FAILED]

nodes = st.sampled_from(HURT)
waits = st.tuples(st.just("wait"), st.sampled_from([0.3, 1.0, 4.0, 7.0, 12.0, 20.0, 31.0, 45.0]))
machines = st.one_of(
    st.tuples(st.just("cut"), nodes, st.sampled_from(DEAD)),
    st.tuples(st.just("dies"), nodes, st.sampled_from(DEAD)),
    st.tuples(st.just("silence"), nodes),
    st.tuples(st.just("power"), nodes, st.sampled_from(list(Power))),
    st.tuples(st.just("changing"), nodes),
    st.tuples(st.just("revive"), nodes, st.booleans()),
    st.tuples(st.just("unready"), nodes),
)
troubles = st.one_of(
    st.tuples(st.just("restart")),
    st.tuples(st.just("jump"), st.sampled_from([-3600.0, 8.0, 3600.0])),
    st.tuples(st.just("lag"), st.sampled_from([0.0, 0.0, 2.0, 8.0])),
    st.tuples(st.just("takes"), st.sampled_from([0.05, 0.05, 2.0, 7.0])),
    st.tuples(st.just("fails"), st.sampled_from([(), (), (ReadPower, ReadPowers), (EditObject,), (ReleasePod,)])),
    st.tuples(st.just("provider"), st.sampled_from(["answers", "answers", "fails", "shows nothing"])),
)
people = st.one_of(
    st.tuples(st.just("mode"), st.sampled_from(["act", "act", "observe", "off"]), st.booleans()),
    st.tuples(st.just("taint"), nodes),
    st.tuples(st.just("untaint"), nodes),
    st.tuples(st.just("protect"), nodes, st.booleans()),
)
work = st.one_of(
    st.tuples(st.just("database"), nodes, st.booleans()),
    st.tuples(st.just("driver"), nodes, st.booleans()),
)
histories = st.lists(st.one_of(waits, machines, machines, troubles, people, work), min_size=5, max_size=30)


class History:
    """Events, played one after the other."""

    def __init__(self) -> None:
        self.stage = WatchedStage(*HURT, *CALM, settings=generous("act", fence=False))
        self.by_hand: set[str] = set()
        """By uid, nodes that a person tainted."""
        for name in HURT[:3]:
            self.stage.database(f"db-{name}", name)

    def play(self, event: Event) -> None:
        what, *rest = event
        if what in ("wait", "restart", "jump", "lag", "takes", "fails", "provider", "mode"):
            self._to_all(what, rest)
        elif rest[0] not in self.stage.nodes:
            pass  # Growth deleted it
        elif what in ("taint", "untaint", "protect"):
            self._by_a_person(what, *rest)
        else:
            self._to_one(what, *rest)
        for name, node in self.stage.nodes.items():
            if node.metadata.uid in self.by_hand:
                assert out_of_service_taint(node) is not None, f"the taint that a person set on {name} is gone"

    def _to_all(self, what: str, rest: list[Any]) -> None:
        stage = self.stage
        match what:
            case "wait":
                stage.wait(rest[0])
            case "restart":
                takes, fails = stage.hands.takes, stage.hands.fails
                stage.restart()
                stage.hands.takes, stage.hands.fails = takes, fails
            case "jump":
                stage.jump(rest[0])
            case "lag":
                stage.lag = rest[0]
            case "takes":
                stage.hands.takes = rest[0]
            case "fails":
                stage.hands.fails = lambda action: isinstance(action, rest[0])
            case "provider":
                stage.provider_fails, stage.shows_nothing = rest[0] == "fails", rest[0] == "shows nothing"
            case _:
                stage.settings = generous(rest[0], fence=rest[1])

    def _by_a_person(self, what: str, name: str, wish: object = None) -> None:
        stage, node = self.stage, self.stage.nodes[name]
        match what:
            case "taint" if out_of_service_taint(node) is None and PROOF not in node.metadata.annotations:
                stage.change(name, taints=(SHUTDOWN,))
                self.by_hand.add(node.metadata.uid)
            case "untaint":
                stage.change(name, taints=())
                self.by_hand.discard(node.metadata.uid)
            case "protect":
                stage.change(name, annotations={"growth.dev/do-not-disrupt": str(wish).lower()})
            case _:
                pass

    def _to_one(self, what: str, name: str, detail: Any = None) -> None:  # noqa: ANN401
        stage = self.stage
        match what:
            case "cut":
                stage.cut(name, power=detail)
            case "dies":
                stage.cut(name, power=detail)
                stage.wait(32)  # it is proven, tainted, and just being released
            case "silence":
                stage.silence(name)
            case "power":
                stage.powers[machine_id(name)] = detail
            case "changing":
                stage.changing ^= {machine_id(name)}
            case "revive":
                stage.revive(name, boots=detail)
            case "unready" if name in stage.beating:
                stage.set_ready(name, "False")
            case "database":
                stage.database(f"db-{len(stage.attachments)}", name, tolerations=[EVERYTHING] if detail else [])
            case "driver":
                on_it = {key for key, one in stage.attachments.items() if one.spec.node_name == name}
                stage.kept = stage.kept | on_it if detail else stage.kept - on_it
            case _:
                pass

    def mend(self) -> None:
        """All troubles end, and everybody lives."""
        stage = self.stage
        for event in (("lag", 0.0), ("takes", 0.05), ("fails", ()), ("provider", "answers"), ("mode", "act", False)):
            self.play(event)
        stage.changing.clear()
        for name in HURT:
            if name in stage.nodes:
                stage.revive(name)
        # A node whose volumes hang for so long does not keep others waiting any more.
        self.play(("wait", 330.0))


def generous(mode: str, *, fence: bool) -> Settings:
    """Settings in which hardly anything holds it back."""
    known = terms(mode, fence=fence, return_after=15 * SECOND)
    registry = msgspec.structs.replace(known.registry, unready_percent=100)
    return msgspec.structs.replace(known, registry=registry)


def keep_all_promises(events: list[Event]) -> None:
    """Safety under all this; and when it is over, one that dies is failed over."""
    history = History()
    for event in events:
        history.play(event)
    history.play(("wait", 60.0))
    history.mend()
    history.stage.cut("n9")
    history.play(("wait", 45.0))
    assert "n9" in history.stage.tainted, history.stage.told()


SET_BACK: Final[list[Event]] = [
    ("cut", "n3", Power.OFF),
    ("dies", "n1", Power.OFF),
    ("database", "n1", True),
    ("database", "n3", True),
    ("jump", -3600.0),
]
"""Two nodes hang, and by the clock that will be so for an hour."""


@settings(max_examples=examples(35))
@given(histories)
@example(SET_BACK)
@example([*SET_BACK, ("restart",)])
def test_no_history_makes_it_break_a_promise(events: list[Event]) -> None:
    keep_all_promises(events)


@pytest.mark.long
@settings(max_examples=600)
@given(histories)
def test_no_history_of_very_many_makes_it_break_a_promise(events: list[Event]) -> None:
    keep_all_promises(events)
