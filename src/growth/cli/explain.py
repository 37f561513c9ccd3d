"""``growth explain``: why things are as they are, told by what Growth wrote down and by what is so now."""

from datetime import UTC, datetime

import click
import msgspec
from rich.console import Console

from growth.api.kinds import NODES
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.client_session import asking
from growth.cli.explain_disruption import read_moving
from growth.cli.explain_failover import NodeReport, report_of
from growth.cli.explain_view import view
from growth.cli.node_reader import Now, lease_of, see, timelines, unknown
from growth.cli.settings_options import with_settings_of
from growth.kube.client import Client


@click.group()
def explain() -> None:
    """See why something is as it is, and what happened to it.

    \b
    Example:
      growth explain node default-93c5d7e118
    """


@explain.command(name="node")
@with_settings_of("namespace", "kube")
@click.argument("name", metavar="NODE")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
def explain_node(effective: EffectiveSettings, name: str, output: str) -> None:
    """See what happened to NODE: when it fell silent, what its provider said, what was done, and what is stuck.

    First how it is now: in service or not, by whom and since when, the proof (how many answers of its provider, from
    when to when), whether it was shut down in good order, what is left on it and why, what Growth holds back, which
    move it is part of and how far that is (NodeMove), or why it stays, as far as prices do not matter, and for whom
    Growth keeps room in its pool. Then the timeline, which counts from its last sign of life. Growth keeps stories for
    a day, also of nodes that are gone.

    It reads the nodes (get, list), its Lease in kube-node-lease (get), its pods and the volumeattachments (list), and
    the ConfigMap growth-status in Growth's namespace (get), and changes nothing. What it says of moves takes the right
    to list Growth's own kinds, poddisruptionbudgets, and volumes and their claims, and for room that is kept the events
    of the namespace default; without it is left out.

    \b
    Example:
      growth explain node default-93c5d7e118
      growth explain node default-93c5d7e118 --output json | jq -r '.steps[] | "\\(.seconds) \\(.words)"'
    """

    async def ask(client: Client) -> NodeReport:
        return await read_report(client, effective.settings, name, lambda: datetime.now(UTC))

    report = asking(effective.settings.kube, ask)
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(report)).decode())
    else:
        console = Console(highlight=False)
        console.print(view(report, console.width))


async def read_report(client: Client, settings: Settings, name: str, now: Now) -> NodeReport:
    """Ask for all of it, and conclude; raises Refused for a name that neither a node nor a story bears."""
    stories = {one.node: one for one in await timelines(client, settings.namespace)}
    seen = await see(client, name, now)
    if seen is None and name not in stories:
        raise unknown(name, [*(one.metadata.name for one in (await client.list(NODES)).items), *stories])
    report = report_of(name, seen, stories.get(name), await lease_of(client, name), now())
    return msgspec.structs.replace(report, moving=await read_moving(client, settings, name, now))
