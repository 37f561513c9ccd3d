"""``growth run``: the process that does the work."""

import asyncio
import logging
import socket
import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Final

import click

from growth import __version__
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import HealthSettings, Settings
from growth.cli.errors import UsageError, sentence_for
from growth.cli.settings_options import with_settings
from growth.cloud.errors import Invalid
from growth.decide.contract import AnyCapability
from growth.decide.pipeline import CAPABILITIES, UnknownCapability, chosen
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import ApiError, KubeError
from growth.kube.leader_election import unique_identity
from growth.run.capability_plugins import CapabilityNotUsable, installed_capabilities
from growth.run.health import ProcessHealth, serving
from growth.run.logs import set_up_logs
from growth.run.missing_features import missing_features, sentence_about
from growth.run.provider_poller import OpenProvider, open_providers
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import Runtime, this_process
from growth.run.signals import run_until_stopped

_LOG: Final = logging.getLogger(__name__)


_ONLY: Final = (
    f"Capabilities to run, separated by commas: {', '.join(one.name for one in CAPABILITIES)}, and those that other "
    "packages bring. [default: all of them]"
)


@click.command()
@with_settings
@click.option("--only", metavar="NAMES", default="", help=_ONLY)
def run(effective: EffectiveSettings, only: str) -> None:
    """Run Growth until SIGTERM or Ctrl-C.

    Start as many replicas as you like: one leads, the others stand by. /healthz, /readyz and /metrics answer on
    --health-port. docs/running.md says what they tell, and what stops a start.

    \b
    Example:
      growth run --settings growth.yaml
      growth run --context production --only pools,grow,provision
    """
    settings, host = effective.settings, this_process(unique_identity(socket.gethostname()))
    try:
        names = [name.strip() for name in only.split(",") if name.strip()]
        capabilities = chosen(names, installed_capabilities())
    except UnknownCapability as error:
        raise UsageError(f"--only {only}: {error}") from error
    except CapabilityNotUsable as error:
        raise click.ClickException(str(error)) from error
    try:
        providers = open_providers(settings, host.now)
    except Invalid as error:
        raise UsageError(f"providers.enabled {settings.providers.enabled!r}: {error}") from error
    set_up_logs(sys.stderr)
    try:
        asyncio.run(_run(settings, capabilities, providers, host))
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error


async def _run(
    settings: Settings,
    capabilities: tuple[AnyCapability, ...],
    providers: Mapping[str, OpenProvider],
    host: Runtime,
) -> None:
    kube = settings.kube
    access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
    async with (
        connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client,
        connect(access) as lease_client,
    ):
        plant = ReplicaConfig(
            client=client,
            lease_client=lease_client,
            settings=settings,
            capabilities=capabilities,
            host=host,
            providers=providers,
        )
        health = new_health()

        async def work() -> None:
            # Informers wait for a server that is not there; whoever starts us should hear of it.
            version = await client.server_version()
            _LOG.info("reading the cluster at %s (%s)", access.server, version)
            await _warn_of_missing(client, version, [one.name for one in capabilities if one.is_enabled(settings)])
            await control(plant, health)

        with _telling_health(health, settings.health) as port:
            facts = {
                "identity": host.identity,
                "capabilities": ",".join(capability.name for capability in capabilities) or "none",
                "providers": ",".join(providers) or "none",
                "port": port,
            }
            _LOG.info("growth %s starts", __version__, extra={"facts": facts})
            await run_until_stopped(work())
    _LOG.info("stopped")


async def _warn_of_missing(client: Client, version: str, capabilities: Sequence[str]) -> None:
    """What this server lacks, once and before anything depends on it; ``growth doctor`` says the same."""
    try:
        for feature in await missing_features(client, version, capabilities):
            _LOG.warning("%s", sentence_about(feature))
    except ApiError as error:  # a cluster may keep discovery to itself, and Growth needs it for nothing else
        _LOG.info("what this server lacks is not known: %s", error)


@contextmanager
def _telling_health(health: ProcessHealth, listen: HealthSettings) -> Generator[int]:
    with ExitStack() as stack:
        try:
            port = stack.enter_context(serving(health, listen.address, listen.port))
        except OSError as error:
            where = f"health.address {listen.address!r}, health.port {listen.port}"
            problem = f"{where}: cannot listen there ({error.strerror or error})"
            raise UsageError(f"{problem}; choose another port with --health-port, or 0 for any that is free") from error
        yield port
