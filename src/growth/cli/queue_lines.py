"""Lines of coloured text, drawn without a table: rich would take seconds to measure thousands of rows."""

from collections.abc import Iterable
from textwrap import wrap
from typing import Final

from rich.cells import cell_len, set_cell_size
from rich.console import Console, ConsoleOptions, RenderResult
from rich.segment import Segment
from rich.text import Text

Piece = tuple[str, str]
"""A text and its style."""
_BETWEEN: Final = "…"


class OutputLines:
    """Something to print, line by line; whoever made it has seen to it that it fits."""

    def __init__(self, lines: Iterable[Iterable[Piece]]) -> None:
        self._lines = lines

    def __rich_console__(self, console: Console, options: ConsoleOptions) -> RenderResult:
        """The protocol of rich."""
        for line in self._lines:
            for text, style in line:
                yield Segment(text, console.get_style(style) if style else None)
            yield Segment.line()


def notices(sentences: Iterable[str]) -> list[Text]:
    """What holds for all, so that nobody overlooks it."""
    return [Text.assemble(("! ", "bold red"), (sentence, "red")) for sentence in sentences]


def fitted(text: str, size: int, *, is_number: bool = False) -> str:
    """Exactly so wide. Of a text that is longer both ends are kept: names that begin alike differ at their end."""
    length = cell_len(text)
    if length <= size:
        blanks = " " * (size - length)
        return blanks + text if is_number else text + blanks
    kept = max(0, size - 1)
    end = kept // 2
    return set_cell_size(f"{set_cell_size(text, kept - end)}{_BETWEEN}{text[len(text) - end :]}", size)


def wrapped(text: str, size: int) -> list[str]:
    """In lines of at most this size; a word that is longer is broken."""
    size = max(1, size)
    if cell_len(text) == len(text):
        return wrap(text, size, break_on_hyphens=False) or [""]
    lines = Text(" ".join(text.split())).wrap(Console(width=size), size, overflow="fold")
    return [line.plain.rstrip() for line in lines]
