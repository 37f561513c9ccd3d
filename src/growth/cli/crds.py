"""``growth crds``: the definitions of our kinds, as the cluster needs them."""

import click
import yaml

from growth.api.crd import definitions


class _Plain(yaml.SafeDumper):
    """YAML without anchors: a definition is read by people."""

    def ignore_aliases(self, data: object) -> bool:
        del data
        return True


HEADER = "# Made by `growth crds` from the classes in src/growth/api; do not edit.\n"


def render() -> str:
    """All definitions as one YAML stream."""
    return HEADER + "".join(
        "---\n" + yaml.dump(definition, Dumper=_Plain, sort_keys=False, width=120) for definition in definitions()
    )


@click.command()
def crds() -> None:
    """Print the definitions of Growth's own kinds.

    These are the CustomResourceDefinitions of NodePool, NodeRequest and NodeRemovalRequest.

    \b
    Example:
      growth crds | kubectl apply --server-side -f -
    """
    click.echo(render(), nl=False)
