"""``growth settings``: what holds now, and who said so."""

import io
from typing import Final

import click
import msgspec
import yaml
from rich.console import Console
from rich.table import Table

from growth.api.settings.fields import plain, worded
from growth.api.settings.loading import EffectiveSetting, EffectiveSettings
from growth.cli.settings_options import with_settings

_WIDEST: Final = 28


@click.command()
@with_settings
@click.option("--output", type=click.Choice(["table", "json", "yaml"]), default="table", show_default=True)
def settings(effective: EffectiveSettings, output: str) -> None:
    """Show every setting and where it came from.

    YAML output is a complete settings file with comments.

    \b
    Example:
      growth settings --output yaml > growth.yaml
      GROWTH_NAMESPACE=autoscaler growth settings --settings growth.yaml
    """
    match output:
        case "json":
            text = render_json(effective)
        case "yaml":
            text = render_yaml(effective)
        case _:
            text = render_table(effective, Console().width)
    click.echo(text, nl=False)


def render_table(effective: EffectiveSettings, width: int) -> str:
    """The settings as a table of the given width."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("FIELD", no_wrap=True)
    table.add_column("VALUE", overflow="fold")
    table.add_column("FROM", no_wrap=True)
    table.add_column("MEANING", ratio=1)
    for row in effective.fields:
        table.add_row(_folded(row.field.path), _shown(row), row.origin, row.field.meaning)
    out = io.StringIO()
    Console(file=out, width=width, color_system=None, highlight=False, markup=False).print(table)
    return "".join(f"{line.rstrip()}\n" for line in out.getvalue().splitlines())


def render_json(effective: EffectiveSettings) -> str:
    """The same rows for machines, with every name that a setting goes by."""
    rows = [
        {
            "field": row.field.path,
            "value": plain(row.value, row.field.nothing),
            "from": row.origin,
            "meaning": row.field.meaning,
            "default": plain(row.field.default, row.field.nothing),
            "flag": row.field.flag,
            "variable": row.field.variable,
        }
        for row in effective.fields
    ]
    return msgspec.json.format(msgspec.json.encode(rows)).decode() + "\n"


def render_yaml(effective: EffectiveSettings) -> str:
    """A settings file that says the same, each field with its meaning."""
    lines: list[str] = []
    section: list[str] = []
    for row in effective.fields:
        *inside, name = row.field.path.split(".")
        indent = "  " * len(inside)
        for depth, part in enumerate(inside):
            if section[: depth + 1] != inside[: depth + 1]:
                lines.append(f"{'  ' * depth}{part}:")
        section = inside
        value = plain(row.value, row.field.nothing)
        # A list stands in its line, like everything else.
        flow = msgspec.json.encode(value).decode() if isinstance(value, list) else None
        text = f"{name}: {flow}" if flow else yaml.safe_dump({name: value}, width=1000).rstrip()
        lines += [f"{indent}# {row.field.meaning} ({row.origin})", f"{indent}{text}"]
    return "\n".join(lines) + "\n"


def _folded(path: str) -> str:
    """A long path in several lines, so that it leaves room for the rest."""
    head, _, name = path.rpartition(".")
    return path if len(path) <= _WIDEST or not head else f"{_folded(head)}.\n  {name}"


def _shown(row: EffectiveSetting) -> str:
    return worded(row.value, row.field.nothing) or "-"
