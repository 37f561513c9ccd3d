"""A table: who asks what has changed since then misses nobody."""

from hypothesis import given
from hypothesis import strategies as st

from growth.api.change import Change, ChangeType
from growth.api.core import Namespace
from growth.api.meta import ObjectMeta
from growth.observe.table import Table


def named(name: str, version: int) -> Namespace:
    return Namespace(ObjectMeta(name=name, uid=name, resource_version=version))


def happens(table: Table[Namespace], number: int, name: str, *, is_gone: bool = False) -> None:
    known = table.get(("", name))
    happened = ChangeType.DELETED if is_gone else ChangeType.ADDED if known is None else ChangeType.MODIFIED
    table.hear([Change(happened, named(name, number), known)])


@given(st.lists(st.tuples(st.sampled_from("abcd"), st.booleans()), max_size=30), st.integers(0, 30))
def test_whoever_looks_only_at_what_has_changed_sees_the_same(history: list[tuple[str, bool]], then: int) -> None:
    table = Table[Namespace]()
    known: dict[tuple[str, str], Namespace] = {}
    observed = 0
    for number, (name, is_gone) in enumerate(history):
        if number == then:
            known, observed = dict(table), table.observed
        happens(table, number, name, is_gone=is_gone)
    news = table.since(observed)
    assert news is not None
    for key in news:
        known.pop(key, None)
        if key in table:
            known[key] = table[key]
    assert known == dict(table)


def test_nobody_can_tell_what_happened_too_long_ago() -> None:
    table = Table[Namespace]()
    for number in range(10_000):
        happens(table, number, str(number % 7))
    assert table.since(0) is None
    assert table.since(9_998) == {("", str(9_998 % 7)), ("", str(9_999 % 7))}


def test_another_tables_number_is_never_ones_own() -> None:
    assert Table[Namespace]().number != Table[Namespace]().number
    assert Table[Namespace]().since(1) is None
