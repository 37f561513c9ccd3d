"""The journal: who asks what changed since a number misses nobody, and hears of nobody twice."""

from hypothesis import given
from hypothesis import strategies as st

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.observe.cache import ClusterCache
from growth.observe.journal import ChangeJournal
from tests.decide.marketplace import NOW, a_node, a_removal, a_request


def noted(*names: str) -> ChangeJournal:
    journal = ChangeJournal()
    for name in names:
        journal.note(name)
    return journal


def test_a_new_journal_has_nothing_to_tell() -> None:
    assert ChangeJournal().since(0) == []


def test_the_newest_comes_first_and_each_name_once() -> None:
    journal = noted("a", "b", "a", "c")
    assert journal.since(0) == ["c", "a", "b"]
    assert journal.since(2) == ["c", "a"]
    assert journal.since(journal.number) == []


def test_who_missed_more_than_is_kept_looks_at_everything() -> None:
    journal = noted(*(f"n{number}" for number in range(40_000)))
    assert journal.since(1) is None
    left = journal.since(10_000)
    assert left is not None
    assert (len(left), left[0], left[-1]) == (30_000, "n39999", "n10000")


@given(st.lists(st.sampled_from("abcd")), st.integers(0, 30))
def test_nobody_is_missed(names: list[str], number: int) -> None:
    journal = noted(*names)
    found = journal.since(number)
    assert found is not None
    assert sorted(found) == sorted(set(names[number:]))


def test_the_world_notes_nodes_requests_and_removals_by_the_nodes_name() -> None:
    world = ClusterCache()
    listeners = world.listeners()
    node, request, removal = a_node("n1"), a_request("n2"), a_removal("n3")
    world.hear_of_nodes([Change(ChangeType.ADDED, node, None)])
    listeners[NODE_REQUESTS]([Change(ChangeType.ADDED, request, None)])
    listeners[NODE_REMOVAL_REQUESTS]([Change(ChangeType.ADDED, removal, None)])
    assert world.journal.since(0) == ["n3", "n2", "n1"]
    seen = world.snapshot(NOW).journal.number
    world.hear_of_nodes([Change(ChangeType.DELETED, node, node)])
    assert world.journal.since(seen) == ["n1"]
