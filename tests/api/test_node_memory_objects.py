"""Memories and transactions as ConfigMaps: what goes in comes out, and what is not ours says nothing to us."""

from collections import Counter

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.labels import is_label_key, is_label_value
from growth.api.meta import ObjectMeta
from growth.api.node_memory import (
    MemoryData,
    MemoryObject,
    NodeContents,
    TransactionData,
    TransactionObject,
    UnreadableRecord,
    digest_of,
    is_too_large,
    legal,
    memory_data,
    read_memory,
    read_transaction,
    shard_name,
    shard_of,
    transaction_body,
    transaction_name,
)
from growth.api.tolerations import Taint
from tests.repository import page_text

_NAMES = st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", fullmatch=True)
_PREFIXES = st.lists(st.from_regex(r"[a-z0-9]([-a-z0-9]{0,9}[a-z0-9])?", fullmatch=True), min_size=1, max_size=9).map(
    ".".join
)
_LONGEST = f"{'.'.join(['a' * 63] * 3)}.{'b' * 61}/{'c' * 63}"
_KEYS = st.one_of(
    _NAMES,
    st.tuples(_PREFIXES, _NAMES).map("/".join),
    st.sampled_from(["a---SLASH---b", "example.com/a---SLASH---b", "beta.kubernetes.io---SLASH---os", _LONGEST]),
)
_LABELS = st.dictionaries(_KEYS, st.one_of(st.just(""), _NAMES), max_size=12)
MEMENTO = NodeContents(uid="a", version=12, labels={"team": "blue"})


def stored(data: dict[str, str | None]) -> MemoryObject:
    """What a server keeps of that."""
    there = {key: value for key, value in data.items() if value is not None}
    return MemoryObject(ObjectMeta(name="worker-1", namespace="past"), msgspec.convert(there, MemoryData))


@pytest.mark.parametrize(("nodes", "share"), [(500, 6), (5000, 46)])
def test_some_nodes_share_a_shard_even_with_as_many_shards_as_there_can_be(nodes: int, share: int) -> None:
    counts = Counter(shard_of(f"node-{number}", 8192) for number in range(nodes))
    sharing = sum(count for count in counts.values() if count > 1)
    assert round(100 * sharing / nodes) == pytest.approx(share, abs=2)
    page = page_text("node-memory")
    section = page.partition("## How nodes are divided")[2].partition("\n## ")[0]
    assert f"of {nodes:,} " in section
    assert f" {share}%" in section


def test_the_longest_key_is_legal() -> None:
    assert len(_LONGEST) == 317
    assert is_label_key(_LONGEST)


@given(_LABELS, st.booleans())
def test_any_legal_label_comes_back_exactly(labels: dict[str, str], is_final: bool) -> None:  # noqa: FBT001
    assert all(is_label_key(key) and is_label_value(value) for key, value in labels.items())
    memento = NodeContents(
        uid="a", version=2**62, labels=labels, taints=(Taint("k", "v", "NoSchedule"),), removed=tuple(labels)
    )
    found = read_memory(stored(memory_data(memento, is_final=is_final)))
    assert (found.memento, found.is_final) == (memento, is_final)
    assert legal(found.memento.labels) == labels


@given(st.text(min_size=1, max_size=253), st.integers(0, 2**63), _LABELS)
def test_a_transaction_comes_back_exactly(node: str, version: int, labels: dict[str, str]) -> None:
    memento = NodeContents(uid="a", version=version, labels=labels)
    data = msgspec.convert(transaction_body("deleted", node, memento)["data"], TransactionData)
    found = read_transaction(TransactionObject(ObjectMeta(name=transaction_name(node, version)), data))
    assert found is not None
    assert (found.type, found.node, found.memento, found.version) == ("deleted", node, memento, version)
    assert len(found.metadata.name) <= 253


@pytest.mark.parametrize(
    "data",
    [
        TransactionData(),
        TransactionData("moved", "worker-1", "{}"),
        TransactionData("added", "worker-1", "nonsense"),
        TransactionData("added", "worker-1", '{"uid": "a", "version": "seven"}'),
        TransactionData("added", "worker-2", '{"uid": "a", "version": 7}'),
        TransactionData("added", "worker-1", '{"uid": "a", "version": 8}'),
    ],
    ids=["empty", "another type", "no JSON", "no version", "another node", "another version"],
)
def test_a_config_map_that_is_no_transaction_is_somebody_elses(data: TransactionData) -> None:
    assert read_transaction(TransactionObject(ObjectMeta(name=transaction_name("worker-1", 7)), data)) is None


@pytest.mark.parametrize(
    ("data", "words"),
    [
        ({"memory": "nonsense"}, ("past/worker-1", "its memory is 'nonsense'", "expected a JSON object")),
        ({"checkpoint": '{"uid": 7}'}, ("its checkpoint is", "uid")),
        ({}, ("its checkpoint is ''",)),
    ],
)
def test_what_cannot_be_read_is_told_with_its_name_and_its_words(
    data: dict[str, str | None], words: tuple[str, ...]
) -> None:
    with pytest.raises(UnreadableRecord) as caught:
        read_memory(stored(data))
    assert all(word in str(caught.value) for word in words), str(caught.value)


def test_a_memory_has_one_key_and_loses_the_claim_unless_it_is_the_same_life() -> None:
    final = memory_data(MEMENTO, is_final=True)
    assert (final["checkpoint"], final["claimedBy"], bool(final["memory"])) == (None, None, True)
    kept = memory_data(MEMENTO, is_final=False, keeps_claim=True)
    assert (kept["memory"], "claimedBy" in kept, bool(kept["checkpoint"])) == (None, False, True)


def test_a_config_map_holds_a_mebibyte_and_no_more() -> None:
    small = NodeContents(uid="a", version=1, labels={f"{number:063}": "x" * 63 for number in range(7_000)})
    assert not is_too_large(small)
    large = NodeContents(uid="a", version=1, labels={f"{number:063}": "x" * 63 for number in range(9_000)})
    assert is_too_large(large)


@given(st.text(max_size=253), st.integers(1, 8192))
def test_every_node_has_one_shard(node: str, shards: int) -> None:
    assert 0 <= shard_of(node, shards) < shards
    assert shard_name(shard_of(node, shards), shards).endswith(f"-of-{shards}")
    assert len(digest_of(node)) == 64
