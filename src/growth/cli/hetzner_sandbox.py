"""``growth hetzner-sandbox``: a Hetzner in a box, to try things at no cost."""

import asyncio
from datetime import UTC, datetime
from typing import Final

import click

from growth.cli.failures import Refused
from growth.run.stopping import run_until_stopped
from growth.sim.hetzner.sandbox import TOKEN, Right, Sandbox
from growth.sim.hetzner.serving import Door, running
from growth.sim.hetzner.timings import boots_in

_PORT: Final = 8733
_PAGE: Final = """\
A Hetzner in a box, until Ctrl-C. Servers boot in {seconds:g} s and are gone when it ends.

  export HCLOUD_TOKEN={token}
  export HCLOUD_ENDPOINT={endpoint}

  curl -H "Authorization: Bearer $HCLOUD_TOKEN" $HCLOUD_ENDPOINT/servers
  curl {control}                                   # what is there, and who called what
  curl {control}/faults -d '{{"kind": "sold_out", "server_type": "cax11", "location": "fsn1"}}'
"""


@click.command("hetzner-sandbox")
@click.option(
    "--port", type=click.IntRange(0, 65535), default=_PORT, show_default=True, help="On 127.0.0.1; 0 is any free one."
)
@click.option("--token", metavar="SECRET", default=TOKEN, show_default=True, help="What callers must show.")
@click.option(
    "--boot-seconds",
    type=click.FloatRange(0, 3600),
    default=5.0,
    show_default=True,
    help="From a server's creation until it runs; everything else gets faster or slower with it.",
)
def hetzner_sandbox(port: int, token: str, boot_seconds: float) -> None:
    """Run a stand-in of the Hetzner Cloud API on this machine.

    It speaks the HTTP API well enough for the official clients: server types and prices, images, keys, networks,
    firewalls, placement groups, servers and their actions, volumes. Nothing is real and nothing is kept. Faults are
    ordered under /_sandbox/faults: sold out, quota, rate limit, errors, slow and lost answers, failing actions,
    vanishing servers, power cuts. docs/hetzner-sandbox.md tells all of it.

    \b
    Example:
      growth hetzner-sandbox --boot-seconds 2
      HCLOUD_TOKEN=sandbox HCLOUD_ENDPOINT=http://127.0.0.1:8733/v1 hcloud server list
    """
    if not token.strip():
        raise Refused("--token '': expected a text that is not empty")
    sandbox = Sandbox(_now, tokens={token: Right.READ_WRITE}, timings=boots_in(boot_seconds))
    try:
        asyncio.run(run_until_stopped(_serve(sandbox, port, token, boot_seconds)))
    except OSError as error:
        problem = f"--port {port}: cannot listen there ({error.strerror or error})"
        raise Refused(f"{problem}; choose another one, or 0 for any that is free") from error


async def _serve(sandbox: Sandbox, port: int, token: str, boot_seconds: float) -> None:
    async with running(sandbox, port) as door:
        click.echo(page(door, token, boot_seconds))
        await asyncio.Event().wait()


def page(door: Door, token: str, boot_seconds: float) -> str:
    """What to do with it."""
    return _PAGE.format(seconds=boot_seconds, token=token, endpoint=door.endpoint, control=door.control)


def _now() -> datetime:
    return datetime.now(UTC)
