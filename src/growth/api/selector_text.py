"""Label selectors as list calls and people write them: "a=b,c in (d,e),!f".

Reading follows apimachinery's parser, so what ``kubectl -l`` takes we take, but for ``>`` and ``<``, which a
LabelSelector cannot hold. Writing sorts by key and value: equal selectors give equal texts, and so equal requests.
"""

import re
from collections.abc import Iterator

from growth.api import selectors
from growth.api.selectors import LabelSelector, Requirement, is_valid

_TOKEN = re.compile(r"[ \t\r\n]*(==|!=|[=!(),<>]|[^=!(),<> \t\r\n]+|$)")
_SYMBOLS = frozenset(("==", "!=", "=", "!", "(", ")", ",", "<", ">", ""))


class SelectorError(ValueError):
    """A text or a selector that list calls cannot carry."""


def parse_selector(text: str) -> LabelSelector:
    """Read a selector; the empty text selects everything."""
    return _Reader(text).read()


def format_selector(selector: LabelSelector) -> str:
    """Write a selector for a list call; raises SelectorError for one that the API server would refuse."""
    equalities = [Requirement(key, selectors.IN, (value,)) for key, value in selector.match_labels.items()]
    texts = [(r.key, f"{r.key}={r.values[0]}") for r in equalities if _checked(r)]
    texts += [(r.key, _format(r)) for r in selector.match_expressions]
    return ",".join(text for _, text in sorted(texts))


def _checked(requirement: Requirement) -> Requirement:
    if requirement.operator in selectors.LABEL_OPERATORS and is_valid(requirement):
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
            self._add(Requirement(key, selectors.DOES_NOT_EXIST if is_absent else selectors.EXISTS))
            return
        match self._take("=", "==", "!=", "in", "notin"):
            case "=" | "==":
                self._add_equality(key, self._value())
            case "!=":
                self._add(Requirement(key, selectors.NOT_IN, (self._value(),)))
            case "in":
                self._add(Requirement(key, selectors.IN, self._values()))
            case _:
                self._add(Requirement(key, selectors.NOT_IN, self._values()))

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
        self._add(Requirement(key, selectors.IN, (value,)))
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
