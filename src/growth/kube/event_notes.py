"""The substance of a note: its text without the figures.

Notes with the same substance are one series of Events (``event_aggregation``). Counts, amounts, prices, durations and
instants are figures: they change from pass to pass while the same thing goes on. Names are substance, with the digits
in them: a flavor, an offering (``cx33``), a pod (``web-7``), a label (``zone=1a``). An identifier that is nothing but
digits looks like a count, so notes put a name beside it.
"""

import re
from typing import Final

_INSTANT: Final = r"\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:[.,]\d+)?)?(?:Z|[+-]\d\d:\d\d)?)?"
_UNIT: Final = r"(?:[KMGTPE]i?B?|k|ms|min|[smhdw]|st|nd|rd|th)"
# Possessive: a long row of digits before a letter is read once, not in all the ways in which it can be cut.
_AMOUNT: Final = rf"(?:\d++(?:[.,:/]\d++)*+{_UNIT}?)++"
# Not inside a name: what stands before or after would belong to the same word.
_FIGURE: Final = re.compile(rf"(?<![\w.:/@=-])[+-]?(?:{_INSTANT}|{_AMOUNT})(?![\w/@=-]|[.:]\w)")


def substance_of(note: str) -> str:
    """The note with ``#`` for each figure."""
    return _FIGURE.sub("#", note)
