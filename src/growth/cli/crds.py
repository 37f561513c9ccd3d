"""``growth crds``: the definitions of our kinds, as the cluster needs them."""

from typing import Final

import click

from growth.api.crd import definitions
from growth.api.growth_kinds import OWN_KINDS
from growth.api.queue.kinds import QUEUE_KINDS
from growth.cli.yaml_stream import yaml_stream

HEADER: Final = "# Made by `growth crds` from the classes in src/growth/api; do not edit.\n"
QUEUE_HEADER: Final = (
    "# Made by `growth crds --queue` from the classes in src/growth/api; do not edit.\n"
    "# Only where Kueue's own definitions are not installed: those are used as they are.\n"
)


def render(*, is_queue: bool = False) -> str:
    """All definitions as one YAML stream."""
    if is_queue:
        return yaml_stream(QUEUE_HEADER, definitions(QUEUE_KINDS))
    return yaml_stream(HEADER, definitions(OWN_KINDS))


@click.command()
@click.option("--queue", "is_queue", is_flag=True, help="The kinds of the job queue instead, which are Kueue's.")
def crds(is_queue: bool) -> None:  # noqa: FBT001 - click passes it by name
    """Print the definitions of Growth's own kinds.

    These are the CustomResourceDefinitions of NodePool, NodeRequest and NodeRemovalRequest. Those of the job queue are
    Kueue's kinds: create them where they are not installed, and never apply them over Kueue's own.

    \b
    Example:
      growth crds | kubectl apply --server-side -f -
      growth crds --queue | kubectl create -f -
    """
    click.echo(render(is_queue=is_queue), nl=False)
