"""All commands in one table. A command's module is imported when the command is called, and no other module is.

The lab's commands come through the entry-point group ``growth.commands``, so that the product does without the lab.
"""

from importlib import import_module
from importlib.metadata import entry_points
from typing import Final, NamedTuple

import click

ENTRY_POINTS: Final = "growth.commands"


class CommandEntry(NamedTuple):
    """One line of ``growth --help``."""

    name: str
    module: str
    """Where the command is, under its own name; empty for a command of the lab."""
    summary: str
    """The first sentence of the command's help; a test compares the two."""


COMMANDS: Final = (
    CommandEntry("cluster", "", "Run a real Kubernetes control plane on this Linux machine, without docker."),
    CommandEntry("crds", "growth.cli.crds", "Print the definitions of Growth's own kinds."),
    CommandEntry("demo", "", "Watch Growth through a sale: pods come, machines are bought, some cannot be had."),
    CommandEntry("doctor", "growth.cli.doctor", "Check that this server has what Growth needs."),
    CommandEntry(
        "drain",
        "growth.cli.drain",
        "Let NODE go: Growth buys what its pods need elsewhere, empties the node, and gives its machine back.",
    ),
    CommandEntry("explain", "growth.cli.explain", "See why something is as it is, and what happened to it."),
    CommandEntry("hetzner-sandbox", "", "Run a stand-in of the Hetzner Cloud API on this machine."),
    CommandEntry("manifests", "growth.cli.manifests", "Print everything that a cluster needs to run Growth."),
    CommandEntry(
        "memory",
        "growth.cli.memory",
        "See what is remembered of nodes, drop it, and carry it from cluster to cluster.",
    ),
    CommandEntry(
        "node",
        "growth.cli.node",
        "Move work off a machine that is dead, by hand and safely, and take its node back later.",
    ),
    CommandEntry(
        "plan",
        "growth.cli.plan",
        "See what Growth would buy for the pods that wait now, and who finds no place and why.",
    ),
    CommandEntry("queue", "growth.cli.queue", "See who waits in which queue, why and until when."),
    CommandEntry(
        "request", "growth.cli.requests", "See what Growth has asked for, and try removals again that failed."
    ),
    CommandEntry("run", "growth.cli.run", "Run Growth until SIGTERM or Ctrl-C."),
    CommandEntry("settings", "growth.cli.settings", "Show every setting and where it came from."),
    CommandEntry(
        "status",
        "growth.cli.status",
        "See whether the cluster is healthy, whether Growth is at work, and what is wrong.",
    ),
    CommandEntry(
        "top", "growth.cli.top", "See pools and machines: how full, what comes, what leaves and when, what it costs."
    ),
    CommandEntry("world", "growth.cli.snapshot", "See nodes, pods and free room as Growth sees them."),
)
_BY_NAME: Final = {entry.name: entry for entry in COMMANDS}


class CommandTable(click.Group):
    """A group whose commands are those of the table."""

    def list_commands(self, ctx: click.Context) -> list[str]:  # noqa: ARG002 - click's signature
        """List the names in the table, installed or not."""
        return [entry.name for entry in COMMANDS]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:  # noqa: ARG002
        """Import the command of this name."""
        entry = _BY_NAME.get(cmd_name)
        if entry is None:
            return None
        return getattr(import_module(entry.module), cmd_name) if entry.module else _from_lab(cmd_name)

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        """List the commands with their summaries, without importing any of them."""
        limit = formatter.width - 6 - max(len(name) for name in self.list_commands(ctx))
        with formatter.section("Commands"):
            formatter.write_dl([(one.name, _shortened(one, limit)) for one in COMMANDS])


def _shortened(entry: CommandEntry, limit: int) -> str:
    return click.Command(entry.name, help=entry.summary).get_short_help_str(limit)


def _from_lab(name: str) -> click.Command:
    for one in entry_points(group=ENTRY_POINTS, name=name):
        return one.load()
    raise click.UsageError(f"growth {name} is part of growth-lab, which is not installed: pip install ./lab")
