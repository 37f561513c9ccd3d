"""Memories as files: what export writes is what import reads, and whatever is wrong is told with its place."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.meta import ObjectMeta
from growth.api.node_memory import MARKER, NodeContents, NodeRecord
from growth.api.tolerations import Taint
from growth.cli.errors import UsageError
from growth.cli.memory_documents import MemoryDocument, documents_in, entries_in, written

KEYS = st.from_regex(r"(example\.com/)?[A-Za-z0-9]([-A-Za-z0-9_.]{0,30}[A-Za-z0-9])?", fullmatch=True)
# What YAML takes for something else unless it is in quotes.
TRICKY = st.sampled_from(["true", "no", "1", "1.0", "1e3", "0x1f", "2026-11-15", "null", "", "12_000"])
VALUES = TRICKY | st.from_regex(r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?", fullmatch=True)


def read(text: str) -> list[MemoryDocument]:
    return entries_in(documents_in(text, "memories.yaml"), "memories.yaml")


@pytest.mark.parametrize("output", ["yaml", "json"])
@given(labels=st.dictionaries(KEYS | TRICKY.filter(bool), VALUES), note=st.text())
def test_what_is_exported_is_what_is_imported(output: str, labels: dict[str, str], note: str) -> None:
    memento = NodeContents(
        uid="u", version=77, provider_id="hcloud://1", labels={**labels, MARKER: "7"}, removed=("away---SLASH---x",),
        annotations={"example.com/note": note}, taints=(Taint("gpu", "yes", "NoSchedule"),),
    )  # fmt: skip
    memories = [(name, NodeRecord(ObjectMeta(), memento, True, "x/y")) for name in ("worker-1", "worker-2")]  # noqa: FBT003
    entries = read(written(memories, output, "# from here\n"))
    assert [(entry.node, entry.claimed_by) for entry in entries] == [("worker-1", "x/y"), ("worker-2", "x/y")]
    got = entries[0].memento
    assert (got.uid, got.version, got.at) == ("", 0, None), "of another cluster, they mean nothing"
    assert got.labels == memento.labels, "with the marker: it says that what it had claimed was given to it"
    assert (got.annotations, got.taints, got.removed) == (memento.annotations, memento.taints, memento.removed)


def test_a_json_list_is_read_too() -> None:
    entries = read('[{"node": "a"},\n {"node": "b", "labels": {"x": "y"}}]')
    assert [(one.node, one.memento.labels) for one in entries] == [("a", {}), ("b", {"x": "y"})]


BAD = {
    "a misspelt field": ("node: a\nlables: {}", "document 1 (node a): a field is 'lables', expected labels"),
    "no name": ("labels: {}", "document 1: node is None, expected a node's name"),
    "a name of no node": ("node: A_b", "node is 'A_b', expected a node's name: small letters, digits, '-' and '.'"),
    "a value without quotes": (
        "node: a\nlabels: {x: true}",
        "labels, x is True, expected a text: write it in quotes",
    ),
    "an illegal key": ("node: a\nlabels: {'a b': c}", "labels, a key is 'a b', expected a label's key"),
    "an illegal value": ("node: a\nlabels: {x: 'no good!'}", "labels, x is 'no good!', expected up to 63 letters"),
    "labels that are none": ("node: a\nlabels: 7", "labels is 7, expected keys with values"),
    "removed keys that are none": ("node: a\nremoved: x", "removed is 'x', expected a list"),
    "a removed key that is none": ("node: a\nremoved: ['a b']", "removed, a key is 'a b', expected a label's key"),
    "an effect that is none": (
        "node: a\ntaints: [{key: x, effect: Never}]",
        "taints, one is {'key': 'x', 'effect': 'Never'}, expected key, value and effect, which is NoSchedule",
    ),
    "an annotation that is no text": ("node: a\nannotations: {x: 1}", "annotations, x is 1, expected a text"),
    "an annotation's key that is none": ("node: a\nannotations: {'a b': x}", "annotations, a key is 'a b'"),
    "a number for a text": ("node: a\nproviderID: 7", "providerID is 7, expected a text"),
    "one node twice": ("node: a\n---\nnode: a", "document 2 (node a): node is 'a', expected each node once"),
    "a list": ("node: a\n---\n- x", "document 2: it is ['x'], expected fields such as node and labels"),
    "ConfigMaps": (
        "kind: ConfigMap",
        "kind is 'ConfigMap', expected no such field: for ConfigMaps say --from configmaps",
    ),
}


@pytest.mark.parametrize(("text", "words"), BAD.values(), ids=BAD)
def test_what_is_wrong_is_told_with_field_value_and_what_was_expected(text: str, words: str) -> None:
    with pytest.raises(UsageError) as refused:
        read(text)
    assert words in refused.value.message
    assert refused.value.message.endswith("nothing was imported")


def test_more_than_a_config_map_holds_is_refused() -> None:
    with pytest.raises(UsageError, match="expected less than a ConfigMap of 1 MiB holds"):
        read(f"node: a\nannotations: {{x: '{'y' * 1024 * 1024}'}}")


def test_many_problems_are_counted() -> None:
    with pytest.raises(UsageError, match="and 90 more"):
        read("\n---\n".join(f"node: n{number}\nlabels: 7" for number in range(100)))


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("# nothing\n---\n", "is empty"),
        ("a: [", "cannot be read as YAML or JSON"),
        ("{a", "cannot be"),
    ],
)
def test_a_text_that_is_none_is_refused(text: str, words: str) -> None:
    with pytest.raises(UsageError, match=words):
        documents_in(text, "memories.yaml")
