"""House rules that no linter knows."""

import re
import subprocess
import tomllib
from pathlib import Path

import click
import pytest

from growth.cli.main import main
from tests.repository import ROOT

TRACKED = subprocess.run(["git", "ls-files"], cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
PRODUCT = [name for name in TRACKED if name.startswith("src/growth/") and name.endswith(".py")]
LAB = [name for name in TRACKED if name.startswith("lab/src/") and name.endswith(".py")]
SOURCES = PRODUCT + LAB
TESTS = [name for name in TRACKED if name.startswith(("tests/", "lab/tests/")) and name.endswith(".py")]
PAGES = [name for name in TRACKED if name.endswith(".md")]
LONGEST_SOURCE, LONGEST_TEST = 400, 500
VAGUE = {"utils", "util", "helpers", "helper", "common", "misc", "manager"}


def text(name: str) -> str:
    return (ROOT / name).read_text(encoding="utf-8")


def lines(name: str) -> int:
    return text(name).count("\n")


def test_a_module_holds_one_idea() -> None:
    assert [name for name in SOURCES if lines(name) > LONGEST_SOURCE] == []


def test_a_test_file_can_be_read_in_one_sitting() -> None:
    assert [name for name in TESTS if lines(name) > LONGEST_TEST] == []


def test_no_module_has_a_name_that_says_nothing() -> None:
    assert [name for name in SOURCES + TESTS if Path(name).stem in VAGUE] == []


def test_every_package_states_its_law() -> None:
    packages = [name for name in SOURCES if re.fullmatch(r"(src/growth|lab/src/growth_lab)/\w+/__init__\.py", name)]
    assert len(packages) > 12
    assert [name for name in packages if "Law of the package:" not in text(name)] == []


def test_nothing_names_a_path_of_one_machine() -> None:
    machine = re.compile(r"(?<![\w.~])/(?:work|root|home/(?!me/)\w+)/")
    shown = [name for name in TRACKED if not name.endswith((".svg", "go.sum"))]
    assert [name for name in shown if machine.search(text(name))] == []


def test_the_lock_pins_hashes_and_names_no_index() -> None:
    locks = [name for name in TRACKED if re.fullmatch(r"requirements/\w+\.lock", name)]
    assert len(locks) == 3
    for lock in map(text, locks):
        assert "--hash=sha256:" in lock
        assert not re.search(r"index-url|find-links|https?://", lock)


def test_every_dependency_has_its_line() -> None:
    project = tomllib.loads(text("pyproject.toml"))
    groups = project["dependency-groups"]
    lab = tomllib.loads(text("lab/pyproject.toml"))["project"]["dependencies"]
    grouped = [entry for group in groups.values() for entry in group if isinstance(entry, str)]
    wanted = [*project["project"]["dependencies"], *lab, *grouped]
    names = [re.split(r"[\[<>=~ ]", entry)[0] for entry in wanted]
    page = text("docs/dependencies.md")
    assert [name for name in names if name not in page] == []


def commands(group: click.Group, path: str = "growth") -> dict[str, click.Command]:
    found: dict[str, click.Command] = {}
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        inside = commands(command, f"{path} {name}") if isinstance(command, click.Group) else {}
        found |= {f"{path} {name}": command} | inside
    return found


COMMANDS = commands(main)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_teaches_by_an_example(name: str) -> None:
    about = COMMANDS[name].help or ""
    assert "Example:" in about
    assert "growth " in about.partition("Example:")[2]


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_on_some_page(name: str) -> None:
    pages = "\n".join(text(page) for page in PAGES)
    short = name.removeprefix("growth cluster ")
    assert name in pages or f"| `{short}" in pages


def test_every_link_between_pages_leads_somewhere() -> None:
    links = [(page, target) for page in PAGES for target in re.findall(r"\]\(([^)#]+)", text(page))]
    inside = [(page, target) for page, target in links if "://" not in target]
    assert len(inside) > 10
    assert [link for link in inside if not (ROOT / link[0]).parent.joinpath(link[1]).exists()] == []


def test_every_picture_is_well_formed_and_loads_nothing() -> None:
    pictures = [name for name in TRACKED if name.endswith(".svg")]
    assert pictures
    loading = re.compile(r"@import|@font-face|href=\"http|url\(http")
    assert [name for name in pictures if loading.search(text(name))] == []


def test_the_readme_names_the_two_commands() -> None:
    assert {"make demo", "make test"} <= set(re.findall(r"make \w+", text("README.md")))


def test_ci_runs_what_people_run() -> None:
    assert "make test" in text(".ci/run")
