"""The text of a list call and the selector it stands for."""

import pytest
from hypothesis import given

from growth.api.selectors import LabelSelector, Requirement, SelectorError, format_selector, parse_selector
from tests import strategies


@pytest.mark.parametrize(
    ("text", "selector"),
    [
        ("", LabelSelector()),
        ("a=b", LabelSelector({"a": "b"})),
        ("a==b, c = d", LabelSelector({"a": "b", "c": "d"})),
        ("a=", LabelSelector({"a": ""})),
        ("a=1,a=2", LabelSelector({"a": "1"}, (Requirement("a", "In", ("2",)),))),
        ("a!=b", LabelSelector({}, (Requirement("a", "NotIn", ("b",)),))),
        ("a", LabelSelector({}, (Requirement("a", "Exists"),))),
        ("!a", LabelSelector({}, (Requirement("a", "DoesNotExist"),))),
        ("a in (c,b)", LabelSelector({}, (Requirement("a", "In", ("b", "c")),))),
        ("a in ()", LabelSelector({}, (Requirement("a", "In", ("",)),))),
        ("a notin (b,,c)", LabelSelector({}, (Requirement("a", "NotIn", ("", "b", "c")),))),
        ("in in (in)", LabelSelector({}, (Requirement("in", "In", ("in",)),))),
    ],
)
def test_a_text_is_read_as_kubectl_reads_it(text: str, selector: LabelSelector) -> None:
    assert parse_selector(text) == selector


@pytest.mark.parametrize(
    "text", [",", "a,", "=b", "a b", "a=b=c", "a in b", "a in (b", "!a=b", "a>1", "-a", "a=b!", "(a)"]
)
def test_anything_else_is_refused_with_what_stood_where(text: str) -> None:
    with pytest.raises(SelectorError, match="is not a label selector: ") as refusal:
        parse_selector(text)
    assert repr(text) in str(refusal.value)


def test_a_selector_is_written_sorted() -> None:
    selector = LabelSelector(
        {"z": "1"},
        (Requirement("c", "In", ("e", "d")), Requirement("f", "DoesNotExist"), Requirement("b", "Exists")),
    )
    assert format_selector(selector) == "b,c in (d,e),!f,z=1"


def test_a_selector_that_the_server_would_refuse_is_not_written() -> None:
    with pytest.raises(SelectorError, match="is not a label requirement"):
        format_selector(LabelSelector({}, (Requirement("cores", "Gt", ("1",)),)))
    with pytest.raises(SelectorError, match="is not a label requirement"):
        format_selector(LabelSelector({"a": "no value!"}))


@given(strategies.label_selectors, strategies.labels)
def test_a_selector_survives_its_text(selector: LabelSelector, labels: dict[str, str]) -> None:
    again = parse_selector(format_selector(selector))
    assert again.matches(labels) == selector.matches(labels)
    assert format_selector(again) == format_selector(selector)
