"""docs/development/requirements: no sentence of a founding document is left out, and what holds it exists.

A table of tests cannot show a sentence that it leaves out. So each page numbers all of them, and states their number.
"""

import ast
import re
from functools import cache
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.repository import ROOT
from tests.stories.all_stories import STORIES

FOLDER = ROOT / "docs" / "development" / "requirements"
SCENARIOS = {story.name for story in STORIES}
# Requirements by document: a page that loses a row fails, even if its own total was changed with it.
PAGES = {
    "growth-autoscaler": 97,
    "cluster-state-registry": 79,
    "pods-ready-requeue-strategy": 89,
    "node-label-preservation": 111,
    "non-graceful-node-shutdown": 149,
}
# Rows that are not met. This number may only fall.
OPEN_AT_MOST = 2

STATED = re.compile(r"^Requirements: (\d+)\. Rows: (\d+)\. Open rows: (\d+)\.$", re.MULTILINE)
IDS = re.compile(r"R(\d+)(?:-R(\d+))?")
TEST = re.compile(r"`((?:lab/)?tests/[\w/]+\.py)::(test_\w+)`")
SCENARIO = re.compile(r"scenario `([^`]+)`")
LINK = re.compile(r"\[[^\]]+\]\(([^)#]+\.md)(?:#([^)]+))?\)")
SAID = re.compile(r"(not ours|open): \S.{4,}")
SEPARATOR = re.compile(r"; (?=`(?:lab/)?tests/|scenario `|\[|not ours: |open: )")


class Row(NamedTuple):
    id: str
    text: str
    holders: list[str]

    @property
    def numbers(self) -> range:
        found = IDS.fullmatch(self.id)
        assert found is not None, self.id
        return range(int(found[1]), int(found[2] or found[1]) + 1)

    @property
    def is_open(self) -> bool:
        return any(holder.startswith("open: ") for holder in self.holders)


def page_text(name: str) -> str:
    return (FOLDER / f"{name}.md").read_text(encoding="utf-8")


def rows(text: str) -> list[Row]:
    lines = [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in text.splitlines() if line[:3] == "| R"]
    assert [cells for cells in lines if len(cells) != len(Row._fields)] == []
    return [Row(cells[0], cells[1], SEPARATOR.split(cells[2])) for cells in lines]


@cache
def functions_of(path: str) -> frozenset[str]:
    """Names of the test functions of a module, which is read and not imported."""
    if not (ROOT / path).exists():
        return frozenset()
    body = ast.parse((ROOT / path).read_text(encoding="utf-8")).body
    return frozenset(node.name for node in body if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef))


@cache
def anchors_in(path: Path) -> frozenset[str]:
    """Anchors of the headings of a page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.+)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    plain = [re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", title) for title in titles]
    return frozenset(re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in plain)


def problem(holder: str) -> str:
    """Say why something holds nothing; empty if it exists."""
    if found := TEST.fullmatch(holder):
        return "" if found[2] in functions_of(found[1]) else f"no such test: {holder}"
    if found := SCENARIO.fullmatch(holder):
        return "" if found[1] in SCENARIOS else f"no such scenario: {holder}"
    if found := LINK.fullmatch(holder):
        target = (FOLDER / found[1]).resolve()
        is_there = target.is_file() and (found[2] is None or found[2] in anchors_in(target))
        return "" if is_there else f"no such page or heading: {holder}"
    if SAID.fullmatch(holder):
        return ""
    return f"neither test, scenario, page, 'not ours: reason' nor 'open: what': {holder}"


def problems(text: str) -> list[str]:
    """Everything that is wrong with one page."""
    found = rows(text)
    numbers = [number for row in found for number in row.numbers]
    wrong = [] if numbers == list(range(1, len(numbers) + 1)) else [f"ids have gaps or repeat: {numbers}"]
    stated = [tuple(map(int, one)) for one in STATED.findall(text)]
    counted = (len(numbers), len(found), sum(row.is_open for row in found))
    if stated != [counted]:
        wrong.append(f"the page states {stated}, and has {counted}")
    wrong += [f"{row.id}: it has no text" for row in found if not row.text.strip(" .")]
    return wrong + [f"{row.id}: {why}" for row in found for holder in row.holders if (why := problem(holder))]


def test_every_founding_document_has_a_page_and_every_page_is_listed() -> None:
    names = {path.stem for path in FOLDER.glob("*.md")} - {"README"}
    listed = re.findall(r"^\| \[[\w-]+\]\(([\w-]+)\.md\)", page_text("README"), re.MULTILINE)
    assert sorted(names) == sorted(listed) == sorted(PAGES)


@pytest.mark.parametrize("name", PAGES)
def test_page_numbers_every_sentence_and_names_what_exists(name: str) -> None:
    assert problems(page_text(name)) == []
    assert sum(len(row.numbers) for row in rows(page_text(name))) == PAGES[name]


def test_open_rows_only_become_fewer() -> None:
    assert sum(row.is_open for name in PAGES for row in rows(page_text(name))) == OPEN_AT_MOST, "lower it with the rows"


HEAD = "Requirements: {}. Rows: {}. Open rows: {}.\n"
HERE = "`tests/test_requirements.py::test_open_rows_only_become_fewer`"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param(HEAD.format(3, 2, 0) + f"| R1-R2 | a | {HERE} |\n| R3 | b | not ours: a reason |", [], id="whole"),
        pytest.param(HEAD.format(1, 1, 1) + "| R1 | a | open: a test |", [], id="open"),
        pytest.param(
            HEAD.format(2, 2, 0) + f"| R1 | a | {HERE} |\n| R3 | b | {HERE} |",
            ["ids have gaps or repeat: [1, 3]"],
            id="a number is missing",
        ),
        pytest.param(
            HEAD.format(2, 1, 0) + f"| R1 | a | {HERE} |",
            ["the page states [(2, 1, 0)], and has (1, 1, 0)"],
            id="another total",
        ),
        pytest.param(
            HEAD.format(1, 1, 0) + "| R1 | a | open: a test |",
            ["the page states [(1, 1, 0)], and has (1, 1, 1)"],
            id="an open row that is not counted",
        ),
        pytest.param(
            HEAD.format(1, 1, 0) + f"| R1 | a | {HERE}; scenario `a dream` |",
            ["R1: no such scenario: scenario `a dream`"],
            id="a scenario that does not exist",
        ),
        pytest.param(
            HEAD.format(1, 1, 0) + "| R1 | a | `tests/test_requirements.py::test_nothing` |",
            ["R1: no such test: `tests/test_requirements.py::test_nothing`"],
            id="a test that does not exist",
        ),
        pytest.param(
            HEAD.format(1, 1, 0) + "| R1 | a | [here](README.md#nowhere) |",
            ["R1: no such page or heading: [here](README.md#nowhere)"],
            id="a heading that does not exist",
        ),
        pytest.param(
            HEAD.format(1, 1, 0) + "| R1 | a | everything |",
            ["R1: neither test, scenario, page, 'not ours: reason' nor 'open: what': everything"],
            id="nothing that holds it",
        ),
    ],
)
def test_what_is_wrong_with_a_page_is_found(text: str, expected: list[str]) -> None:
    assert problems(text) == expected
