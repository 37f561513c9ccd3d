"""Where the repository and its pages are, so that a test may move to another folder."""

from pathlib import Path
from typing import Final

ROOT: Final = Path(__file__).parent.parent
SOURCES: Final = ROOT / "src" / "growth"
"""The product."""


def page_text(name: str) -> str:
    """The text of a page of the documentation."""
    return (ROOT / "docs" / f"{name}.md").read_text(encoding="utf-8")
