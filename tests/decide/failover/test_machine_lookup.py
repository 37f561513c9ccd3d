"""Whom to ask about a machine."""

import pytest

from growth.api.machine import Machine, Power
from growth.api.provider_state import ProviderState
from growth.decide.failover.machine_lookup import MachineLocation, MachineLookup
from tests.decide.failover.stage import START


def a_cloud(provider: str, prefix: str, *ids: str, problem: str = "") -> ProviderState:
    machines = tuple(Machine(one, f"{prefix}{one}", one, "small", "default", START, Power.OFF, START) for one in ids)
    return ProviderState(provider, (), machines, START, problem)


def among(*clouds: ProviderState) -> MachineLookup:
    return MachineLookup({cloud.provider: cloud for cloud in clouds})


def test_a_machine_is_known_by_its_provider_id() -> None:
    machines = among(a_cloud("kwok", "kwok://growth/", "a/1"), a_cloud("hetzner", "hcloud://", "17"))
    assert machines.place("hcloud://17") == MachineLocation("hetzner", "17")
    assert machines.place("hcloud://18") == MachineLocation("hetzner", "18"), "one that is not listed any more"
    assert machines.place("kwok://growth/a/2") == MachineLocation("kwok", "a/2"), "another one of that name"


@pytest.mark.parametrize("provider_id", ["", "aws:///eu/i-1", "hcloud"])
def test_nobody_is_asked_about_a_machine_that_nobody_has(provider_id: str) -> None:
    assert among(a_cloud("hetzner", "hcloud://", "17")).place(provider_id) is None


def test_a_provider_that_lists_nothing_is_not_asked() -> None:
    assert among(a_cloud("hetzner", "hcloud://")).place("hcloud://17") is None


def test_of_two_that_look_alike_only_the_one_that_has_it_is_asked() -> None:
    """The other one would say that it is gone."""
    machines = among(a_cloud("one", "hcloud://", "17"), a_cloud("two", "hcloud://", "18"))
    assert machines.place("hcloud://18") == MachineLocation("two", "18")
    assert machines.place("hcloud://17") == MachineLocation("one", "17")
    assert machines.place("hcloud://19") is None


def test_what_a_silent_provider_said_last_is_no_reading() -> None:
    assert among(a_cloud("hetzner", "hcloud://", "17")).reading("hcloud://17") is not None
    assert among(a_cloud("hetzner", "hcloud://", "17", problem="no answer")).reading("hcloud://17") is None
    assert among(a_cloud("hetzner", "hcloud://", "17")).reading("hcloud://18") is None


def test_pages_are_counted_up() -> None:
    machines = among(a_cloud("hetzner", "hcloud://", *map(str, range(101))))
    assert [machines.pages(name, 50) for name in ("hetzner", "nobody")] == [3, 1]
