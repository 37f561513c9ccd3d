"""The tables in docs that hold each sentence of a design against what shows it: tests, stories, benchmarks."""

import re
from collections.abc import Collection
from importlib import import_module


def rows_of(text: str) -> list[tuple[str, list[str]]]:
    """Each sentence, and the names of what shows it."""
    lines = [line.strip("| ").split(" | ") for line in text.splitlines() if line.startswith("| ")]
    return [(cells[0], re.findall(r"`([^`]+)`", cells[-1])) for cells in lines if cells[-1] != "shown by"]


def check_that_it_is_there(name: str, package: str, told: Collection[str]) -> None:
    """A test, by its module within ``package`` or by its whole path; a benchmark; or one of the stories ``told``."""
    if name.startswith("bench."):
        assert import_module(name.split(maxsplit=1)[0])
    elif "." in name:
        path = name if name.startswith("tests.") else f"{package}.{name}"
        module, _, test = path.rpartition(".")
        assert callable(getattr(import_module(module), test))
    else:
        assert name in told
