"""One table lists every command; ``growth --help`` imports none of them."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner

from growth.cli.commands import COMMANDS, CommandEntry
from growth.cli.main import main

LOADED_BY_HELP = """
import sys
from growth.cli.main import main
main(["--help"], standalone_mode=False)
print("\\n".join(name for name in sys.modules if name.split(".")[0] in {"growth", "growth_lab"}), file=sys.stderr)
"""


@pytest.mark.parametrize("entry", COMMANDS, ids=lambda entry: entry.name)
def test_summary_in_table_is_the_first_sentence_of_help(entry: CommandEntry) -> None:
    command = main.get_command(click.Context(main), entry.name)
    assert command is not None
    first = " ".join((command.help or "").split("\n\n")[0].split())
    assert first.startswith(entry.summary)
    assert command.name == entry.name


def test_help_imports_no_command() -> None:
    done = subprocess.run([sys.executable, "-c", LOADED_BY_HELP], check=True, capture_output=True, text=True)
    assert set(done.stderr.split()) == {"growth", "growth.cli", "growth.cli.commands", "growth.cli.main"}
    assert [entry.name for entry in COMMANDS if entry.name not in done.stdout] == []


def test_command_that_does_not_exist_is_bad_input() -> None:
    result = CliRunner().invoke(main, ["groww"])
    assert result.exit_code == 2
    assert "No such command 'groww'" in result.output
