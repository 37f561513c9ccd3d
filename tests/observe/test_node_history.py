"""What is known about a name, from three streams of which each may lag."""

from datetime import timedelta

from growth.api.change import Change, ChangeType
from growth.api.meta import ObjectMeta
from growth.api.node import Node
from growth.api.node_memory import (
    MARKER,
    REMOVED_AT_MOST,
    MemoryData,
    MemoryObject,
    NodeContents,
    TransactionData,
    TransactionObject,
    text_of,
    transaction_name,
)
from growth.observe.node_history import NodeHistory, NodePage
from growth_lab.simulator.clock import BEGINNING as NOW

NAME = "worker-1"


class Told:
    """A Past, and what it was told of nodes last."""

    def __init__(self) -> None:
        self.past = NodeHistory(lambda: NOW)
        self._last: dict[str, Node] = {}

    @property
    def page(self) -> NodePage:
        return self.past.pages.get(NAME) or NodePage(NAME)

    def node(self, uid: str, version: int, **labels: str) -> None:
        now = Node(ObjectMeta(name=NAME, uid=uid, resource_version=version, labels=labels))
        before = self._last.get(uid)
        self._last[uid] = now
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self.past.hear_of_nodes([Change(happened, now, before)])

    def gone(self, uid: str, version: int = 0) -> None:
        """It went, as this version; without one, that was missed."""
        before = self._last.pop(uid)
        meta = before.metadata
        last = Node(
            ObjectMeta(name=NAME, uid=uid, resource_version=version or meta.resource_version, labels=meta.labels)
        )
        self.past.hear_of_nodes([Change(ChangeType.DELETED, last, before)])

    def transaction(self, kind: str, uid: str, version: int, *, is_over: bool = False) -> None:
        memento = NodeContents(uid=uid, version=version)
        data = TransactionData(kind, NAME, text_of(memento))
        made = TransactionObject(ObjectMeta(name=transaction_name(NAME, version)), data)
        self.past.hear_of_transactions([Change(ChangeType.DELETED if is_over else ChangeType.ADDED, made, None)])

    def memory(self, uid: str, version: int, *, is_final: bool = True, is_marked: bool = True) -> None:
        text = text_of(NodeContents(uid=uid, version=version, labels={MARKER: "0"} if is_marked else {}))
        self.memory_of(MemoryData(memory=text) if is_final else MemoryData(checkpoint=text))

    def memory_of(self, data: MemoryData, happened: ChangeType = ChangeType.MODIFIED) -> None:
        self.past.hear_of_memories([Change(happened, MemoryObject(ObjectMeta(name=NAME), data), None)])


def test_a_life_begins_with_the_version_in_which_it_was_first_seen() -> None:
    told = Told()
    told.node("a", 10)
    told.node("a", 12, team="blue")
    assert (told.page.first_version, told.page.heard_at, told.page.uid) == (10, NOW, "a")
    told.gone("a", 14)
    told.node("b", 20)
    assert (told.page.first_version, told.page.uid, list(told.page.departed)) == (20, "b", ["a"])
    assert told.past.nodes_version == 20


def test_an_end_that_nobody_told_has_the_version_that_was_last_seen() -> None:
    told = Told()
    told.node("a", 10)
    told.gone("a")
    assert told.page.departed["a"].is_missed
    told.node("b", 20)
    told.gone("b", 22)
    assert not told.page.departed["b"].is_missed


def test_the_end_of_an_earlier_one_leaves_the_one_that_came_since() -> None:
    told = Told()
    told.node("a", 10)
    told.node("b", 20)
    told.gone("a", 15)
    assert (told.page.uid, list(told.page.departed)) == ("b", ["a"])


