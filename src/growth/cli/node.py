"""``growth node``: take a dead machine's node out of service, and into it again, by hand and safely."""

import getpass
import socket
import sys
from datetime import UTC, datetime

import click

from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import KubeSettings
from growth.cli.client_session import asking
from growth.cli.errors import NotDone, UsageError
from growth.cli.node_in_service import follow, take_in
from growth.cli.node_out_of_service import REASONS, NodeDrain, NodeNote, OperatorDialog
from growth.cli.settings_options import with_settings_of
from growth.cloud.errors import Invalid, ProviderError
from growth.kube.client import Client
from growth.run.provider_poller import open_providers


@click.group()
def node() -> None:
    """Move work off a machine that is dead, by hand and safely, and take its node back later.

    \b
    Example:
      growth node out-of-service default-93c5d7e118 --settings growth.yaml
      growth explain node default-93c5d7e118
      growth node in-service default-93c5d7e118
    """


@node.command(name="out-of-service")
@with_settings_of(
    "namespace", "kube", "providers.enabled", "kwok", "hetzner", "failover.readEvery", "failover.provenAfter"
)
@click.argument("name", metavar="NODE")
@click.option(
    "--reason", type=click.Choice(sorted(REASONS)), help="The taint's value. [default: as the provider's answer is]"
)
@click.option("--fence", is_flag=True, help="Power the machine off first: for one that hangs, or that nobody reaches.")
@click.option("--force", is_flag=True, help="Do it without proof; says what may be lost, and asks.")
@click.option("--yes", is_flag=True, help="With --force: do not ask.")
@click.option("--no-wait", is_flag=True, help="Do not watch what happens then.")
def out_of_service(
    effective: EffectiveSettings,
    name: str,
    reason: str | None,
    *,
    fence: bool,
    force: bool,
    yes: bool,
    no_wait: bool,
) -> None:
    """Take NODE out of service: its pods are ended and its volumes come off, so that both can start elsewhere.

    That is safe only if its machine does not run, so its provider is asked first, about this very machine (providerID):
    three times over --failover-proven-after, while the node must be silent. A machine that runs, that is being started
    or stopped, or about which nobody can tell, is left alone, with what to do: exit code 1. Give the settings that
    growth run has, because they say who the provider is.

    Then taint (node.kubernetes.io/out-of-service) and note (who, when, the proof) are written in one edit, and what
    happens is shown until the node is free, with what is stuck and why. Ctrl-C only ends the watching.

    It needs get, list and patch on nodes, list on pods and volumeattachments, get on leases in kube-node-lease, and
    what the provider needs.

    \b
    Example:
      growth node out-of-service default-93c5d7e118 --settings growth.yaml
      growth node out-of-service default-93c5d7e118 --settings growth.yaml --fence
      growth node out-of-service default-93c5d7e118 --force --reason hardwarefailure
    """
    settings = effective.settings
    if force and fence:
        raise UsageError("--force does it without proof, and --fence makes a proof: leave out one of them")
    if force and not yes and not sys.stdin.isatty():
        raise UsageError("--force asks before it does anything, and nobody can answer here: add --yes")
    try:
        openers = open_providers(settings, _now)
    except Invalid as error:
        raise UsageError(f"providers.enabled {settings.providers.enabled!r}: {error}") from error
    options = NodeNote(name, _person(), reason or "", fence=fence, force=force)
    talk = OperatorDialog(click.echo, lambda question: yes or click.confirm(question), _now)

    async def take(client: Client) -> None:
        await NodeDrain(client, settings, options, talk).run(openers)

    try:
        asking(settings.kube, take)
    except KeyboardInterrupt:
        fenced = " Its machine may be powered off by now." if fence else ""
        raise NotDone(f"stopped.{fenced} How the node is: growth explain node {name}") from None
    except ProviderError as error:
        raise NotDone(f"the provider cannot be asked: {error}") from error
    if not no_wait:
        _watch(settings.kube, name)


def _watch(kube: KubeSettings, name: str) -> None:
    async def watch(client: Client) -> None:
        await follow(client, name, _now, click.echo)

    try:
        asking(kube, watch)
    except KeyboardInterrupt:
        click.echo(f"\nNobody watches any more; node {name} stays out of service, and what is under way goes on.")
        click.echo(f"How far it is: growth explain node {name}")


@node.command(name="in-service")
@with_settings_of("kube")
@click.argument("name", metavar="NODE")
@click.option("--force", is_flag=True, help="Also if the node is not Ready; what is left on it is never ignored.")
def in_service(effective: EffectiveSettings, name: str, *, force: bool) -> None:
    """Take NODE into service again: taint and note are removed, whoever put them there.

    It is refused (exit code 1) as long as pods or volumes of its old life are left on it, because without the taint
    nobody ends them: pods would be Terminating and volumes attached for ever. It is also refused while the node is not
    Ready, unless --force: that does no harm, but if its machine is dead, Growth takes it out again (failover.mode act).

    Nodes that Growth took out by itself it also takes back by itself. It needs get, list and patch on nodes, list on
    pods and volumeattachments.

    \b
    Example:
      growth node in-service default-93c5d7e118
    """

    async def take(client: Client) -> str:
        return await take_in(client, name, _now, force=force)

    click.echo(asking(effective.settings.kube, take))


def _now() -> datetime:
    return datetime.now(UTC)


def _person() -> str:
    """Who asks, for the note: the cluster's own name for them is often shared by everybody."""
    try:
        return f"{getpass.getuser()}@{socket.gethostname()}"
    except (OSError, KeyError):  # a user without a name, as in many containers
        return f"somebody@{socket.gethostname()}"
