"""Whose offering is it? Its name says so, whether or not it is sold now."""

from growth.api.provider_state import ProviderState, cloud_of

KWOK, HETZNER, OTHER = ProviderState("kwok"), ProviderState("hetzner"), ProviderState("hetzner-robot")
CLOUDS = {one.provider: one for one in (KWOK, HETZNER, OTHER)}


def test_an_offering_begins_with_the_name_of_who_sells_it() -> None:
    assert cloud_of("kwok-small-fsn1", CLOUDS) is KWOK
    assert cloud_of("Hetzner-CX22-fsn1", CLOUDS) is HETZNER


def test_of_two_names_the_longer_one_is_meant() -> None:
    assert cloud_of("hetzner-robot-ax41-fsn1", CLOUDS) is OTHER


def test_nobody_sells_what_bears_no_known_name() -> None:
    assert cloud_of("aws-small-a", CLOUDS) is None
    assert cloud_of("kwokish-small", CLOUDS) is None
    assert cloud_of("", CLOUDS) is None
