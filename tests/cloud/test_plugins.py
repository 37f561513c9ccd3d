"""Providers are found by name, and opened with their options."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from growth.cloud.errors import Invalid
from growth.cloud.kwok.plugin import catalogue_from_file, open_kwok
from growth.cloud.plugins import ProviderEnvironment, find_provider, installed_providers
from growth.kube.client import Client
from tests.kube.fake_api import FakeApi, FakeSend


def surroundings(**options: str) -> ProviderEnvironment:
    client = Client(FakeSend(FakeApi(), lambda: 0.0))
    return ProviderEnvironment(client, "growth-system", lambda: datetime.now(UTC), options)


def test_kwok_is_found_by_its_entry_point() -> None:
    assert "kwok" in installed_providers()
    assert find_provider("kwok") is open_kwok


def test_an_unknown_provider_is_answered_with_the_closest_name() -> None:
    with pytest.raises(Invalid, match=r"there is no provider 'kwork': the closest is kwok"):
        find_provider("kwork")
    with pytest.raises(Invalid, match=r"there is no provider 'x': installed are .*kwok"):
        find_provider("x")


def install(folder: Path, name: str, value: str) -> None:
    """A package of somebody else, as pip would leave it."""
    info = folder / f"{name}-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[growth.providers]\n{name} = {value}\n")


def test_a_provider_of_a_third_party_is_found(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "attic", "attic:open_attic")
    (tmp_path / "attic.py").write_text("def open_attic(surroundings): ...\n")
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    assert "attic" in installed_providers()
    assert find_provider("attic").__module__ == "attic"


def test_a_provider_that_cannot_be_loaded_says_why(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    install(tmp_path, "cellar", "cellar:open_cellar")
    monkeypatch.syspath_prepend(tmp_path)  # pyright: ignore[reportUnknownMemberType]
    with pytest.raises(Invalid, match="'cellar' is installed, but cellar:open_cellar cannot be loaded"):
        find_provider("cellar")


async def test_an_unknown_option_is_answered_with_the_closest_name() -> None:
    with pytest.raises(Invalid, match="the provider 'kwok' has no option 'catalog': the closest is catalogue"):
        async with open_kwok(surroundings(catalog="x.yaml")):
            pass


def test_a_catalogue_that_is_not_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(Invalid, match=r"the catalogue .*none.yaml cannot be read: No such file"):
        catalogue_from_file(tmp_path / "none.yaml")


def test_a_catalogue_that_is_no_text_is_named(tmp_path: Path) -> None:
    path = tmp_path / "picture.yaml"
    path.write_bytes(b"\xff\xd8\xff")
    with pytest.raises(Invalid, match=r"picture.yaml cannot be read: it is no UTF-8 text"):
        catalogue_from_file(path)


def test_a_wrong_catalogue_is_refused_with_its_lines(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text("provider: shop\nserverTyps: []\n")
    with pytest.raises(Invalid, match=r"shop.yaml line 2: serverTyps: has no meaning.*the closest is serverTypes"):
        catalogue_from_file(path)
