"""Who takes a node's place is given what it was, and nobody else is, whatever happens in between."""

from datetime import timedelta

import pytest

from growth.api.actions import Hold, PatchObject, Precondition
from growth.api.node_memory import MEMORIES
from growth.api.out_of_service import SHUTDOWN
from growth.api.references import reference_by_name
from growth.api.tolerations import Taint
from tests.decide.node_memory.shelf import Shelf

OLD, HEIR, OTHER = "old", "heir", "other"
A_WHILE = timedelta(seconds=6)
"""After so long what looks lost is lost, and what has changed is written down."""


def a_shelf() -> Shelf:
    """A node that left with a label, and a machine that was bought in its place."""
    shelf = Shelf()
    shelf.remember(OLD, team="blue")
    shelf.request(HEIR, OLD)
    return shelf


def a_shelf_with_it(*, taints: tuple[Taint, ...] = ()) -> Shelf:
    """The same, and the node is there, its labels written down."""
    shelf = Shelf()
    shelf.request(HEIR, OLD)
    shelf.register(OLD, team="blue")
    shelf.run(OLD, lasting=A_WHILE)
    shelf.change(OLD, taints=taints)
    shelf.run(OLD)
    return shelf


# One successor


def test_a_successor_is_given_what_its_predecessor_was() -> None:
    shelf = a_shelf()
    uid = shelf.register(HEIR, zone="a")
    shelf.run(HEIR)
    assert shelf.labels(HEIR) == {"team": "blue", "zone": "a"}
    assert shelf.kept(OLD).claimed_by == f"{HEIR}/{uid}"


def test_it_claims_that_before_it_is_given_anything() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.step(HEIR)
    assert [one.subject.name for one in shelf.said] == [OLD]
    assert not shelf.is_marked(HEIR)


def test_both_its_own_memory_and_that_of_its_predecessor_are_looked_at_once_more() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.step(HEIR)
    (restoring,) = shelf.page_pass(HEIR).works
    assert isinstance(restoring, PatchObject)
    versions = {HEIR: None, OLD: shelf.kept(OLD).metadata.resource_version}
    assert restoring.given == tuple(
        Precondition(reference_by_name(MEMORIES, name, "growth-memory"), version) for name, version in versions.items()
    )


def test_so_they_are_if_there_is_nothing_to_be_given() -> None:
    shelf = Shelf()
    shelf.request(HEIR, OLD)
    shelf.register(HEIR)
    (restoring,) = shelf.page_pass(HEIR).works
    assert isinstance(restoring, PatchObject)
    assert [(one.subject.name, one.resource_version) for one in restoring.given] == [(HEIR, None), (OLD, None)]


def test_of_two_that_take_its_place_one_is_given_it() -> None:
    shelf = a_shelf()
    shelf.request(OTHER, OLD)
    shelf.register(HEIR)
    shelf.register(OTHER)
    shelf.run(OTHER, HEIR)
    assert (shelf.labels(HEIR), shelf.labels(OTHER)) == ({}, {"team": "blue"})
    assert shelf.is_marked(HEIR)


def test_its_own_memory_comes_first() -> None:
    shelf = a_shelf()
    shelf.remember(HEIR, team="red")
    shelf.register(HEIR)
    shelf.run(HEIR)
    assert shelf.labels(HEIR) == {"team": "red"}
    assert shelf.kept(OLD).claimed_by == ""


def test_what_was_taken_away_from_a_predecessor_stays_away_from_its_successor_for_good() -> None:
    shelf = a_shelf()
    shelf.remember(OLD, team="blue", removed=["old"])
    shelf.register(HEIR, old="x")
    shelf.run(HEIR, lasting=A_WHILE)
    assert shelf.labels(HEIR) == {"team": "blue"}
    assert shelf.kept(HEIR).memento.removed == ("old",)


# A predecessor that is still there


def test_a_dead_node_is_taken_over_while_its_object_is_still_there() -> None:
    shelf = a_shelf_with_it(taints=(SHUTDOWN,))
    shelf.register(HEIR)
    shelf.run(HEIR)
    assert shelf.labels(HEIR) == {"team": "blue"}


def test_and_stays_taken_over_when_its_object_goes() -> None:
    shelf = a_shelf_with_it(taints=(SHUTDOWN,))
    shelf.register(HEIR)
    shelf.run(HEIR, OLD, lasting=A_WHILE)
    shelf.leave(OLD)
    shelf.run(OLD)
    assert (shelf.kept(OLD).is_final, shelf.kept(OLD).claimed_by.partition("/")[0]) == (True, HEIR)


def test_one_that_works_keeps_what_it_is() -> None:
    shelf = a_shelf_with_it()
    shelf.register(HEIR)
    shelf.run(HEIR)
    assert (shelf.labels(HEIR), shelf.is_marked(HEIR), shelf.kept(OLD).claimed_by) == ({}, True, "")


def test_one_that_works_again_is_itself_from_then_on() -> None:
    """It never lost its labels. If it leaves and comes back one day, it is given what it was."""
    shelf = a_shelf_with_it(taints=(SHUTDOWN,))
    shelf.register(HEIR)
    shelf.run(HEIR, OLD, lasting=A_WHILE)
    assert shelf.kept(OLD).claimed_by
    shelf.change(OLD)
    shelf.run(OLD, lasting=A_WHILE)
    assert shelf.kept(OLD).claimed_by == ""


