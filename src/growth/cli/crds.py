"""``growth crds``: the definitions of our kinds, as the cluster needs them."""

from typing import Final

import click

from growth.api.crd import definitions
from growth.cli.yaml_stream import yaml_stream

HEADER: Final = "# Made by `growth crds` from the classes in src/growth/api; do not edit.\n"


def render() -> str:
    """All definitions as one YAML stream."""
    return yaml_stream(HEADER, definitions())


@click.command()
def crds() -> None:
    """Print the definitions of Growth's own kinds.

    These are the CustomResourceDefinitions of NodePool, NodeRequest and NodeRemovalRequest.

    \b
    Example:
      growth crds | kubectl apply --server-side -f -
    """
    click.echo(render(), nl=False)
