"""``growth doctor``: can Growth work on this server, as this user, and what does the server lack?"""

from pathlib import Path

import click
import msgspec
from rich.console import Console

from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import Settings
from growth.cli.client_session import run_interruptible
from growth.cli.doctor_reader import read_report
from growth.cli.doctor_report import DoctorReport
from growth.cli.doctor_view import view
from growth.cli.errors import UsageError, sentence_for
from growth.cli.settings_options import with_settings
from growth.decide.contract import AnyCapability
from growth.decide.pipeline import UnknownCapability, chosen
from growth.kube.access import find_access
from growth.kube.client import connect
from growth.kube.errors import KubeError
from growth.run.capability_plugins import CapabilityNotUsable, installed_capabilities


@click.command()
@with_settings
@click.option(
    "--only", metavar="NAMES", default="", help="Capabilities to check, separated by commas. [default: all of them]"
)
@click.option("--output", type=click.Choice(["text", "json"]), default="text", show_default=True)
@click.pass_context
def doctor(context: click.Context, effective: EffectiveSettings, only: str, output: str) -> None:
    """Check that this server has what Growth needs.

    It checks the server's release and its features, whether Growth's kinds are installed and are those of this version,
    and whether the current user has every permission that the enabled capabilities and providers need. Nothing is
    changed. docs/versions.md lists the features.

    Exit code 0: nothing stops an enabled capability. 1: something does. 2: bad input, or no answer.

    \b
    Example:
      growth doctor --settings growth.yaml
      growth doctor --only memory --output json | jq '.missing_permissions'
    """
    settings = effective.settings
    try:
        names = [name.strip() for name in only.split(",") if name.strip()]
        capabilities = chosen(names, installed_capabilities())
    except UnknownCapability as error:
        raise UsageError(f"--only {only}: {error}") from error
    except CapabilityNotUsable as error:
        raise click.ClickException(str(error)) from error
    try:
        report = run_interruptible(_read(settings, tuple(one for one in capabilities if one.is_enabled(settings))))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
    if output == "json":
        click.echo(msgspec.json.format(msgspec.json.encode(report)).decode())
    else:
        Console(highlight=False).print(view(report))
    context.exit(report.exit_code)


async def _read(settings: Settings, capabilities: tuple[AnyCapability, ...]) -> DoctorReport:
    kube = settings.kube
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    async with connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client:
        return await read_report(client, access.server, settings, capabilities)
