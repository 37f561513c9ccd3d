"""docs/failover.md keeps its word: what it names exists."""

import re
from importlib import import_module

import pytest

from growth.api.out_of_service import MAINTENANCE, PROOF, SHUTDOWN
from growth.api.settings.fields import setting_fields, worded
from growth.decide.failover.evidence import Finding
from tests.repository import page_text
from tests.stories.all_stories import STORIES

PAGE = page_text("failover")
SEED = PAGE.partition("## The seed, sentence by sentence")[2]
MODES = PAGE.partition("## Failure modes")[2].partition("## The seed")[0]


def rows(text: str) -> list[list[str]]:
    """The cells of a table, without its head."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return lines[1:]


@pytest.mark.parametrize("row", [*rows(SEED), *rows(MODES)], ids=lambda row: row[0][:60])
def test_what_shows_a_sentence_exists(row: list[str]) -> None:
    names = re.findall(r"`([^`]+)`", row[-1])
    assert names
    stories = {story.name for story in STORIES}
    for name in names:
        if "." in name and not name.startswith("bench."):
            path = name if name.startswith(("tests.", "lab.tests.")) else f"tests.decide.failover.{name}"
            module, _, test = path.rpartition(".")
            assert callable(getattr(import_module(module), test))
        elif not name.startswith("bench."):
            assert name in stories


def test_the_table_of_settings_says_what_holds() -> None:
    stated = dict(re.findall(r"^\| `(failover\.\w+)` \| `([^`]+)` \|", PAGE, re.MULTILINE))
    fields = [field for field in setting_fields() if field.path.startswith("failover.")]
    assert stated == {field.path: worded(field.default) for field in fields}


@pytest.mark.parametrize("name", [str(SHUTDOWN), PROOF, MAINTENANCE, "images/failover.svg", *Finding])
def test_the_page_has_every_name(name: str) -> None:
    assert name in PAGE
