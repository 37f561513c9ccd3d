"""``growth hetzner-sandbox``: a Hetzner in a box, to try things at no cost."""

import asyncio
from collections.abc import AsyncGenerator, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click

from growth.cli.errors import UsageError, sentence_for
from growth.kube.access import find_access
from growth.kube.client import connect
from growth.kube.errors import KubeError
from growth.run.signals import run_until_stopped
from growth_lab.hetzner_sandbox.http_server import Door, running
from growth_lab.hetzner_sandbox.kwok_nodes import KwokNodes
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Right, Sandbox
from growth_lab.hetzner_sandbox.timings import boots_in

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
@click.option(
    "--boot",
    type=click.Choice(["nothing", "kwok"]),
    default="nothing",
    show_default=True,
    help="What a server that runs becomes; kwok: a node of the cluster of --kubeconfig, which kwok must play.",
)
@click.option(
    "--kubeconfig",
    type=click.Path(path_type=Path),
    help="The cluster for --boot kwok; there is no default, on purpose.",
)
def hetzner_sandbox(port: int, token: str, boot_seconds: float, boot: str, kubeconfig: Path | None) -> None:
    """Run a stand-in of the Hetzner Cloud API on this machine.

    It speaks the HTTP API well enough for the official clients: server types and prices, images, keys, networks,
    firewalls, placement groups, servers and their actions, volumes. Nothing is real and nothing is kept. Faults are
    ordered under /_sandbox/faults: sold out, quota, rate limit, errors, slow and lost answers, failing actions,
    vanishing servers, power cuts. docs/hetzner-sandbox.md tells all of it.

    With --boot kwok, a server that runs registers a node: providerID hcloud://ID, the size of its type, labels and
    taints from the kubelet arguments in its user data. Off, it falls silent; on again, it comes back. A Node whose
    server is deleted stays, as it does at Hetzner without a cloud controller.

    \b
    Example:
      growth hetzner-sandbox --boot-seconds 2
      HCLOUD_TOKEN=sandbox HCLOUD_ENDPOINT=http://127.0.0.1:8733/v1 hcloud server list
      growth hetzner-sandbox --boot kwok --kubeconfig ./kubeconfig
    """
    if not token.strip():
        raise UsageError(f"--token {token!r}: expected a text that is not empty")
    if (boot == "kwok") != (kubeconfig is not None):
        raise UsageError(
            f"--boot {boot} --kubeconfig {kubeconfig}: expected both of --boot kwok and --kubeconfig, or none"
        )
    sandbox = Sandbox(_now, tokens={token: Right.READ_WRITE}, timings=boots_in(boot_seconds))

    def tell(door: Door) -> None:
        click.echo(_PAGE.format(seconds=boot_seconds, token=token, endpoint=door.endpoint, control=door.control))

    try:
        asyncio.run(run_until_stopped(_run(sandbox, port, tell, kubeconfig)))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error


async def _run(sandbox: Sandbox, port: int, tell: Callable[[Door], None], kubeconfig: Path | None) -> None:
    if kubeconfig is None:
        async with _listening(sandbox, port) as door:
            tell(door)
            await asyncio.Event().wait()
    else:
        async with connect(find_access(kubeconfig, None)) as client:
            # Informers wait for a server that is not there; whoever starts us should hear of it.
            await client.server_version()
            async with _listening(sandbox, port) as door:
                tell(door)
                await KwokNodes(client, sandbox).run()


@asynccontextmanager
async def _listening(sandbox: Sandbox, port: int) -> AsyncGenerator[Door]:
    async with AsyncExitStack() as stack:
        try:
            door = await stack.enter_async_context(running(sandbox, port))
        except OSError as error:
            problem = f"--port {port}: cannot listen there ({error.strerror or error})"
            raise UsageError(f"{problem}; choose another one, or 0 for any that is free") from error
        yield door


def _now() -> datetime:
    return datetime.now(UTC)