def test_keys_that_a_node_was_seen_to_lose_are_kept_in_their_order_and_not_for_ever() -> None:
    told = Told()
    told.node("a", 10, team="blue", rack="r7")
    told.node("a", 11, rack="r7")
    told.node("a", 12)
    assert told.page.removed == ("team", "rack")
    told.node("a", 13, team="red")
    assert told.page.removed == ("rack",)
    for number in range(REMOVED_AT_MOST + 9):
        told.node("a", 20 + number, **{f"key-{number}": ""})
    assert len(told.page.removed) == REMOVED_AT_MOST
    assert told.page.removed[-1] == f"key-{REMOVED_AT_MOST + 7}"
    told.gone("a", 999)
    assert told.page.departed["a"].removed[-1] == f"key-{REMOVED_AT_MOST + 7}"


def test_who_is_known_to_be_written_down_is_kept_no_longer() -> None:
    told = Told()
    told.node("a", 10)
    told.gone("a", 14)
    told.transaction("deleted", "a", 12)
    assert list(told.page.departed) == ["a"], "somebody saw less of it than we did"
    told.transaction("deleted", "a", 14)
    assert (list(told.page.departed), told.page.written) == ([], {"a": 14})


def test_what_was_written_down_is_known_before_and_after_the_node_is_heard_to_go() -> None:
    told = Told()
    told.node("a", 10)
    told.transaction("deleted", "a", 14)
    told.transaction("deleted", "a", 14, is_over=True)
    told.gone("a", 14)
    assert told.page.departed == {}


def test_a_memory_says_that_its_node_was_written_down() -> None:
    told = Told()
    told.node("a", 10)
    told.gone("a", 14)
    told.memory("a", 12, is_final=False)
    assert list(told.page.departed) == ["a"]
    told.memory("a", 14)
    assert told.page.departed == {}


def test_who_left_before_one_that_is_remembered_matters_no_more() -> None:
    told = Told()
    told.node("a", 10)
    told.gone("a", 14)
    told.memory("b", 30, is_marked=False)
    assert list(told.page.departed) == ["a"], "that one had not been given what this one was"
    told.memory("b", 31, is_final=False)
    assert told.page.departed == {}


def test_who_was_written_down_and_forgotten_is_not_written_down_again() -> None:
    told = Told()
    told.node("a", 10)
    told.gone("a", 14)
    told.memory("a", 12)
    assert list(told.page.departed) == ["a"]
    told.memory_of(MemoryData(), ChangeType.DELETED)
    assert told.past.pages == {}, "nothing is left to tell"


def test_transactions_stand_in_the_order_of_their_versions() -> None:
    told = Told()
    for version in (100, 9, 20):
        told.transaction("deleted", "a", version)
    assert [one.version for one in told.page.transactions] == [9, 20, 100]
    told.transaction("added", "b", 20)
    assert [(one.type, one.version) for one in told.page.transactions][1] == ("added", 20)
    assert told.page.arrivals == ("b",)


def test_a_memory_that_cannot_be_read_is_a_problem_until_it_is_mended() -> None:
    told = Told()
    told.memory_of(MemoryData(memory="nonsense"))
    assert (told.page.record, "nonsense" in told.page.problem) == (None, True)
    told.memory("a", 12)
    assert told.page.problem == ""


def test_what_a_node_says_every_few_seconds_wakes_nobody() -> None:
    told = Told()
    told.node("a", 10, team="blue")
    number = told.past.journal.number
    told.node("a", 11, team="blue")
    assert (told.past.journal.number, told.past.nodes_version) == (number, 11)
    assert told.page.node is not None
    assert told.page.node.metadata.resource_version == 11
    told.node("a", 12, team="red")
    assert told.past.journal.since(number) == [NAME]


def test_heard_at_is_when_it_was_heard() -> None:
    instants = iter([NOW, NOW + timedelta(seconds=3)])
    past = NodeHistory(lambda: next(instants))
    past.hear_of_nodes([Change(ChangeType.ADDED, Node(ObjectMeta(name=NAME, uid="a", resource_version=1)), None)])
    assert past.pages[NAME].heard_at == NOW
