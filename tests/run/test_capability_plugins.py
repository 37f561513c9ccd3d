"""A capability from another package: found by its entry point, decided with the others, measured and held."""

import asyncio
from pathlib import Path

import pytest

from growth.decide.pipeline import CAPABILITIES, chosen
from growth.run.capability_plugins import GROUP, CapabilityNotUsable, installed_capabilities
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
        assert 'growth_holds{capability="toy",reason="NoNodes"} 1.0' in text
        await replica.stop()

    story()


@pytest.mark.parametrize(
    ("target", "reason"),
    [
        ("toy_capability:NOWHERE", "AttributeError"),
        ("no_such_module:CAPABILITY", "ModuleNotFoundError"),
        ("toy_capability:READY", "it is a Metric; expected a Capability"),
        ("growth.decide.scale_up.decider:CAPABILITY", "another capability has the name 'grow'"),
    ],
    ids=["no such name", "no such module", "something else", "a name that is taken"],
)
def test_capability_that_cannot_be_used_is_named_with_the_reason(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, target: str, reason: str
) -> None:
    install(monkeypatch, tmp_path, target)
    with pytest.raises(CapabilityNotUsable, match=r"capability 'toy' is installed") as caught:
        installed_capabilities()
    assert reason in str(caught.value)
