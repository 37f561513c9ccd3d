"""What every section of the settings is made of."""

from collections.abc import Iterator
from typing import Any

import msgspec

DNS_LABEL = "^[a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?\\Z"


def meaning(
    text: str,
    *,
    expected: str = "",
    nothing: str = "",
    takes_zero: bool = False,
    pattern: str | None = None,
    ge: int | None = None,
    le: int | None = None,
) -> msgspec.Meta:
    """What a setting means, its bounds and, where these would not tell a person, what is expected.

    ``nothing`` is the word for no value, where that is possible; ``takes_zero`` whether no time at all is a time.
    """
    bounds: dict[str, Any] = {"pattern": pattern, "ge": ge, "le": le}
    extra = {"expected": expected, "nothing": nothing, "takes_zero": takes_zero}
    return msgspec.Meta(description=text, extra=extra, **bounds)


class Section(msgspec.Struct, frozen=True, rename="camel"):
    """Settings that belong together."""

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """Fields whose values cannot stand together, each with the sentence that says why."""
        yield from ()
