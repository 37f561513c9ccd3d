"""The ``growth`` command; ``commands`` lists what it can do."""

import click

from growth import __version__
from growth.cli.commands import CommandTable


@click.group(cls=CommandTable, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="growth")
def main() -> None:
    """Keep a Kubernetes cluster the right size and its nodes trustworthy."""
