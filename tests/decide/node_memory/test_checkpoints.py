"""What a live node is, is written down after a while; its deletion may wait for that; and the gone are forgotten."""

from datetime import timedelta

import msgspec
import pytest

from growth.api.node_memory import FINALIZER, MARKER
from growth.api.settings.model import MemorySettings, Settings
from growth.decide.node_memory.carry import PageResult
from growth.decide.node_memory.context import NodeMemoryContext
from growth.decide.node_memory.page_round import look_at
from growth.observe.cache import ClusterCache
from growth.observe.node_history import NodePage
from growth_lab.simulator.clock import BEGINNING as NOW
from tests.decide.node_memory.pages import (
    NAME,
    a_memory,
    a_node,
    a_transaction,
    deeds,
    page_pass,
    reasons,
    remembered,
    waited,
)

WAIT = 5.0


def a_page(version: int = 50, labels: dict[str, str] | None = None) -> NodePage:
    return NodePage(NAME, a_node(version=version, labels=labels or {"team": "blue"}, is_marked=True), removed=("gone",))


def test_a_change_is_written_down_after_a_while_and_not_before_the_marker() -> None:
    page = a_page()
    assert page_pass(page).works == ()
    found = waited(page, WAIT)
    assert deeds(found.works) == ["create ConfigMap worker-1"]
    assert (remembered(found).labels, remembered(found).removed) == ({"team": "blue", MARKER: "7"}, ("gone",))
    unmarked = NodePage(NAME, a_node(labels={"team": "blue"}), arrivals=("new",))
    assert waited(unmarked, 1).works == ()


def test_what_is_written_down_is_not_written_again() -> None:
    memory = a_memory("new", 40, is_final=False, removed=("gone",), team="blue")
    page = msgspec.structs.replace(a_page(), record=memory)
    assert page_pass(page).is_idle


def test_a_node_that_changes_all_the_time_is_written_down_once_in_a_while() -> None:
    page = a_page()
    written = page_pass(page, before=page_pass(page), after=WAIT)
    changed = a_page(51, {"team": "red"})
    memory = a_memory("new", 50, is_final=False, removed=("gone",), team="blue")
    again = page_pass(msgspec.structs.replace(changed, record=memory), before=written, after=WAIT)
    assert (again.works, again.due) == ((), NOW + timedelta(seconds=2 * WAIT))


@pytest.mark.parametrize("uid", ["new", "a later life"])
def test_who_lags_does_not_write_what_was_before_what_is_remembered(uid: str) -> None:
    page = msgspec.structs.replace(a_page(), record=a_memory(uid, 60, is_final=False), written={uid: 60})
    assert waited(page, WAIT).works == ()


def test_a_node_with_too_much_is_told_and_its_last_memory_kept() -> None:
    page = a_page(labels={f"{number:063}": "x" * 63 for number in range(9_000)})
    found = waited(page, WAIT)
    assert (found.works, reasons(found)) == ((), ["MemoryTooLarge"])


def going(**labels: str) -> NodePage:
    node = a_node(labels=labels, is_marked=True, deletion_timestamp=NOW, finalizers=("other", FINALIZER))
    return NodePage(NAME, node)


def test_a_node_that_goes_is_written_down_at_once_and_then_let_go() -> None:
    page = going(team="blue")
    assert deeds(page_pass(page, finalizer=True).works) == ["create ConfigMap worker-1"]
    saved = msgspec.structs.replace(page, record=a_memory("new", 50, is_final=False, team="blue"))
    (action,) = page_pass(saved, finalizer=True).works
    assert getattr(action, "body", None) == {"metadata": {"finalizers": ["other"]}}


@pytest.mark.parametrize("trouble", ["unreadable", "too large", "a transaction before it"])
def test_it_gives_way_after_the_deadline_whatever_is_wrong_and_says_so(trouble: str) -> None:
    page = going(**({f"{number:063}": "x" * 63 for number in range(9_000)} if trouble == "too large" else {}))
    if trouble == "unreadable":
        page = msgspec.structs.replace(page, problem="it is nonsense")
    if trouble == "a transaction before it":
        unsure = a_memory("unseen", is_final=False)
        page = msgspec.structs.replace(page, transactions=(a_transaction("added", "new", 45),), record=unsure)
    assert "MemoryGivesWay" not in reasons(waited(page, 1, finalizer=True))
    found = waited(page, 30, finalizer=True)
    assert "MemoryGivesWay" in reasons(found)
    assert "patch Node worker-1" in deeds(found.works)


def test_who_turns_it_off_gets_rid_of_the_finalizer() -> None:
    page = NodePage(NAME, a_node(is_marked=True, finalizers=(FINALIZER,)))
    assert deeds(page_pass(page).works) == ["patch Node worker-1"]
    assert deeds(page_pass(page, finalizer=True, mode="off").works) == ["patch Node worker-1"]


def test_the_gone_are_forgotten_after_their_time_and_never_by_default() -> None:
    page = NodePage(NAME, record=a_memory(at=NOW - timedelta(days=29)))
    assert page_pass(page).is_idle
    month = timedelta(days=30)
    assert (page_pass(page, forget_after=month).works, page_pass(page, forget_after=month).due) == (
        (),
        NOW + timedelta(days=1),
    )
    old = NodePage(NAME, record=a_memory(at=NOW - timedelta(days=31)))
    assert deeds(page_pass(old, forget_after=month).works) == ["delete ConfigMap worker-1"]


def test_a_clock_that_jumped_forgets_nobody() -> None:
    world, settings = (
        ClusterCache(lambda: NOW, remembers=True),
        Settings(memory=MemorySettings(forget_after=timedelta(days=30))),
    )
    page = NodePage(NAME, record=a_memory(at=NOW - timedelta(days=365)))
    scene = NodeMemoryContext(world.snapshot(NOW), settings, steady_since=NOW)
    assert look_at(scene, page, PageResult()).works == ()