def test_what_it_was_when_it_left_is_waited_for() -> None:
    shelf = a_shelf_with_it(taints=(SHUTDOWN,))
    shelf.change(OLD, taints=[SHUTDOWN], labels={"team": "green"})
    shelf.leave(OLD)
    shelf.register(HEIR)
    assert shelf.page_pass(HEIR).works == ()
    shelf.run(OLD, HEIR)
    assert shelf.labels(HEIR) == {"team": "green"}


# A predecessor that comes back


def test_a_predecessor_that_comes_back_is_given_nothing_and_told_so() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.run(HEIR)
    shelf.register(OLD, zone="b")
    shelf.run(OLD)
    assert (shelf.labels(OLD), shelf.is_marked(OLD)) == ({"zone": "b"}, True)
    assert shelf.told == [(OLD, "Normal", "MemoryClaimed")]


def test_its_next_checkpoint_is_its_own() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.run(HEIR)
    uid = shelf.register(OLD, zone="b")
    shelf.run(OLD)
    shelf.run(OLD, lasting=A_WHILE)
    assert (shelf.kept(OLD).memento.uid, shelf.kept(OLD).claimed_by) == (uid, "")


def test_it_is_given_nothing_of_its_own_predecessor_either() -> None:
    """It took that place once, and has handed it on."""
    shelf = Shelf()
    shelf.remember("first", team="blue", claimed_by=f"{OLD}/long-ago")
    shelf.remember(OLD, team="blue", claimed_by=f"{HEIR}/uid")
    shelf.remember(HEIR, team="blue")
    shelf.request(OLD, "first")
    shelf.register(OLD)
    shelf.run(OLD)
    assert (shelf.labels(OLD), shelf.is_marked(OLD)) == ({}, True)


# Interrupted between the claim and the gift


def test_who_comes_next_goes_on_where_another_one_stopped() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.step(HEIR)
    shelf.forget_looks()
    shelf.run(HEIR)
    assert shelf.labels(HEIR) == {"team": "blue"}


def test_a_predecessor_that_comes_back_then_spoils_nothing() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.step(HEIR)
    shelf.register(OLD, team="red")
    shelf.run(OLD, lasting=A_WHILE)
    assert shelf.kept(OLD).memento.labels["team"] == "blue", "what is claimed stays until it is given"
    shelf.leave(OLD)
    shelf.run(OLD, lasting=A_WHILE)
    assert shelf.kept(OLD).memento.labels["team"] == "blue"
    shelf.run(HEIR)
    shelf.run(OLD)
    assert shelf.labels(HEIR) == {"team": "blue"}
    assert shelf.kept(OLD).memento.labels["team"] == "red"


def test_a_successor_that_registers_anew_is_given_it_in_its_second_life() -> None:
    shelf = a_shelf()
    shelf.register(HEIR)
    shelf.step(HEIR)
    shelf.leave(HEIR)
    uid = shelf.register(HEIR)
    shelf.run(HEIR)
    assert shelf.labels(HEIR) == {"team": "blue"}
    assert shelf.kept(OLD).claimed_by == f"{HEIR}/{uid}"


@pytest.mark.parametrize("returns", [OLD, OTHER], ids=["its predecessor", "another successor"])
def test_if_a_successor_is_gone_before_it_was_given_it_another_one_is(returns: str) -> None:
    shelf = a_shelf()
    shelf.request(OTHER, OLD)
    shelf.register(HEIR)
    shelf.step(HEIR)
    shelf.leave(HEIR)
    shelf.run(HEIR)
    shelf.register(returns)
    assert shelf.page_pass(returns).works == (), "it may only look as if it were gone"
    shelf.run(returns, lasting=A_WHILE)
    assert shelf.labels(returns) == {"team": "blue"}


@pytest.mark.parametrize("returns", [OLD, OTHER], ids=["its predecessor", "another successor"])
def test_but_not_if_it_was_given_it_and_is_remembered(returns: str) -> None:
    shelf = a_shelf()
    shelf.request(OTHER, OLD)
    shelf.register(HEIR)
    shelf.run(HEIR)
    shelf.leave(HEIR)
    shelf.run(HEIR)
    shelf.register(returns)
    shelf.run(returns, lasting=A_WHILE)
    assert (shelf.labels(returns), shelf.is_marked(returns)) == ({}, True)


# Nonsense


def test_a_memory_that_cannot_be_read_is_waited_for_and_told_on_the_successor() -> None:
    shelf = a_shelf()
    shelf.spoil(OLD)
    shelf.register(HEIR)
    page_pass = shelf.page_pass(HEIR)
    assert page_pass.works == ()
    (hold, _) = page_pass.told
    assert isinstance(hold, Hold)
    assert (hold.subject.name, hold.reason) == (HEIR, "MemoryUnreadable")
    assert hold.why.startswith("it takes the place of node old: ConfigMap growth-memory/old cannot be read")
    assert hold.why.endswith("mend it, or drop it with: growth memory forget old")
    shelf.remember(OLD, team="blue")
    shelf.run(HEIR)
    assert shelf.labels(HEIR) == {"team": "blue"}
