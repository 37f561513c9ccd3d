"""Merge patches that share what they leave alone."""

from growth_lab.simulator.merge_patch import merged


def test_what_is_not_named_is_the_very_same_object() -> None:
    whole = {"a": {"b": 1}, "c": {"d": [1]}}
    new = merged(whole, {"a": {"b": 2}})
    assert new == {"a": {"b": 2}, "c": {"d": [1]}}
    assert new["c"] is whole["c"]
    assert whole["a"] == {"b": 1}


def test_nothing_to_change_gives_the_same_object() -> None:
    whole = {"a": {"b": 1}}
    assert merged(whole, {"a": {"b": 1}, "x": None}) is whole


def test_none_removes_and_deeper_none_is_never_stored() -> None:
    assert merged({"a": 1, "b": 2}, {"a": None, "n": {"x": None, "y": 1}}) == {"b": 2, "n": {"y": 1}}


def test_lists_and_scalars_are_replaced_whole() -> None:
    assert merged({"a": [1, 2], "b": {"c": 1}}, {"a": [3], "b": 5}) == {"a": [3], "b": 5}


def test_true_is_not_one() -> None:
    assert merged({"a": 1}, {"a": True})["a"] is True
