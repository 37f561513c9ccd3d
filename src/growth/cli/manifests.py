"""``growth manifests``: everything that a cluster needs to run Growth."""

import ipaddress
import re
from pathlib import Path
from typing import Any, Final

import click

from growth import __version__
from growth.api.settings.loading import EffectiveSettings
from growth.api.settings.model import HealthSettings, Settings
from growth.cli.errors import UsageError
from growth.cli.manifests_documents import Installation, documents
from growth.cli.settings_options import with_settings
from growth.cli.yaml_stream import yaml_stream
from growth.cloud.errors import Invalid
from growth.cloud.kwok.plugin import catalogue_from_file
from growth.run.capability_plugins import CapabilityNotUsable, plugin_capabilities
from growth.run.permissions import role_of
from growth.run.shipped_manifests import shipped_policies, shipped_roles

DEFAULT_IMAGE: Final = f"growth:{__version__}"
HEADER: Final = f"""\
# Made by `growth manifests` of Growth {__version__}: kubectl apply --server-side -f -
# Apply it, and never replace it: a replaced Lease is taken from the leader that still acts.
# Why each right is granted: charts/growth/rbac.yaml.
"""
QUEUE_HEADER: Final = """\
# Where Kueue's own definitions are installed add --field-manager=growth: what others wrote is refused then, and stays.
"""

_PART: Final = "[a-z0-9]+([._-]+[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"([A-Za-z0-9.-]+(:[0-9]+)?/)?{_PART}(/{_PART})*(:[A-Za-z0-9_][A-Za-z0-9_.-]{{0,127}})?(@sha256:[0-9a-f]{{64}})?"
)


@click.command()
@with_settings
@click.option(
    "--image",
    metavar="NAME",
    default=DEFAULT_IMAGE,
    show_default=True,
    help="Image to run. None is published yet: build it from the Dockerfile and push it where the cluster pulls.",
)
def manifests(effective: EffectiveSettings, image: str) -> None:
    """Print everything that a cluster needs to run Growth.

    Namespace, kinds, roles, settings, a Lease and a Deployment of two replicas. The settings that hold here (file,
    variables, flags) are those that will hold there, except for the kubeconfig and its context. The rights of the
    provider kwok are only granted if providers.enabled names it; the kinds, the rights and the admission policy of the
    job queue are only there if queue.enabled says so. Installed capabilities of other packages have a role each.

    \b
    Example:
      growth manifests --settings growth.yaml --image REGISTRY/growth:0.1.0 | kubectl apply --server-side -f -
    """
    click.echo(render(effective, image), nl=False)


def render(effective: EffectiveSettings, image: str) -> str:
    """All documents as one YAML stream; raises Refused for what could never run in a pod."""
    if not _IMAGE.fullmatch(image):
        raise UsageError(f"--image {image!r} is no image: expected a name such as registry.example.com/{DEFAULT_IMAGE}")
    _check_probes_can_reach(effective.settings.health)
    catalogue = effective.settings.kwok.catalogue
    installation = Installation(
        effective=effective,
        image=image,
        roles=shipped_roles(),
        policies=shipped_policies(),
        catalogue=_checked_catalogue(Path(catalogue)) if catalogue else "",
        plugin_roles=_plugin_roles(effective.settings),
    )
    header = HEADER + (QUEUE_HEADER if effective.settings.queue.enabled else "")
    return yaml_stream(header, documents(installation))


def _plugin_roles(settings: Settings) -> list[dict[str, Any]]:
    try:
        capabilities = plugin_capabilities()
    except CapabilityNotUsable as error:
        raise UsageError(str(error)) from error
    return [role for one in capabilities if one.is_enabled(settings) for role in role_of(one, settings)]


def _check_probes_can_reach(health: HealthSettings) -> None:
    """Kubelet asks at the pod's own address and at a port that it was told before."""
    if health.port == 0:
        raise UsageError(
            "health.port: 0 is not possible in a pod: expected a fixed port, for kubelet must know where to ask"
        )
    try:
        is_everywhere = not health.address or ipaddress.ip_address(health.address).is_unspecified
    except ValueError:
        is_everywhere = False
    if not is_everywhere:
        raise UsageError(
            f"health.address: {health.address!r} is not possible in a pod: expected nothing, '0.0.0.0' or '::', for "
            "kubelet asks at the pod's own address"
        )


def _checked_catalogue(path: Path) -> str:
    """The file's text, if it is a catalogue: better told here than by a pod that cannot start."""
    try:
        catalogue_from_file(path)
    except Invalid as error:
        raise UsageError(f"kwok.catalogue: {error}") from error
    return path.read_text(encoding="utf-8")
