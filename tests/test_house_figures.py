"""Figures of the house that may only get better: raise none of these numbers, lower them with the code."""

import ast
import subprocess
import sys
from collections import Counter, defaultdict
from functools import cache
from pathlib import Path
from typing import Final

import pytest

from tests.repository import ROOT, SOURCES

PRODUCT: Final = sorted(SOURCES.rglob("*.py"))
LAB: Final = sorted((ROOT / "lab/src").rglob("*.py"))
MOST_FILES, MOST_LINES = 481, 59_470
MOST_WITH_ONE_IMPORTER: Final = 61
"""Modules that one other module imports. Those of ``cli`` do not count, where each command stands alone, nor do steps
and metrics of deciders, which their ``decider.py`` alone imports (decision 11)."""
MOST_LOADED: Final = {"--help": 10, "run --help": 377, "status --help": 155}
LOADED: Final = """
import contextlib, io, sys
from growth.cli.main import main
with contextlib.redirect_stdout(io.StringIO()):
    main(sys.argv[1:], standalone_mode=False)
print("\\n".join(sys.modules))
"""


@cache
def tree_of(path: Path) -> ast.Module:
    return ast.parse(path.read_text(encoding="utf-8"))


def module_of(path: Path) -> str:
    return ".".join(path.relative_to(ROOT / "src").with_suffix("").parts)


def importers(*, at_once: bool = False) -> dict[str, set[Path]]:
    """By module of the product, the files that import it or a name of it; or only those that do so to be imported."""
    modules = {module_of(path) for path in PRODUCT if path.name != "__init__.py"}
    found: defaultdict[str, set[Path]] = defaultdict(set)
    for path in PRODUCT + LAB:
        for node in tree_of(path).body if at_once else ast.walk(tree_of(path)):
            if isinstance(node, ast.ImportFrom) and node.module:
                for name in {node.module, *(f"{node.module}.{alias.name}" for alias in node.names)} & modules:
                    found[name].add(path)
    return found


def test_product_is_no_larger() -> None:
    assert len(PRODUCT) <= MOST_FILES
    assert sum(len(path.read_text(encoding="utf-8").splitlines()) for path in PRODUCT) <= MOST_LINES


def test_no_more_modules_serve_a_single_other_one() -> None:
    alone = [
        name
        for name, by in importers().items()
        if len(by) == 1 and not name.startswith("growth.cli.") and next(iter(by)).name != "decider.py"
    ]
    assert len(alone) <= MOST_WITH_ONE_IMPORTER


def test_public_class_name_stands_for_two_things_at_most() -> None:
    names = Counter(node.name for path in PRODUCT for node in tree_of(path).body if isinstance(node, ast.ClassDef))
    assert [name for name, count in names.items() if count > 2 and not name.startswith("_")] == []


@pytest.mark.parametrize("command", MOST_LOADED)
def test_command_loads_no_more_of_growth_and_nothing_of_the_lab(command: str) -> None:
    call = [sys.executable, "-c", LOADED, *command.split()]
    loaded = subprocess.run(call, check=True, stdout=subprocess.PIPE, text=True).stdout.split()
    assert [name for name in loaded if name.startswith("growth_lab")] == []
    assert len([name for name in loaded if name.startswith("growth.")]) <= MOST_LOADED[command]


def test_modules_import_each_other_in_no_circle() -> None:
    """A circle works until somebody imports its modules in another order."""
    by = importers(at_once=True)
    waits = {name: {module_of(path) for path in paths if path in PRODUCT} for name, paths in by.items()}
    while last := {name for name, users in waits.items() if not users & waits.keys()}:
        waits = {name: users for name, users in waits.items() if name not in last}
    assert sorted(waits) == []
