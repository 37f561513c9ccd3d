"""Who left is written down before who came, and under names that all replicas find by themselves."""

from datetime import timedelta

import msgspec

from growth.api.node_memory import MARKER
from growth.observe.node_history import Departure, NodePage
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

LAG = 5.0


def left(version: int = 30, labels: dict[str, str] | None = None, *, is_missed: bool = False) -> dict[str, Departure]:
    return {"old": Departure(a_node("old", version, labels=labels, is_marked=True), is_missed, ("gone",))}


def test_a_node_that_came_is_written_down_under_the_version_in_which_it_was_first_seen() -> None:
    page = NodePage(NAME, a_node(version=57), first_version=50)
    assert deeds(page_pass(page).records) == ["create ConfigMap 50"]


def test_a_node_with_its_marker_makes_no_transaction_when_a_replica_starts() -> None:
    assert page_pass(NodePage(NAME, a_node(is_marked=True), first_version=50)).records == ()


def test_who_left_is_written_down_first() -> None:
    page = NodePage(NAME, a_node(), first_version=50, departed=left(labels={"team": "blue"}))
    found = page_pass(page)
    assert deeds(found.records) == ["create ConfigMap 30"]
    assert remembered(found).labels == {"team": "blue", MARKER: "7"}
    assert (remembered(found).removed, remembered(found).at) == (("gone",), NOW)


def test_a_missed_end_is_named_by_the_checkpoint_if_that_says_the_same() -> None:
    memory = a_memory(version=22, is_final=False, removed=("gone",), at=NOW - timedelta(days=90), team="blue")
    found = page_pass(NodePage(NAME, departed=left(28, {"team": "blue"}, is_missed=True), record=memory))
    assert deeds(found.records) == ["create ConfigMap 22"]
    assert remembered(found).at == NOW, "it left now, however old the checkpoint is"


def test_a_missed_end_that_we_saw_more_of_is_named_by_that() -> None:
    memory = a_memory(version=22, is_final=False, removed=("gone",), team="red")
    assert deeds(page_pass(NodePage(NAME, departed=left(28, is_missed=True), record=memory)).records) == [
        "create ConfigMap 28"
    ]


def test_a_checkpoint_of_a_node_that_is_not_there_was_an_end_that_everybody_missed() -> None:
    page = NodePage(NAME, a_node(), first_version=50, record=a_memory(version=22, is_final=False))
    assert page_pass(page).records == (), "the stream of nodes may lag"
    found = waited(page, LAG)
    assert (deeds(found.records), remembered(found).at) == (["create ConfigMap 22"], NOW + timedelta(seconds=LAG))
    written = msgspec.structs.replace(page, written={"old": 22})
    assert deeds(page_pass(written).records) == ["create ConfigMap 50"]


def test_a_node_whose_coming_was_dealt_with_is_written_down_again_if_it_never_gets_its_marker() -> None:
    page = NodePage(NAME, a_node(), first_version=50, arrivals=("new",))
    assert page_pass(page).records == ()
    assert deeds(waited(page, LAG).records) == ["create ConfigMap 50"]


def test_what_is_written_down_is_not_written_again() -> None:
    assert (
        page_pass(NodePage(NAME, a_node(), first_version=50, transactions=(a_transaction("added", "new", 50),))).records
        == ()
    )
    assert page_pass(NodePage(NAME, departed=left(), written={"old": 30})).records == ()


def test_who_left_with_too_much_is_told_and_the_next_one_is_not_held_up() -> None:
    huge = {f"{number:063}": "x" * 63 for number in range(9_000)}
    page = NodePage(NAME, a_node(), first_version=50, departed=left(labels=huge))
    found = page_pass(page)
    assert (reasons(found), deeds(found.records)) == (["MemoryTooLarge"], ["create ConfigMap 50"])
