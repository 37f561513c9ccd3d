"""Every sentence of the seed about node labels is shown by tests and stories that exist, and every story shows one."""

import re
from datetime import UTC, datetime

import pytest

from growth.api.change import Change, ChangeType
from growth.api.meta import ObjectMeta
from growth.api.node_memory import (
    NodeContents,
    TransactionData,
    TransactionObject,
    digest_of,
    read_transaction,
    transaction_body,
    transaction_name,
)
from growth.observe.node_history import NodeHistory
from tests.repository import page_text
from tests.seed_table import check_that_it_is_there, rows_of
from tests.stories.all_stories import STORIES

PAGE = page_text("node-memory")
SEED = PAGE.partition("## The seed, sentence by sentence")[2]
TOLD = {story.name for story in STORIES if story.capability == "memory"}
# What Kubernetes allows in the name of a ConfigMap, and of a node.
LONGEST_NAME = 253


@pytest.mark.parametrize(("sentence", "names"), rows_of(SEED), ids=lambda cell: str(cell)[:60])
def test_what_shows_a_sentence_exists(sentence: str, names: list[str]) -> None:
    assert names, sentence
    for name in names:
        check_that_it_is_there(name, "tests.decide.node_memory", TOLD)


def test_every_story_of_memory_shows_a_sentence() -> None:
    assert {name for _, names in rows_of(SEED) for name in names} >= TOLD


def test_a_transaction_is_named_after_the_node_and_its_version() -> None:
    for kind in ("added", "deleted"):
        found = a_transaction("worker-1", 4711, kind)
        transaction = read_transaction(found)
        assert found.metadata.name == f"{digest_of('worker-1')}.4711"
        assert transaction is not None
        assert (transaction.type, transaction.node, transaction.memento.labels) == (kind, "worker-1", {"team": "blue"})


def test_the_longest_name_of_a_node_has_a_transaction() -> None:
    node = ".".join(("a" * 63, "b" * 63, "c" * 63, "d" * 61))
    assert len(node) == LONGEST_NAME == len(transaction_name(node, 10**188 - 1))
    assert re.fullmatch(r"[0-9a-f]{64}\.7", transaction_name(node, 7))


def test_the_smallest_version_comes_first_as_an_integer() -> None:
    past = NodeHistory(lambda: datetime(2026, 1, 1, tzinfo=UTC))
    found = [a_transaction("worker-1", version, "deleted") for version in (1000, 99, 100)]
    past.hear_of_transactions(Change(ChangeType.ADDED, one, None) for one in found)
    assert [one.version for one in past.pages["worker-1"].transactions] == [99, 100, 1000]


def a_transaction(node: str, version: int, kind: str) -> TransactionObject:
    """One as it is in the cluster."""
    memento = NodeContents(uid=f"uid-{version}", version=version, labels={"team": "blue"})
    data = transaction_body("added" if kind == "added" else "deleted", node, memento)["data"]
    return TransactionObject(ObjectMeta(name=transaction_name(node, version)), TransactionData(**data))
