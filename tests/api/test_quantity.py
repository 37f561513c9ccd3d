"""The table was written by apimachinery v0.36.3 itself; the properties hold for every text."""

import json
from fractions import Fraction
from pathlib import Path

import pytest
from hypothesis import given

from growth.api import quantity
from growth.api.quantity import MAX_VALUE, QuantityError, canonical, milli_value, nano_value, parse, value
from tests import strategies

# text, what the API server prints (null: it refuses), Value(), MilliValue() (null: Go overflows there, we do not)
VECTORS: list[tuple[str, str | None, int | None, int | None]] = json.loads(
    (Path(__file__).parent / "quantity_vectors.json").read_text()
)
ACCEPTED = [row for row in VECTORS if row[1] is not None]
REFUSED = [row[0] for row in VECTORS if row[1] is None]


@pytest.mark.parametrize(("text", "printed", "units", "thousandths"), ACCEPTED, ids=[repr(row[0]) for row in ACCEPTED])
def test_a_quantity_reads_and_prints_as_the_api_server_does(
    text: str, printed: str, units: int | None, thousandths: int | None
) -> None:
    assert canonical(text) == printed
    if units is not None:
        assert value(text) == units
    if thousandths is not None:
        assert milli_value(text) == thousandths


@pytest.mark.parametrize("text", REFUSED, ids=map(repr, REFUSED))
def test_what_the_api_server_refuses_is_refused_in_a_sentence(text: str) -> None:
    with pytest.raises(QuantityError, match="is not a quantity: expected a number") as refusal:
        parse(text)
    assert refusal.value.text == text
    assert repr(text) in str(refusal.value)


def test_a_number_beyond_64_bits_stays_at_the_limit_instead_of_becoming_nothing() -> None:
    for text in ("1e30", "8Ei", "99999999999999999999", "1e2000000000"):
        assert value(text) == MAX_VALUE
        assert milli_value(text) == MAX_VALUE
        assert value(f"-{text}") == -MAX_VALUE


def test_a_request_for_almost_nothing_is_a_request_for_something() -> None:
    for text in ("1e-30", "0.0000000001", "1e-2000000000", "0.1n"):
        assert nano_value(text) == value(text) == milli_value(text) == 1


def test_a_text_of_absurd_length_is_refused_at_once() -> None:
    with pytest.raises(QuantityError):
        parse("1" * 5_000)


def test_sums_are_exact_and_rounded_once() -> None:
    """Three containers of half a thousandth are two thousandths to the scheduler, not three."""
    total = sum(nano_value("500u") for _ in range(3))
    assert quantity.milli_from_nanos(total) == 2
    assert quantity.value_from_nanos(total) == 1


@given(strategies.quantities)
def test_printing_keeps_the_amount_and_prints_itself_again(text: str) -> None:
    printed = canonical(text)
    if abs(nano_value(text)) < quantity.MAX_NANOS:  # beyond E, apimachinery prints no suffix
        assert nano_value(printed) == nano_value(text)
        assert canonical(printed) == printed


@given(strategies.quantities, strategies.quantities)
def test_order_is_the_order_of_the_amounts(left: str, right: str) -> None:
    a, b = parse(left), parse(right)
    assert (a < b) == (a.nanos < b.nanos)
    assert (a == b) == (a.nanos == b.nanos)
    assert a != b or hash(a) == hash(b)


@given(strategies.positive_quantities)
def test_rounding_is_up_and_by_less_than_one_unit(text: str) -> None:
    amount = Fraction(nano_value(text), quantity.NANO)
    assert 0 <= value(text) - amount < 1
    if milli_value(text) < MAX_VALUE:
        assert 0 <= milli_value(text) - 1000 * amount < 1


@given(strategies.positive_quantities)
def test_a_sign_only_changes_the_sign(text: str) -> None:
    assert nano_value(f"-{text}") == -nano_value(text)
    assert nano_value(f"+{text}") == nano_value(text)
    assert value(f"-{text}") == -value(text)
    assert milli_value(f"-{text}") == -milli_value(text)
