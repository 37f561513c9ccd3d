"""The table of what a provider's errors mean: the code, the page and the providers' errors say the same."""

import inspect
from datetime import datetime

import pytest

from growth.api.offering import family_of
from growth.api.phases import RequestPhase
from growth.cloud import errors
from growth.cloud.errors import ProviderError
from growth.decide.capacity.provider_failures import (
    ANYTHING_ELSE,
    ENDING,
    SAID_BY_PROVIDERS,
    WAITED_TOO_LONG,
    BackoffScope,
    FailedRequest,
    FailureConsequence,
    failure_of,
)
from growth.decide.writes.node_requests import REQUEST_FAILED
from tests.decide.marketplace import HOUR, MINUTE, NOW, PROVISION, SECOND, SMALL, a_failed_request, a_request
from tests.repository import ROOT

PAGE = ROOT / "docs" / "growing.md"
SECTION = "## When a provider says no"
EVERYTHING = (*SAID_BY_PROVIDERS, *WAITED_TOO_LONG)


def rows_of_the_page() -> list[list[str]]:
    """The cells of the section's table, without its head."""
    section = PAGE.read_text(encoding="utf-8").partition(f"{SECTION}\n")[2].partition("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


def test_the_page_shows_the_table_row_by_row() -> None:
    assert rows_of_the_page() == [
        [
            one.error if one.error == ANYTHING_ELSE else f"`{one.error}`",
            f"stays {one.phase}" if one.phase == "Pending" else one.phase,
            f"`{REQUEST_FAILED}`",
            one.leaves_alone,
            one.again,
        ]
        for one in EVERYTHING
    ]


def test_every_error_of_a_provider_has_its_row() -> None:
    tree = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, ProviderError)]
    names = {kind.__name__ for kind in tree} - {"ProviderError"}
    assert names | {ANYTHING_ELSE} == {one.error for one in SAID_BY_PROVIDERS}


def test_errors_end_a_request_exactly_if_their_row_says_unmet() -> None:
    assert sorted(ENDING) == ["FamilyQuotaExceeded", "Invalid", "OutOfStock", "QuotaExceeded", "Unauthorized"]


_SCOPES = {
    BackoffScope.OFFERING: SMALL,
    BackoffScope.POOLS_OWN: SMALL,
    BackoffScope.LAUNCHES: SMALL,
    BackoffScope.FAMILY: "kwok-small*",
    BackoffScope.PROVIDER: "kwok",
}


@pytest.mark.parametrize(
    "row", [one for one in EVERYTHING if one.phase != "Pending"], ids=lambda row: f"{row.error}: {row.leaves_alone}"
)
def test_what_is_left_alone_follows_the_table(row: FailureConsequence) -> None:
    request = a_request(phase=row.phase, reason=row.error)
    scope = _SCOPES.get(row.leaves_alone)
    expected = None
    if scope is not None:
        expected = FailedRequest(request.metadata.uid, scope, NOW, NOW - SECOND, row.error, f"it was {row.error}")
    assert failure_of(request, ["kwok"], NOW, PROVISION) == expected


@pytest.mark.parametrize("phase", ["Pending", "Provisioning", "Ready"])
def test_a_request_that_was_not_given_up_says_nothing(phase: RequestPhase) -> None:
    assert failure_of(a_request(phase=phase), ["kwok"], NOW, PROVISION) is None


@pytest.mark.parametrize(
    ("providers", "expected"),
    [
        pytest.param(["kwok", "kwok-small"], "kwok-small", id="the longest name that fits"),
        pytest.param(["kwok"], "kwok", id="the provider of the offering"),
        pytest.param(["hetzner"], SMALL, id="a provider that is not there any more: the offering alone"),
    ],
)
def test_a_quota_belongs_to_the_provider_of_the_offering(providers: list[str], expected: str) -> None:
    failure = failure_of(a_failed_request(reason="QuotaExceeded"), providers, NOW, PROVISION)
    assert failure is not None
    assert failure.scope == expected


@pytest.mark.parametrize(
    ("since", "at"),
    [
        pytest.param(NOW - HOUR, NOW - HOUR, id="an hour ago"),
        pytest.param(NOW + 30 * SECOND, NOW, id="another leader's clock was a little ahead: it was now"),
        pytest.param(NOW + 2 * MINUTE, None, id="a clock was set back: it says nothing about now"),
        pytest.param(NOW - PROVISION.forget_after, None, id="so long ago that nobody would remember it"),
        pytest.param(None, None, id="nobody knows when"),
    ],
)
def test_when_it_failed(since: datetime | None, at: datetime | None) -> None:
    failure = failure_of(a_failed_request(since=since), ["kwok"], NOW, PROVISION)
    assert (failure.at if failure else None) == at


def test_a_request_that_a_person_marked_unmet_without_a_word_counts_as_no_machine() -> None:
    failure = failure_of(a_request(phase="Unmet"), ["kwok"], NOW, PROVISION)
    assert failure == FailedRequest("request-default-1", SMALL, NOW, NOW - SECOND, "NoMachine", "")


@pytest.mark.parametrize(
    ("offering", "family"),
    [
        ("hetzner-ccx13-fsn1", "hetzner-ccx*"),
        ("Hetzner-CCX13", "hetzner-ccx*"),
        ("hetzner-cx23-fsn1", "hetzner-cx*"),
        ("hetzner-small", "hetzner-small*"),
        ("hetzner-4core-fsn1", "hetzner-*"),
    ],
)
def test_a_family_is_the_letters_that_a_types_name_begins_with(offering: str, family: str) -> None:
    assert family_of("hetzner", offering) == family
