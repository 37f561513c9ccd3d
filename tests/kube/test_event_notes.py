"""What of a note decides which Event it belongs to."""

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.kube.event_notes import substance_of


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("admitted by ClusterQueue main, on one", "admitted by ClusterQueue main, on two"),
        ("pod shop/web-1 does not get ready", "pod shop/web-2 does not get ready"),
        ("hetzner-cx33-fsn1 is out of stock", "hetzner-cx43-fsn1 is out of stock"),
        ("node 5a-x: silent", "node 6a-x: silent"),
        ("needs a node with zone=1; 3 have none", "needs a node with zone=2; 3 have none"),
        ("spec.serverTypes[0].name is 'cx31'", "spec.serverTypes[0].name is 'cx32'"),
        ("host port 80/TCP is taken", "host port 81/TCP is taken"),
        ("image repo/app:1.2 is missing", "image repo/app:1.3 is missing"),
        ("address 10.0.0.1.example.org", "address 10.0.0.2.example.org"),
    ],
)
def test_names_are_substance_with_the_digits_in_them(one: str, other: str) -> None:
    assert substance_of(one) != substance_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("0 of 12 pods are ready", "11 of 12 pods are ready"),
        ("silent since 2026-11-18T21:54:01Z, and off", "silent since 2026-11-19T01:02:03.5Z, and off"),
        ("node a is silent since 21:54:01", "node a is silent since 22:00:00"),
        ("until 09:35 UTC.", "until 10:00 UTC."),
        ("backs off for 10s", "backs off for 1h2m30s"),
        ("needs 1.5GiB (5%)", "needs 700Mi (12.5%)"),
        ("saves 0.0136 EUR an hour", "saves 12 EUR an hour"),
        ("fits none of 12 nodes (3: full; 9: tainted)", "fits none of 8 nodes (4: full; 4: tainted)"),
        ("the 2nd time, 3/5 done", "the 103rd time, 4/5 done"),
        ("changed by +3 (-2)", "changed by +14 (-7)"),
    ],
)
def test_figures_are_no_substance(one: str, other: str) -> None:
    assert substance_of(one) == substance_of(other)


@given(st.text(alphabet="abc019.:/-=@ ,", max_size=60))
def test_a_substance_is_its_own_substance(note: str) -> None:
    assert substance_of(substance_of(note)) == substance_of(note)


@pytest.mark.parametrize("note", ["1" * 1023 + "x", "1m" * 511 + "xx", "1.1," * 256, "1:" * 512, "-1" * 512])
def test_a_long_row_of_digits_is_read_at_once(note: str) -> None:
    started = time.perf_counter()
    substance_of(note)
    assert time.perf_counter() - started < 0.1
