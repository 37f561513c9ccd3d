"""A capability from another package: found by its entry point, decided with the others, measured and held."""

import asyncio
import io
from collections.abc import Iterator
from pathlib import Path

import msgspec
import pytest
import yaml
from rich.console import Console

from growth.api.settings.extensions import GROUP, installed_sections
from growth.api.settings.fields import setting_fields
from growth.api.settings.loading import EffectiveSettings, SettingsError, read_settings
from growth.cli.manifests import DEFAULT_IMAGE, render
from growth.cli.settings import render_yaml
from growth.cli.status import read_report
from growth.cli.status_report import StatusReport
from growth.cli.status_view import view
from growth.decide.pipeline import CAPABILITIES, chosen
from growth.run.capability_plugins import CapabilityNotUsable, installed_capabilities
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.kube.replica import virtual
from tests.run.small_cluster import Replica, SmallCluster
from tests.virtual_time import wait_until

TOY = Path(__file__).parent / "toy_capability"


def install(monkeypatch: pytest.MonkeyPatch, folder: Path, target: str) -> None:
    """Install a package with this entry point."""
    described = folder / "toy-1.0.dist-info"
    described.mkdir()
    (described / "METADATA").write_text("Metadata-Version: 2.1\nName: toy\nVersion: 1.0\n")
    (described / "entry_points.txt").write_text(f"[{GROUP}]\ntoy = {target}\n")
    for path in (TOY, folder):
        monkeypatch.syspath_prepend(str(path))  # pyright: ignore[reportUnknownMemberType]


def test_without_other_packages_there_are_the_capabilities_of_growth() -> None:
    assert installed_capabilities() == CAPABILITIES


def test_capability_of_another_package_measures_and_holds(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    install(monkeypatch, tmp_path, "toy_capability:CAPABILITY")
    capabilities = chosen(["toy"], installed_capabilities())
    assert [one.name for one in capabilities] == ["registry", "toy"], (
        "it goes by the registry, whose report comes along"
    )

    @virtual
    async def story() -> None:
        replica = Replica(SmallCluster(), "a", capabilities[-1])
        replica.start()
        await wait_until(lambda: replica.health.is_leader)
        await asyncio.sleep(1)
        text = replica.health.metrics.text().decode()
        assert "toy_ready_nodes 0.0" in text
        assert 'growth_holds{capability="toy",reason="TooFewNodes"} 1.0' in text
        await replica.stop()

    story()


@pytest.fixture
def toy_settings(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[EffectiveSettings]:
    """The settings where the toy is installed; what is known of settings is forgotten before and after."""
    known = (installed_sections, setting_fields)
    for one in known:
        one.cache_clear()
    install(monkeypatch, tmp_path, "toy_capability:CAPABILITY")
    yield read_settings("toy: {leastNodes: 3}")
    for one in known:
        one.cache_clear()


def test_section_of_another_package_is_read_checked_and_printed(toy_settings: EffectiveSettings) -> None:
    (row,) = [one for one in toy_settings.fields if one.field.path == "toy.leastNodes"]
    assert (row.value, row.origin, row.field.flag) == (3, "file", "--toy-least-nodes")
    assert row.field.variable == "GROWTH_TOY_LEAST_NODES"
    assert render_yaml(toy_settings).endswith("toy:\n  # How many nodes must work. (file)\n  leastNodes: 3\n")
    with pytest.raises(SettingsError, match=r"toy\.leastNodes: -1 is not possible: expected a whole number from 0 up"):
        read_settings("toy: {leastNodes: -1}")
    with pytest.raises(SettingsError, match=r"toy\.nodes: 1 has no meaning"):
        read_settings("toy: {nodes: 1}")


def test_what_it_reports_stands_in_growth_status(toy_settings: EffectiveSettings) -> None:
    capabilities = chosen(["toy"], installed_capabilities())
    settings = msgspec.structs.replace(QUICK, extensions=toy_settings.settings.extensions)
    shown: list[StatusReport] = []

    async def tell(play: Play) -> None:
        await play.node("one")
        async with growing(play, settings=settings, capabilities=capabilities):

            async def is_told() -> bool:
                report = await read_report(play.client, settings, play.now)
                shown.append(report)
                return report.capabilities == {"toy": {"readyNodes": 1, "leastNodes": 3}}

            await play.until_found(is_told, "growth status shows the toy")
        async with growing(play, settings=settings, capabilities=chosen(["registry"])):

            async def is_gone() -> bool:
                return not (await read_report(play.client, settings, play.now)).capabilities

            await play.until_found(is_gone, "it is gone with the toy")

    play_virtually(tell, alone=True)
    console = Console(width=100, record=True, file=io.StringIO())
    console.print(view(shown[-1], 100))
    assert "toy  readyNodes: 1, leastNodes: 3" in console.export_text()


def test_manifests_grant_it_what_it_needs(toy_settings: EffectiveSettings) -> None:
    documents = list(yaml.safe_load_all(render(toy_settings, DEFAULT_IMAGE)))
    roles = {one["kind"]: one for one in documents if one["metadata"]["name"] == "growth-toy" and "rules" in one}
    watching = {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch"]}
    assert watching in roles["ClusterRole"]["rules"]
    assert roles["Role"]["metadata"]["namespace"] == "growth-system"
    bound = [one for one in documents if one["metadata"]["name"] == "growth-toy" and "roleRef" in one]
    assert sorted(one["roleRef"]["kind"] for one in bound) == ["ClusterRole", "Role"]
    (config_map,) = [one for one in documents if one["kind"] == "ConfigMap"]
    assert yaml.safe_load(config_map["data"]["growth.yaml"]) == {"toy": {"leastNodes": 3}}


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("toy_capability:NOWHERE", "AttributeError"),
        ("no_such_module:CAPABILITY", "ModuleNotFoundError"),
        ("toy_capability:READY", "it is a Metric; expected a Capability"),
        ("growth.decide.scale_up.decider:CAPABILITY", "another capability has the name 'grow'"),
        ("clashing_capability:CAPABILITY", "the settings have a section 'kube' of their own"),
    ],
    ids=["no such name", "no such module", "something else", "a name that is taken", "a section that is taken"],
)
def test_capability_that_cannot_be_used_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: str, reason: str
) -> None:
    install(monkeypatch, tmp_path, target)
    with pytest.raises(CapabilityNotUsable, match=r"capability 'toy' is installed") as caught:
        installed_capabilities()
    assert reason in str(caught.value)
