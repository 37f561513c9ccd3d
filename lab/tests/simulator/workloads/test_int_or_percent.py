"""Amounts written as numbers or percentages."""

import pytest

from growth_lab.simulator.workloads.int_or_percent import BadShare, share_of


def test_a_percentage_is_rounded_as_asked() -> None:
    assert [share_of("25%", 10, up=True), share_of("25%", 10, up=False), share_of(7, 10, up=True)] == [3, 2, 7]


@pytest.mark.parametrize("written", ["half", "25", "%", "-5%"])
def test_an_amount_that_makes_no_sense_is_named(written: str) -> None:
    with pytest.raises(BadShare, match=f"'{written}' is not an amount: expected a number or a percentage"):
        share_of(written, 10, up=True)
