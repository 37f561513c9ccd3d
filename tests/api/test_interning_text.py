"""Texts that are kept: alone, and once."""

import tracemalloc

import msgspec

from growth.api.decoding import Reader
from growth.api.interning import InternTables, kept
from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.workload import Workload


class Envelope(msgspec.Struct, frozen=True):
    text: msgspec.Raw
    beside: str = ""


def test_it_is_the_same_text_and_one_copy_for_all() -> None:
    one, other = (msgspec.json.decode(b'{"text": {"a": 1}}', type=Envelope).text for _ in range(2))
    assert bytes(kept(one)) == b'{"a": 1}'
    assert kept(one) is kept(other)


def a_large_workload(number: int) -> Workload:
    beside = {"managedFields": [{"manager": "x" * 10_000}]}
    manifest: dict[str, object] = {
        "metadata": {"name": f"one-{number}", "namespace": "default", **beside},
        "spec": {"podSets": [{"name": "main", "template": {"spec": {}}}]},
    }
    return Reader(WORKLOADS, InternTables()).object(msgspec.json.encode(manifest))


def test_what_was_read_beside_a_template_is_not_kept() -> None:
    a_large_workload(0)
    tracemalloc.start()
    try:
        kept_ones = [a_large_workload(number) for number in range(20)]
        size, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert len(kept_ones) == 20
    assert size < 20 * 5_000, "a workload holds on to all that was read with it"
