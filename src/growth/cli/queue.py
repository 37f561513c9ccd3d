"""``growth queue``: who waits in which queue, why and until when, and how full the queues are."""

import asyncio
import time
from bisect import bisect_right
from datetime import UTC, datetime
from pathlib import Path
from typing import Final

import click
import msgspec
from click.core import ParameterSource
from rich.console import Console, RenderableType
from rich.live import Live

from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.client_session import run_interruptible
from growth.cli.errors import UsageError, sentence_for
from growth.cli.queue_explain import explain
from growth.cli.queue_names import check_namespace, check_queue
from growth.cli.queue_reader import Now, QueueView, looking
from growth.cli.queue_report import QueueReport, report_of
from growth.cli.queue_view import view
from growth.cli.settings_options import with_settings_of
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError

_FRAME_SECONDS: Final = 1.0
# Of very long queues a frame takes a while to work out; at most this share of the time goes into it.
_BUSY_SHARE: Final = 0.25
_SHOWN: Final = 10
_LEAST_SHOWN: Final = 2


class QueueOptions(msgspec.Struct, frozen=True):
    """What a person wants to see."""

    queue: str = ""
    namespace: str = ""
    output: str = "text"
    is_all: bool = False


@click.group(invoke_without_command=True)
@with_settings_of("kube", "queue.waitForPodsReady", "queue.tryOtherFlavors", "queue.waitingPreemptorsFirst")
@click.option("--queue", "-q", "name", metavar="NAME", default="", help="Show one ClusterQueue only.")
@click.option("--namespace", "-n", metavar="NAME", default="", help="Show workloads of one namespace only.")
@click.option("--all", "is_all", is_flag=True, help=f"Show all workloads, not the first {_SHOWN} of each queue.")
@click.option("--follow", "-f", is_flag=True, help="Stay and show changes as they come, until Ctrl-C.")
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def queue(
    context: click.Context,
    effective: EffectiveSettings,
    name: str,
    namespace: str,
    output: str,
    *,
    is_all: bool,
    follow: bool,
) -> None:
    """See who waits in which queue, why and until when.

    For each ClusterQueue, below the cohorts in which it is: whether it is at work, what is used of its quota, borrowed
    of others and lent to them, who is admitted, and who waits, in the order in which Growth tries them (the number is
    the place in the line). Behind the line stand those that are in none: backing off after they could not start, held
    by a queue that is stopped, or deactivated.

    Growth's settings say by when pods must be ready and from when a place counts (queue.waitForPodsReady): give it the
    file that growth run has (--settings). It reads the kinds of the queue, jobs and pods that name a queue, namespaces,
    priorityclasses, limitranges and runtimeclasses (list, watch), and changes nothing. Where it may list leases and
    deployments, too, it says whether a Kueue is alive, beside which Growth's queue decides nothing.

    \b
    Example:
      growth queue --settings growth.yaml
      growth queue --follow --queue team
      growth queue --namespace shop --all
      growth queue explain shop/sum
      growth queue --output json | jq -r '.queues[].pending[] | select(.standing == "deactivated") | .remedy'
    """
    if context.invoked_subcommand is not None:
        _refuse_options(context)
        return
    if follow and output == "json":
        raise UsageError("--follow shows text: leave out --output json, or --follow")
    settings, options = effective.settings, QueueOptions(name, namespace, output, is_all)
    try:
        run_interruptible(_connected(settings, options, follow=follow))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
    except KeyboardInterrupt:
        # The only way to end --follow, so there it is no failure.
        if not follow:
            raise


queue.add_command(explain)


def _refuse_options(context: click.Context) -> None:
    """Options of the table mean nothing to a command behind it, and must not seem to."""
    given = [one for one in context.params if context.get_parameter_source(one) is ParameterSource.COMMANDLINE]
    if given:
        flags = {one.name: one.opts[0] for one in context.command.params}
        raise UsageError(f"{flags[given[0]]} stands before {context.invoked_subcommand}: write it behind")


async def _connected(settings: Settings, options: QueueOptions, *, follow: bool) -> None:
    kube, console = settings.kube, Console(highlight=False)
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    async with connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client:
        await (stay if follow else show)(client, settings, options, console, lambda: datetime.now(UTC))


async def show(client: Client, settings: Settings, options: QueueOptions, console: Console, now: Now) -> None:
    """Print it once."""
    async with looking(client, settings, now) as reader:
        report = _report(reader.seen(), options)
    if options.output == "json":
        # Not wrapped at any width, so that programs can read it.
        console.file.write(f"{msgspec.json.format(msgspec.json.encode(report)).decode()}\n")
    else:
        console.print(view(report, console.width, None if options.is_all else _SHOWN))


async def stay(client: Client, settings: Settings, options: QueueOptions, console: Console, now: Now) -> None:
    """Keep showing it, until cancelled."""
    async with looking(client, settings, now) as reader:
        with Live(console=console, auto_refresh=False) as live:
            while True:
                began = time.monotonic()
                live.update(_fitting(_report(reader.seen(), options), console, options), refresh=True)
                took = time.monotonic() - began
                await asyncio.sleep(max(_FRAME_SECONDS, took / _BUSY_SHARE))
                await reader.look_around()


def _report(seen: QueueView, options: QueueOptions) -> QueueReport:
    check_queue(seen.context, options.queue)
    check_namespace(seen.context, options.namespace)
    return report_of(seen, options.queue, options.namespace)


def _fitting(report: QueueReport, console: Console, options: QueueOptions) -> RenderableType:
    """As many workloads of each queue as the screen has room for."""

    def lines(rows: int) -> int:
        return len(console.render_lines(view(report, console.width, rows), pad=False))

    most = console.height if options.is_all else _SHOWN
    rows = bisect_right(range(most + 1), console.height - 1, key=lines) - 1
    return view(report, console.width, max(_LEAST_SHOWN, rows))
