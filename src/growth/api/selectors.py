"""Label selectors and node selectors: which objects, which nodes, as the API server and the scheduler answer it.

Two pairs are easy to confuse and mean opposite things, so they stay different values here:

- No label selector (None) selects nothing; an empty one, ``LabelSelector()``, selects everything.
- A node selector's *terms* are alternatives, and an empty term (or no term at all) matches no node; inside a term
  everything must hold.

A requirement that makes no sense (In without values, ``Gt`` of a word, an illegal key) never raises: it fails its node
selector term, and only that, because the scheduler tries the other terms.
"""

import re
from collections.abc import Mapping
from functools import lru_cache

import msgspec

from growth.api.labels import is_label_key, is_label_value
from growth.api.slim import Slim

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GT = "Gt"
LT = "Lt"

LABEL_OPERATORS = frozenset({IN, NOT_IN, EXISTS, DOES_NOT_EXIST})
NODE_NAME_FIELD = "metadata.name"

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")


class Requirement(Slim, frozen=True):
    """One condition on one key; Gt and Lt exist for nodes only."""

    key: str
    operator: str
    values: tuple[str, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether the labels meet the condition; a missing key meets NotIn and DoesNotExist."""
        value = labels.get(self.key)
        match self.operator:
            case "In":
                return value is not None and value in self.values
            case "NotIn":
                return value is None or value not in self.values
            case "Exists":
                return value is not None
            case "DoesNotExist":
                return value is None
            case "Gt" | "Lt":
                return value is not None and _compares(value, self.operator, self.values)
            case _:
                return False


class LabelSelector(Slim, frozen=True):
    """All labels and all expressions must hold; without any, everything is selected."""

    match_labels: dict[str, str] = msgspec.field(default_factory=dict[str, str])
    match_expressions: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str]) -> bool:
        """Whether an object with these labels is selected; a selector that makes no sense selects nothing."""
        return (
            all(labels.get(key) == value for key, value in self.match_labels.items())
            and all(requirement.matches(labels) for requirement in self.match_expressions)
            and all(r.operator in LABEL_OPERATORS and is_valid(r) for r in self.match_expressions)
        )


def selects(selector: LabelSelector | None, labels: Mapping[str, str]) -> bool:
    """Whether the selector, which may be absent and then selects nothing, selects an object with these labels."""
    return selector is not None and selector.matches(labels)


class NodeSelectorTerm(Slim, frozen=True):
    """Conditions on a node's labels and name that must all hold; a term without conditions matches no node."""

    match_expressions: tuple[Requirement, ...] = ()
    match_fields: tuple[Requirement, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str = "") -> bool:
        """Whether a node matches; without a name only labels are asked, as for the affinity of a PersistentVolume."""
        if not self.match_expressions and not self.match_fields:
            return False
        if not all(requirement.matches(labels) for requirement in self.match_expressions):
            return False
        if name and not all(_field_matches(requirement, name) for requirement in self.match_fields):
            return False
        return all(map(is_valid, self.match_expressions)) and all(map(is_valid_field, self.match_fields))


class NodeSelector(Slim, frozen=True):
    """Alternatives: one matching term is enough, and without terms no node matches."""

    node_selector_terms: tuple[NodeSelectorTerm, ...] = ()

    def matches(self, labels: Mapping[str, str], name: str = "") -> bool:
        """Whether any term matches a node with these labels and this name."""
        return any(term.matches(labels, name) for term in self.node_selector_terms)


@lru_cache(4096)
def is_valid(requirement: Requirement) -> bool:
    """Whether the API server's label machinery would take this requirement at all."""
    count = len(requirement.values)
    match requirement.operator:
        case "In" | "NotIn":
            fits = count > 0
        case "Exists" | "DoesNotExist":
            fits = count == 0
        case "Gt" | "Lt":
            fits = count == 1 and _integer(requirement.values[0]) is not None
        case _:
            fits = False
    return fits and is_label_key(requirement.key) and all(map(is_label_value, requirement.values))


def is_valid_field(requirement: Requirement) -> bool:
    """Whether the scheduler takes this requirement on a field: In or NotIn of exactly one value."""
    return requirement.operator in (IN, NOT_IN) and len(requirement.values) == 1


def _field_matches(requirement: Requirement, name: str) -> bool:
    # metadata.name is the only field that the scheduler knows; every other one reads as empty.
    value = name if requirement.key == NODE_NAME_FIELD else ""
    return (value in requirement.values) == (requirement.operator == IN)


def _compares(label: str, operator: str, values: tuple[str, ...]) -> bool:
    """Strictly greater or less, both sides 64-bit integers; anything else is no."""
    left = _integer(label)
    right = _integer(values[0]) if len(values) == 1 else None
    if left is None or right is None:
        return False
    return left > right if operator == GT else left < right


def _integer(text: str) -> int | None:
    if not _INTEGER.fullmatch(text):
        return None
    number = int(text)
    return number if -(2**63) <= number < 2**63 else None
