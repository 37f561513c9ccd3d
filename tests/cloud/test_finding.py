"""Providers are found by name, and opened with their options."""

from datetime import UTC, datetime
from pathlib import Path

import pytest

from growth.cloud.errors import Invalid
from growth.cloud.finding import Surroundings, find_provider, installed_providers
from growth.cloud.kwok.opening import catalogue_from_file, open_kwok
from growth.kube.client import Client
from tests.kube.fake_api import FakeApi, FakeSend


def surroundings(**options: str) -> Surroundings:
    client = Client(FakeSend(FakeApi(), lambda: 0.0))
    return Surroundings(client, "growth-system", lambda: datetime.now(UTC), options)


def test_kwok_is_found_by_its_entry_point() -> None:
    assert "kwok" in installed_providers()
    assert find_provider("kwok") is open_kwok


def test_an_unknown_provider_is_answered_with_the_closest_name() -> None:
    with pytest.raises(Invalid, match=r"there is no provider 'kwork': the closest is kwok"):
        find_provider("kwork")
    with pytest.raises(Invalid, match=r"there is no provider 'x': installed are .*kwok"):
        find_provider("x")


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
