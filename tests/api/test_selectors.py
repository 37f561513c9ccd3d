"""Selectors answer as the API server and the scheduler do."""

import msgspec
import pytest
from hypothesis import given

from growth.api.selectors import LabelSelector, NodeSelector, NodeSelectorTerm, Requirement, selects
from tests import strategies

LABELS = {"zone": "fsn1", "cores": "8"}


def test_no_selector_selects_nothing_and_an_empty_one_everything() -> None:
    assert not selects(None, LABELS)
    assert selects(LabelSelector(), LABELS)
    assert selects(LabelSelector(), {})


def test_absent_and_empty_stay_different_when_decoded() -> None:
    class Term(msgspec.Struct):
        selector: LabelSelector | None = None

    assert msgspec.json.decode(b"{}", type=Term).selector is None
    assert msgspec.json.decode(b'{"selector": null}', type=Term).selector is None
    assert msgspec.json.decode(b'{"selector": {}}', type=Term).selector == LabelSelector()


@pytest.mark.parametrize(
    ("requirement", "matches"),
    [
        (Requirement("zone", "In", ("fsn1", "nbg1")), True),
        (Requirement("zone", "In", ("nbg1",)), False),
        (Requirement("rack", "In", ("nbg1",)), False),
        (Requirement("zone", "NotIn", ("nbg1",)), True),
        (Requirement("zone", "NotIn", ("fsn1",)), False),
        (Requirement("rack", "NotIn", ("r1",)), True),
        (Requirement("zone", "Exists"), True),
        (Requirement("rack", "Exists"), False),
        (Requirement("zone", "DoesNotExist"), False),
        (Requirement("rack", "DoesNotExist"), True),
        (Requirement("cores", "Gt", ("7",)), True),
        (Requirement("cores", "Gt", ("8",)), False),
        (Requirement("cores", "Lt", ("9",)), True),
        (Requirement("cores", "Lt", ("8",)), False),
        (Requirement("rack", "Gt", ("1",)), False),
        (Requirement("zone", "Gt", ("1",)), False),
        (Requirement("cores", "Gt", ("seven",)), False),
        (Requirement("cores", "Gt", ("1", "2")), False),
        (Requirement("cores", "Lt", ("9223372036854775808",)), False),
        (Requirement("cores", "Near", ("8",)), False),
    ],
    ids=str,
)
def test_a_node_requirement_answers_as_the_scheduler_does(requirement: Requirement, *, matches: bool) -> None:
    assert NodeSelectorTerm((requirement,)).matches(LABELS) is matches


def test_a_term_without_conditions_and_a_selector_without_terms_match_no_node() -> None:
    assert not NodeSelectorTerm().matches(LABELS, "node-1")
    assert not NodeSelector().matches(LABELS, "node-1")
    assert not NodeSelector((NodeSelectorTerm(),)).matches(LABELS, "node-1")


@pytest.mark.parametrize(
    ("requirement", "matches"),
    [
        (Requirement("metadata.name", "In", ("node-1",)), True),
        (Requirement("metadata.name", "In", ("node-2",)), False),
        (Requirement("metadata.name", "NotIn", ("node-2",)), True),
        (Requirement("metadata.name", "In", ("node-1", "node-2")), False),
        (Requirement("metadata.name", "Exists"), False),
        (Requirement("metadata.uid", "In", ("node-1",)), False),
    ],
    ids=str,
)
def test_of_a_nodes_fields_only_the_name_is_known_and_only_one_value_at_a_time(
    requirement: Requirement, *, matches: bool
) -> None:
    assert NodeSelectorTerm((), (requirement,)).matches(LABELS, "node-1") is matches


def test_without_a_name_only_labels_are_asked() -> None:
    """So it is for a PersistentVolume's node affinity, whose field requirements always pass."""
    term = NodeSelectorTerm((), (Requirement("metadata.name", "In", ("node-1",)),))
    assert term.matches(LABELS)


def test_a_label_selector_knows_no_gt() -> None:
    assert not LabelSelector({}, (Requirement("cores", "Gt", ("1",)),)).matches(LABELS)


@given(strategies.label_keys, strategies.label_values, strategies.labels)
def test_in_and_not_in_are_opposites(key: str, value: str, labels: dict[str, str]) -> None:
    assert Requirement(key, "In", (value,)).matches(labels) != Requirement(key, "NotIn", (value,)).matches(labels)


@given(strategies.label_selectors, strategies.label_selectors, strategies.labels)
def test_more_conditions_never_select_more(left: LabelSelector, right: LabelSelector, labels: dict[str, str]) -> None:
    both = LabelSelector(left.match_labels, left.match_expressions + right.match_expressions)
    assert not both.matches(labels) or left.matches(labels)


@given(strategies.node_selectors, strategies.node_terms, strategies.labels)
def test_more_terms_never_match_less(selector: NodeSelector, term: NodeSelectorTerm, labels: dict[str, str]) -> None:
    wider = NodeSelector((*selector.node_selector_terms, term))
    assert wider.matches(labels, "n") == (selector.matches(labels, "n") or term.matches(labels, "n"))


@given(strategies.node_selectors, strategies.node_terms, strategies.invalid_requirements, strategies.labels)
def test_an_invalid_requirement_kills_its_term_and_only_that(
    others: NodeSelector, term: NodeSelectorTerm, invalid: Requirement, labels: dict[str, str]
) -> None:
    killed = NodeSelectorTerm((*term.match_expressions, invalid))
    selector = NodeSelector((killed, *others.node_selector_terms))
    assert not killed.matches(labels, "n")
    assert selector.matches(labels, "n") == others.matches(labels, "n")
