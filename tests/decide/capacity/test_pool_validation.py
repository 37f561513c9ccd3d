"""What is wrong with a pool, in words that name the field, the value and what was expected."""

from typing import Any

import msgspec
import pytest

from growth.api.node_pool import NodePool
from growth.api.provider_state import NOT_ASKED, ProviderState
from growth.decide.capacity.pool_validation import PoolProblem, is_asked, problems, usable
from tests.decide.marketplace import NOW, a_cloud, a_pool, an_offering

KWOK = a_cloud(an_offering("cax11"), an_offering("cax11", "nbg1"), an_offering("cx23", "hel1"))
HETZNER = a_cloud(provider="hetzner")
BY_HAND = an_offering("gex44", is_cloud=False)
WITHDRAWN = msgspec.structs.replace(an_offering("cpx11", is_cloud=False), withdrawn="deprecated since yesterday")


def stops(reason: str, why: str) -> PoolProblem:
    return PoolProblem(reason, why, stops_launches=True)


def clouds_of(*clouds: ProviderState) -> dict[str, ProviderState]:
    return {cloud.provider: cloud for cloud in clouds}


def pool_of(fields: dict[str, Any]) -> NodePool:
    whole: dict[str, Any] = {"types": ["cax11"], **fields}
    return a_pool(**whole)


