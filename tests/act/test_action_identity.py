"""An object that is there already: the same, or another one."""

import pytest

from growth.act.action_runner import contains

CASES = [
    pytest.param({"a": 1, "b": 2}, {"a": 1}, True, id="more than was wanted is there"),
    pytest.param({"a": 1}, {"a": 2}, False, id="another value"),
    pytest.param({}, {"a": 1}, False, id="a field is missing"),
    pytest.param({"a": {"b": 1, "c": 2}}, {"a": {"b": 1}}, True, id="defaults deep inside"),
    pytest.param({"a": [{"b": 1, "c": 2}]}, {"a": [{"b": 1}]}, True, id="defaults inside of an item"),
    pytest.param({"a": [1, 2]}, {"a": [1]}, False, id="a longer list is another list"),
    pytest.param({"a": [2, 1]}, {"a": [1, 2]}, False, id="another order is another list"),
    pytest.param({"a": "b"}, {"a": {"b": 1}}, False, id="a value where a mapping was wanted"),
    pytest.param({"a": 1}, {"a": [1]}, False, id="a value where a list was wanted"),
    pytest.param({"a": "1"}, {"a": "1", "b": None}, True, id="nothing was wanted there"),
]


@pytest.mark.parametrize(("there", "wanted", "is_same"), CASES)
def test_everything_that_was_wanted_is_there(there: object, wanted: object, *, is_same: bool) -> None:
    assert contains(there, wanted) is is_same
