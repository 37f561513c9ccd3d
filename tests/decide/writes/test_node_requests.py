"""The name of a request follows from what is wanted, so that nobody buys twice."""

import msgspec
from hypothesis import given
from hypothesis import strategies as st

from growth.api.node_pool import MAX_POOL_NAME
from growth.api.node_request import MAX_NODE_NAME
from growth.decide.writes.node_requests import request_name
from tests.decide.marketplace import a_pool

POOL = a_pool()
TAKEN: frozenset[str] = frozenset()


def test_the_same_wish_has_the_same_name_in_whatever_order_it_is_put() -> None:
    assert request_name(POOL, "small", ["a", "b"], TAKEN) == request_name(POOL, "small", ["b", "a"], TAKEN)


def test_another_wish_has_another_name() -> None:
    names = {
        request_name(POOL, "small", ["a", "b"], TAKEN),
        request_name(POOL, "large", ["a", "b"], TAKEN),
        request_name(POOL, "small", ["a"], TAKEN),
        request_name(a_pool("gpu"), "small", ["a", "b"], TAKEN),
    }
    assert len(names) == 4


def test_a_pool_that_was_made_anew_is_another_one() -> None:
    meta = msgspec.structs.replace(POOL.metadata, uid="another")
    anew = msgspec.structs.replace(POOL, metadata=meta)
    assert request_name(POOL, "small", ["a"], TAKEN) != request_name(anew, "small", ["a"], TAKEN)


@given(st.lists(st.text(min_size=1), max_size=4), st.integers(0, 5))
def test_a_name_that_is_taken_is_skipped_and_the_next_is_always_the_same(pods: list[str], tries: int) -> None:
    taken: list[str] = []
    for _ in range(tries):
        taken.append(request_name(POOL, "small", pods, taken))
    assert len(set(taken)) == tries
    assert request_name(POOL, "small", pods, taken) == request_name(POOL, "small", pods, taken[::-1])


@given(st.integers(1, MAX_POOL_NAME))
def test_a_name_fits_a_hostname_for_the_longest_pool(length: int) -> None:
    name = request_name(a_pool("p" * length), "kwok-small-fsn1", ["uid"] * 100, TAKEN)
    assert len(name) <= MAX_NODE_NAME
    assert name.startswith("p" * length + "-")