@pytest.mark.parametrize(
    ("spec", "clouds", "expected"),
    [
        pytest.param({}, [KWOK], [], id="nothing"),
        pytest.param({"types": ["CAX11"]}, [KWOK], [], id="upper and lower case count as the same"),
        pytest.param({"provider": "kwok"}, [KWOK, HETZNER], [], id="it names one of several providers"),
        pytest.param(
            {"provider": "kwock"}, [KWOK, HETZNER],
            [stops("UnknownProvider",
                   "spec.provider is 'kwock', which is not enabled; enabled (providers.enabled): hetzner, kwok; "
                   "the closest is kwok")],
            id="an unknown provider",
        ),
        pytest.param(
            {"provider": "aws"}, [],
            [stops("UnknownProvider",
                   "spec.provider is 'aws', which is not enabled; enabled (providers.enabled): none")],
            id="a provider where none is enabled",
        ),
        pytest.param(
            {}, [KWOK, HETZNER],
            [stops("NoProvider",
                   "several providers are enabled (hetzner, kwok), and the pool names none: "
                   "set spec.provider to one of them")],
            id="several providers",
        ),
        pytest.param(
            {}, [],
            [stops("NoProvider", "no provider is enabled, and the pool names none: set providers.enabled")],
            id="no provider at all",
        ),
        pytest.param(
            {}, [a_cloud(read_at=None, problem="mine.yaml cannot be read: No such file or directory")],
            [stops("ProviderSilent",
                   "kwok has not said yet what it sells: mine.yaml cannot be read: No such file or directory")],
            id="a provider that never answered",
        ),
        pytest.param(
            {"types": ["small"]}, [a_cloud(problem="the token is wrong")],
            [PoolProblem("ProviderSilent", "kwok does not answer: the token is wrong")],
            id="a provider that answered once: what it sold then may still be bought",
        ),
        pytest.param(
            {"types": ["cax11", "cax12"]}, [KWOK],
            [PoolProblem("UnknownServerType",
                     "spec.serverTypes[1].name is 'cax12', which kwok does not sell; the closest is cax11")],
            id="a server type with a typo",
        ),
        pytest.param(
            {"types": ["CX35"]}, [a_cloud(*(an_offering(name) for name in ("cpx31", "cx23", "cx33", "ccx63")))],
            [PoolProblem("UnknownServerType",
                     "spec.serverTypes[0].name is 'CX35', which kwok does not sell; "
                     "the closest are cx33, cx23")],
            id="a server type that never was",
        ),
        pytest.param(
            {"types": ["CX31", "cx32"]}, [a_cloud(*(an_offering(name) for name in ("cx23", "cx33")))],
            [PoolProblem("Withdrawn",
                     "spec.serverTypes[0].name is 'CX31', which kwok has not offered since 2024-09-06; "
                     "name cx33 instead"),
             PoolProblem("Withdrawn",
                     "spec.serverTypes[1].name is 'cx32', which kwok has not offered since 2026-01-01; "
                     "name cx33 instead")],
            id="server types that Hetzner withdrew",
        ),
        pytest.param(
            {"types": ["cx31"]}, [a_cloud(an_offering("cx23"))],
            [PoolProblem("Withdrawn",
                     "spec.serverTypes[0].name is 'cx31', which kwok has not offered since 2024-09-06; "
                     "the closest is cx23")],
            id="a server type whose successor is not offered either",
        ),
        pytest.param(
            {"types": ["CX31"], "provider": "attic"},
            [ProviderState("attic", (an_offering("cx33", provider="attic"),), read_at=NOW)],
            [PoolProblem("UnknownServerType",
                     "spec.serverTypes[0].name is 'CX31', which attic does not sell; the closest is cx33")],
            id="a provider whose types are not Hetzner's",
        ),
        pytest.param(
            {"types": ["GEX44"], "provider": "hetzner"},
            [ProviderState("hetzner", (an_offering("cx33", provider="hetzner"),), read_at=NOW)],
            [PoolProblem("NotForSale",
                     "spec.serverTypes[0].name is 'GEX44', which hetzner does not offer through its cloud API: it is a "
                     "dedicated server that must be ordered by hand, and Growth cannot launch it")],
            id="a dedicated server of Hetzner's",
        ),
        pytest.param(
            {"types": ["m5.large"]}, [KWOK],
            [PoolProblem("UnknownServerType",
                     "spec.serverTypes[0].name is 'm5.large', which kwok does not sell; it has cax11, cx23")],
            id="a server type of somebody else",
        ),
        pytest.param(
            {"locations": ["FSN1"]}, [KWOK],
            [PoolProblem("NotSoldThere",
                     "spec.serverTypes[0].name is 'cax11', which kwok sells in fsn1, nbg1 only: "
                     "none of these is in spec.locations"),
             PoolProblem("UnknownLocation",
                     "spec.locations[0] is 'FSN1', which kwok does not have; the closest is fsn1")],
            id="a location in the wrong case",
        ),
        pytest.param(
            {"locations": ["fsn1", "mars"]}, [KWOK],
            [PoolProblem("UnknownLocation",
                     "spec.locations[1] is 'mars', which kwok does not have; it has fsn1, hel1, nbg1")],
            id="an unknown location beside a good one",
        ),
        pytest.param(
            {"types": ["cax11", "cx23"], "locations": ["nbg1"]}, [KWOK],
            [PoolProblem("NotSoldThere",
                     "spec.serverTypes[1].name is 'cx23', which kwok sells in hel1 only: "
                     "none of these is in spec.locations")],
            id="a type that is sold elsewhere",
        ),
        pytest.param(
            {"types": ["cpx11"], "locations": ["fsn1"]}, [a_cloud(WITHDRAWN, an_offering("cpx11", "ash"))],
            [PoolProblem("Withdrawn",
                     "spec.serverTypes[0].name is 'cpx11', which kwok no longer sells: deprecated since yesterday")],
            id="a type that is no longer sold where the pool is",
        ),
        pytest.param(
            {"types": ["cpx11"]}, [a_cloud(WITHDRAWN, an_offering("cpx11", "ash"))], [],
            id="a type that is no longer sold in one place only",
        ),
        pytest.param(
            {"types": ["gex44"]}, [a_cloud(BY_HAND)],
            [PoolProblem("NotForSale",
                     "spec.serverTypes[0].name is 'gex44', which kwok sells by hand only: it is never bought")],
            id="a machine that somebody must order by hand",
        ),
        pytest.param(
            {"types": ["gex44"]}, [a_cloud(BY_HAND, an_offering("gex44", "nbg1"))], [],
            id="one that must be ordered by hand in one location only",
        ),
        pytest.param(
            {"types": ["small"]}, [ProviderState("kwok", (an_offering(provider="attic"),), read_at=NOW)],
            [stops("WrongCatalogue", "kwok sells offerings of 'attic': its catalogue must say provider: kwok")],
            id="a catalogue in another provider's name",
        ),
        pytest.param(
            {"types": ["cx23"], "disruption": {"budgets": [{"nodes": "few"}]}}, [KWOK],
            [PoolProblem("BadBudget",
                     "spec.disruption.budgets[0].nodes: 'few' is not a number of nodes, expected one such as 2, or a "
                     "share from 0% to 100%; until it is mended, the budget allows no node to go")],
            id="a budget that nobody understands",
        ),
        pytest.param(
            {"types": ["tiny", "cx23"], "locations": ["mars", "hel1"]}, [a_cloud(*KWOK.offerings, problem="no answer")],
            [PoolProblem("UnknownServerType",
                     "spec.serverTypes[0].name is 'tiny', which kwok does not sell; it has cax11, cx23"),
             PoolProblem("UnknownLocation",
                     "spec.locations[0] is 'mars', which kwok does not have; it has fsn1, hel1, nbg1"),
             PoolProblem("ProviderSilent", "kwok does not answer: no answer")],
            id="all that is wrong, at once",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong(spec: dict[str, Any], clouds: list[ProviderState], expected: list[PoolProblem]) -> None:
    assert problems(pool_of(spec), clouds_of(*clouds)) == expected


@pytest.mark.parametrize(
    ("fields", "clouds", "expected"),
    [
        pytest.param({}, [KWOK], True, id="a pool of which nothing is wrong"),
        pytest.param({"types": ["cax11", "tiny"]}, [KWOK], True, id="what is wrong with a type stops that type only"),
        pytest.param({}, [a_cloud(*KWOK.offerings, problem="no answer")], True, id="a provider that fell silent"),
        pytest.param({"finalizers": []}, [KWOK], False, id="not before its finalizer holds it"),
        pytest.param({"finalizers": ["somebody.else/waits"]}, [KWOK], False, id="another one's does not"),
        pytest.param({"deleted_at": NOW}, [KWOK], False, id="not when it is deleted"),
        pytest.param({}, [a_cloud(read_at=None)], False, id="not before anybody said what is sold"),
        pytest.param({}, [KWOK, HETZNER], False, id="not while it is not clear from whom"),
    ],
)
def test_whether_machines_may_be_bought(fields: dict[str, Any], clouds: list[ProviderState], *, expected: bool) -> None:
    assert usable(pool_of(fields), clouds_of(*clouds)) is expected


@pytest.mark.parametrize(
    ("clouds", "expected"),
    [
        pytest.param([ProviderState("kwok", problem=NOT_ASKED)], False, id="a provider that had no time to answer"),
        pytest.param([ProviderState("kwok", problem="no answer")], True, id="one that does not answer"),
        pytest.param([KWOK], True, id="one that answered"),
        pytest.param([], True, id="none at all"),
    ],
)
def test_whether_silence_means_something(clouds: list[ProviderState], *, expected: bool) -> None:
    assert is_asked(a_pool(), clouds_of(*clouds)) is expected
