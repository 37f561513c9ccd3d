"""What may stand in a label."""

import pytest

from growth.api.labels import is_hostname, is_label_key, is_label_value


@pytest.mark.parametrize("key", ["a", "growth.dev/pool", "A_b.c-1", "n" * 63, f"{'d' * 253}/x", "a.b-c/D"])
def test_a_name_with_or_without_a_dns_prefix_is_a_key(key: str) -> None:
    assert is_label_key(key)


@pytest.mark.parametrize(
    "key", ["", "/a", "a/", "a/b/c", "UP.dev/x", "-a", "a-", "n" * 64, f"{'d' * 254}/x", "a b", "a\n", "ä", "a..b/c"]
)
def test_anything_else_is_no_key(key: str) -> None:
    assert not is_label_key(key)


@pytest.mark.parametrize("value", ["", "1", "fsn1-dc14", "A_b.c", "v" * 63])
def test_a_value_may_be_empty_or_plain(value: str) -> None:
    assert is_label_value(value)


@pytest.mark.parametrize("value", ["-a", "a-", "a b", "a/b", "v" * 64, "a\n", "ä"])
def test_anything_else_is_no_value(value: str) -> None:
    assert not is_label_value(value)


@pytest.mark.parametrize("name", ["a", "1", "default-3f2a", "n" * 63])
def test_small_letters_digits_and_dashes_are_a_hostname(name: str) -> None:
    assert is_hostname(name)


@pytest.mark.parametrize("name", ["", "-a", "a-", "A", "a.b", "a_b", "n" * 64, "a\n", "ä"])
def test_anything_else_is_no_hostname(name: str) -> None:
    assert not is_hostname(name)
