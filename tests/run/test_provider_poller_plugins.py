"""From settings to providers that can be opened."""

import asyncio
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from growth.api.provider_state import ProviderState
from growth.api.settings.model import HetznerSettings, KwokSettings, ProvidersSettings, Settings
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.plugin import HetznerOptions, options_from
from growth.run.provider_poller import ProviderPoller, open_providers, options_of
from tests.cloud.virtual import VirtualKwok
from tests.kube.replica import virtual

CATALOGUE = """
provider: kwok
locations: {attic: {zone: attic-1, region: home}}
serverTypes:
  - {name: desk, arch: amd64, resources: {cpu: 2, memory: 4Gi}, prices: {attic: 0.01}}
"""


def now() -> datetime:
    return datetime(2026, 1, 1, 12, tzinfo=UTC)


def enabling(names: str, *, catalogue: str = "") -> Settings:
    return Settings(providers=ProvidersSettings(enabled=names), kwok=KwokSettings(catalogue=catalogue))


def test_by_default_nothing_is_bought() -> None:
    assert open_providers(Settings(), now) == {}


def test_each_provider_is_opened_once_in_the_order_of_the_settings() -> None:
    assert list(open_providers(enabling("kwok,kwok"), now)) == ["kwok"]


def test_a_provider_that_is_not_installed_is_refused_before_any_is_opened() -> None:
    with pytest.raises(Invalid, match="there is no provider 'kwork': the closest is kwok"):
        open_providers(enabling("kwok,kwork"), now)


OPTIONS = [
    pytest.param("kwok", "", {}, id="unset means the shipped catalogue"),
    pytest.param("kwok", "shop.yaml", {"catalogue": "shop.yaml"}, id="a catalogue of one's own"),
    pytest.param("attic", "shop.yaml", {}, id="what is said of kwok means nothing to others"),
]


@pytest.mark.parametrize(("name", "catalogue", "options"), OPTIONS)
def test_a_provider_is_told_what_the_settings_say_about_it(name: str, catalogue: str, options: dict[str, str]) -> None:
    assert options_of(name, enabling(name, catalogue=catalogue)) == options


def test_what_kwok_sells_is_what_its_catalogue_says(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    path.write_text(CATALOGUE)

    @virtual
    async def story() -> None:
        virtual_kwok = VirtualKwok()
        opening = open_providers(enabling("kwok", catalogue=str(path)), virtual_kwok.clock.now)["kwok"]
        async with opening(virtual_kwok.client()) as provider:
            assert [offering.id for offering in await provider.offerings()] == ["kwok-desk-attic"]

    story()


def test_a_catalogue_that_cannot_be_read_is_told_and_read_again_once_it_is_mended(tmp_path: Path) -> None:
    path = tmp_path / "shop.yaml"
    told: list[ProviderState] = []

    @virtual
    async def story() -> None:
        virtual_kwok, settings = VirtualKwok(), enabling("kwok", catalogue=str(path))
        clock = virtual_kwok.clock.now
        clouds = ProviderPoller(open_providers(settings, clock), every_seconds=30, tell=told.append, now=clock)
        async with clouds.following(virtual_kwok.client()):
            await asyncio.sleep(0.5)
            assert told[-1].problem == f"the catalogue {path} cannot be read: No such file or directory"
            path.write_text(CATALOGUE)
            await asyncio.sleep(1)
            assert [offering.id for offering in told[-1].offerings] == ["kwok-desk-attic"]
            assert told[-1].problem == ""

    story()


def test_hetzner_is_told_all_that_the_settings_say_about_it() -> None:
    settings = Settings(hetzner=HetznerSettings("shop", "hetzner-token", "http://127.0.0.1:1/v1", timedelta(minutes=3)))
    options = options_of("hetzner", settings)
    assert options == {
        "clusterName": "shop",
        "tokenSecret": "hetzner-token",
        "endpoint": "http://127.0.0.1:1/v1",
        "catalogueEvery": "3m",
    }
    assert options_from(options) == HetznerOptions(
        "shop", "hetzner-token", "http://127.0.0.1:1/v1", timedelta(minutes=3)
    )
