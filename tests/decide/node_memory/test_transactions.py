"""What a transaction does, row by row of the table in ``processing``."""

import msgspec
import pytest

from growth.api.actions import PatchObject
from growth.api.node_memory import MARKER, RESTORED_TO, NodeRecord, Transaction
from growth.observe.node_history import Departure, NodePage
from tests.decide.node_memory.pages import (
    NAME,
    a_memory,
    a_node,
    a_transaction,
    after_end,
    deeds,
    given_back,
    page_pass,
    reasons,
    remembered,
    waited,
)


@pytest.mark.parametrize(
    ("memory", "transaction", "expected"),
    [
        (None, a_transaction("deleted", "old", 30, is_marked=False), "create ConfigMap worker-1"),
        (a_memory(version=30), a_transaction("deleted", "old", 30), "delete ConfigMap 30"),
        (a_memory(version=31), a_transaction("deleted", "old", 30), "delete ConfigMap 30"),
        (a_memory(version=30, is_final=False), a_transaction("deleted", "old", 30), "patch ConfigMap worker-1"),
        (a_memory(version=20), a_transaction("deleted", "old", 30, is_marked=False), "patch ConfigMap worker-1"),
        (a_memory(version=20), a_transaction("deleted", "next", 30), "patch ConfigMap worker-1"),
        (a_memory(version=20), a_transaction("deleted", "next", 30, is_marked=False), "delete ConfigMap 30"),
        (a_memory("later", 40), a_transaction("deleted", "old", 30), "delete ConfigMap 30"),
    ],
    ids=[
        "nothing is remembered",
        "it was dealt with",
        "it comes too late",
        "a checkpoint of that version",
        "the same life",
        "the next life, which had its marker",
        "the next life, which had not",
        "a later life is remembered",
    ],
)
def test_an_end_becomes_the_memory_or_has_no_effect(
    memory: NodeRecord | None, transaction: Transaction, expected: str
) -> None:
    assert deeds(page_pass(after_end(memory, transaction)).works) == [expected]


def test_what_a_node_was_is_worth_more_than_its_successor_that_lacked_it() -> None:
    known = a_memory("next", 40)
    lacking = msgspec.structs.replace(known, memento=msgspec.structs.replace(known.memento, labels={}))
    page = after_end(lacking, a_transaction("deleted", "old", 30, {"team": "blue"}))
    assert remembered(page_pass(page)).labels == {"team": "blue", MARKER: "7"}


def test_labels_that_it_had_and_lacks_at_its_end_stay_removed() -> None:
    page = after_end(a_memory(is_final=False, rack="r7"), a_transaction("deleted", "old", 30))
    assert remembered(page_pass(page)).removed == ("rack",)


def test_an_end_with_too_much_is_told_and_the_old_memory_kept() -> None:
    labels = {f"{number:063}": "x" * 63 for number in range(7_900)}
    memory = a_memory(version=20, is_final=False, removed=tuple(f"{'r' * 300}{number}" for number in range(200)))
    found = page_pass(after_end(memory, a_transaction("deleted", "old", 30, labels)))
    assert (deeds(found.works), reasons(found)) == (["delete ConfigMap 30"], ["MemoryTooLarge"])


def test_a_node_that_came_is_given_what_it_was_if_nothing_changed_since() -> None:
    page = NodePage(
        NAME,
        a_node(labels={"new": "x"}),
        record=a_memory(team="blue"),
        transactions=(a_transaction("added", "new", 50),),
    )
    found = page_pass(page)
    assert given_back(found) == {"labels": {MARKER: "20", "team": "blue"}}
    (action,) = found.works
    assert isinstance(action, PatchObject)
    assert action.body["metadata"]["annotations"] == {RESTORED_TO: "new"}
    assert (action.resource_version, [one.resource_version for one in action.given]) == (50, [900])


def test_a_node_of_which_nothing_is_remembered_gets_its_marker_too() -> None:
    found = page_pass(NodePage(NAME, a_node(), transactions=(a_transaction("added", "new", 50),)))
    assert given_back(found) == {"labels": {MARKER: "0"}}


def test_a_marker_that_a_node_brought_along_is_none() -> None:
    copied = a_node(labels={"team": "stale"}, is_marked=True, annotations={RESTORED_TO: "old"})
    page = NodePage(NAME, copied, record=a_memory(team="blue"), transactions=(a_transaction("added", "new", 50),))
    assert given_back(page_pass(page)) == {"labels": {MARKER: "20", "team": "blue"}}


@pytest.mark.parametrize("node", [None, a_node("another"), a_node(is_marked=True)], ids=["gone", "another", "marked"])
def test_a_coming_that_is_over_has_no_effect(node: object) -> None:
    page = msgspec.structs.replace(NodePage(NAME), node=node, transactions=(a_transaction("added", "new", 50),))
    assert deeds(page_pass(page).works) == ["delete ConfigMap 50"]


def test_who_has_not_heard_of_everything_does_not_take_a_node_for_gone_at_once() -> None:
    page = NodePage(NAME, transactions=(a_transaction("added", "new", 50),))
    found = page_pass(page, observed=49)
    assert (found.works, found.unheard) == ((), 50)
    again = page_pass(page, before=found, after=20, observed=49)
    assert again.works == (), "another replica may see it, and needs a Lease's time to take over"
    again = page_pass(page, before=found, after=25, observed=49)
    assert deeds(again.works) == ["delete ConfigMap 50"], "in a cluster without nodes nothing more will be heard"


def test_nothing_is_given_back_before_it_is_written_down_who_left() -> None:
    departed = {"old": Departure(a_node("old", 30, is_marked=True), is_missed=False)}
    page = NodePage(
        NAME, a_node(), departed=departed, record=a_memory(), transactions=(a_transaction("added", "new", 50),)
    )
    assert page_pass(page).works == ()
    unsure = NodePage(
        NAME, a_node(), record=a_memory("unseen", is_final=False), transactions=(a_transaction("added", "new", 50),)
    )
    assert page_pass(unsure).works == ()
    assert deeds(waited(unsure, 5).records) == ["create ConfigMap 20"]


def test_a_memory_that_cannot_be_read_holds_its_node_and_nobody_else() -> None:
    page = NodePage(NAME, a_node(), problem="it is nonsense", transactions=(a_transaction("added", "new", 50),))
    found = page_pass(page)
    assert (found.works, reasons(found)) == ((), ["MemoryUnreadable"])
    assert reasons(page_pass(NodePage("kube-root-ca.crt", problem="it is nonsense"))) == []
