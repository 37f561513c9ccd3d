"""Label selectors and node selectors: which objects, which nodes, as the API server and the scheduler answer it.

Two pairs are easy to confuse and mean opposite things, so they stay different values here:

- No label selector (None) selects nothing; an empty one, ``LabelSelector()``, selects everything.
- A node selector's *terms* are alternatives, and an empty term (or no term at all) matches no node; inside a term
  everything must hold.

A requirement that makes no sense (In without values, ``Gt`` of a word, an illegal key) never raises: it fails its node
selector term, and only that, because the scheduler tries the other terms.

Label selectors as list calls and people write them: "a=b,c in (d,e),!f".

Reading follows apimachinery's parser, so what ``kubectl -l`` takes we take, but for ``>`` and ``<``, which a
LabelSelector cannot hold. Writing sorts by key and value: equal selectors give equal texts, and so equal requests.
"""

import re
from collections.abc import Iterator, Mapping
from functools import lru_cache

import msgspec

from growth.api.labels import is_label_key, is_label_value
from growth.api.meta import FrozenValue

IN = "In"
NOT_IN = "NotIn"
EXISTS = "Exists"
DOES_NOT_EXIST = "DoesNotExist"
GT = "Gt"
LT = "Lt"

LABEL_OPERATORS = frozenset({IN, NOT_IN, EXISTS, DOES_NOT_EXIST})
NODE_NAME_FIELD = "metadata.name"

_INTEGER = re.compile(r"[+-]?[0-9]{1,40}")


class Requirement(FrozenValue, frozen=True):
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


class LabelSelector(FrozenValue, frozen=True):
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


class NodeSelectorTerm(FrozenValue, frozen=True):
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


class NodeSelector(FrozenValue, frozen=True):
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


_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+|$)")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">", ""))


class SelectorError(ValueError):
    """A text or a selector that list calls cannot carry."""


def parse_selector(text: str) -> LabelSelector:
    """Read a selector; the empty text selects everything."""
    return _Reader(text).read()


def format_selector(selector: LabelSelector) -> str:
    """Write a selector for a list call; raises SelectorError for one that the API server would refuse."""
    equalities = [Requirement(key, IN, (value,)) for key, value in selector.match_labels.items()]
    texts = [(r.key, f"{r.key}={r.values[0]}") for r in equalities if _checked(r)]
    texts += [(r.key, _format(r)) for r in selector.match_expressions]
    return ",".join(text for _, text in sorted(texts))


def _checked(requirement: Requirement) -> Requirement:
    if requirement.operator in LABEL_OPERATORS and is_valid(requirement):
        return requirement
    raise SelectorError(
        f"{requirement.key!r} {requirement.operator} {list(requirement.values)} is not a label requirement: expected "
        "In or NotIn with values, or Exists or DoesNotExist without, on legal label keys and values"
    )


def _format(requirement: Requirement) -> str:
    key, values = _checked(requirement).key, ",".join(sorted(set(requirement.values)))
    match requirement.operator:
        case "Exists":
            return key
        case "DoesNotExist":
            return f"!{key}"
        case "In":
            return f"{key} in ({values})"
        case _:
            return f"{key} notin ({values})"


class _Reader:
    """One pass over the tokens, one token ahead."""

    def __init__(self, text: str) -> None:
        self._text = text
        self._tokens = _tokens(text)
        self._next = next(self._tokens)
        self._labels: dict[str, str] = {}
        self._requirements: list[Requirement] = []

    def read(self) -> LabelSelector:
        while self._next:
            self._requirement()
            if self._next and self._take(",") == "," and not self._next:
                raise self._error("a key behind the comma")
        return LabelSelector(self._labels, tuple(self._requirements))

    def _requirement(self) -> None:
        is_absent = self._next == "!"
        if is_absent:
            self._take("!")
        key = self._word("a key")
        if is_absent or self._next in {"", ","}:
            self._add(Requirement(key, DOES_NOT_EXIST if is_absent else EXISTS))
            return
        match self._take("=", "==", "!=", "in", "notin"):
            case "=" | "==":
                self._add_equality(key, self._value())
            case "!=":
                self._add(Requirement(key, NOT_IN, (self._value(),)))
            case "in":
                self._add(Requirement(key, IN, self._values()))
            case _:
                self._add(Requirement(key, NOT_IN, self._values()))

    def _value(self) -> str:
        return "" if self._next in {"", ","} else self._word("a value")

    def _values(self) -> tuple[str, ...]:
        self._take("(")
        values = {"" if self._next in {",", ")"} else self._word("a value")}
        while self._take(",", ")") == ",":
            values.add("" if self._next in {",", ")"} else self._word("a value"))
        return tuple(sorted(values))

    def _add(self, requirement: Requirement) -> None:
        if not is_valid(requirement):
            raise self._error(f"legal label keys and values, unlike {requirement.key!r} {list(requirement.values)}")
        self._requirements.append(requirement)

    def _add_equality(self, key: str, value: str) -> None:
        self._add(Requirement(key, IN, (value,)))
        if self._labels.setdefault(key, value) == value:  # a second, different value can only stay a requirement
            self._requirements.pop()

    def _word(self, expected: str) -> str:
        if self._next in _SYMBOLS:
            raise self._error(expected)
        word, self._next = self._next, next(self._tokens)
        return word

    def _take(self, *expected: str) -> str:
        if self._next not in expected:
            raise self._error(" or ".join(expected))
        taken, self._next = self._next, next(self._tokens, "")
        return taken

    def _error(self, expected: str) -> SelectorError:
        found = f"found {self._next!r}" if self._next else "it ended"
        return SelectorError(f"{self._text!r} is not a label selector: {found} where it should have {expected}")


def _tokens(text: str) -> Iterator[str]:
    """Words and symbols, then empty strings for ever."""
    for token in _TOKEN.finditer(text):
        yield token[1]
    while True:
        yield ""
