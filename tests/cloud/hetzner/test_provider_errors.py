"""What each code of the API means. The rows are those of the requirement and of the API's reference."""

import pytest

from growth.cloud.errors import (
    FamilyQuotaExceeded,
    Invalid,
    OutOfStock,
    ProviderError,
    QuotaExceeded,
    RateLimited,
    Unauthorized,
    Unavailable,
)
from growth.cloud.hetzner.provider_errors import MEANINGS, ApiRefused, NoAnswer, as_provider_errors, error_from
from growth_lab.hetzner_sandbox.api_errors import STATUS

MEANT: dict[type[ProviderError], tuple[str | int, ...]] = {
    OutOfStock: ("resource_unavailable", "placement_error"),
    QuotaExceeded: ("resource_limit_exceeded",),
    RateLimited: ("rate_limit_exceeded",),
    Unauthorized: ("unauthorized", "token_readonly", "forbidden"),
    Unavailable: (
        "maintenance",
        "server_error",
        "service_error",
        "bad_gateway",
        "unavailable",
        "timeout",
        "conflict",
        "locked",
        "a_code_of_next_year",
        *(403, 429, 502, 504),
    ),
    Invalid: (
        "invalid_input",
        "invalid_server_type",
        "unsupported_error",
        "protected",
        "json_error",
        "not_found",
    ),
}
ROWS = [(code, error) for error, codes in MEANT.items() for code in codes]


def error_of(code: str | int, *, writes: bool = True) -> ProviderError:
    with (
        pytest.raises(ProviderError) as raised,
        as_provider_errors("create web-1", offering="hetzner-cx23-fsn1"),
    ):
        raise ApiRefused(code, "no", writes=writes, retry_after=7)
    return raised.value


@pytest.mark.parametrize(("code", "error"), ROWS, ids=lambda value: value if isinstance(value, str) else None)
def test_a_code_means(code: str | int, error: type[ProviderError]) -> None:
    raised = error_of(code)
    assert type(raised) is error
    assert str(raised) == f"create web-1: no ({code})"


@pytest.mark.parametrize(
    ("words", "error"),
    [
        ("dedicated core limit exceeded", FamilyQuotaExceeded),
        ("limit exceeded [dedicated_core_limit]", FamilyQuotaExceeded),
        ("server limit exceeded [server_limit]", QuotaExceeded),
        ("limit exceeded [primary_ip_limit]", QuotaExceeded),
    ],
)
def test_a_limit_of_dedicated_cores_is_about_a_family(words: str, error: type[ProviderError]) -> None:
    told = error_from("create dedicated-1", ApiRefused("resource_limit_exceeded", words, writes=True))
    assert type(told) is error


def test_an_answer_without_a_code_is_never_judged_by_its_status() -> None:
    """429 from a proxy is no delay that Hetzner asked for, and 403 no word about the token."""
    assert {type(error_of(status)) for status in range(400, 600)} == {Unavailable}


def test_what_is_sold_out_and_how_long_to_wait_are_told() -> None:
    sold_out, limited = error_of("resource_unavailable"), error_of("rate_limit_exceeded")
    assert isinstance(sold_out, OutOfStock)
    assert isinstance(limited, RateLimited)
    assert (sold_out.offering, limited.retry_after) == ("hetzner-cx23-fsn1", 7)


@pytest.mark.parametrize(
    ("code", "writes", "may_have_acted"),
    [
        ("timeout", True, True),
        ("server_error", True, True),
        (502, True, True),
        ("timeout", False, False),
        ("locked", True, False),
        ("maintenance", True, False),
        ("conflict", True, False),
    ],
)
def test_what_may_have_been_done_is_told(code: str | int, writes: bool, may_have_acted: bool) -> None:  # noqa: FBT001
    error = error_of(code, writes=writes)
    assert isinstance(error, Unavailable)
    assert error.may_have_acted == may_have_acted


def test_silence_is_told_as_such() -> None:
    with pytest.raises(Unavailable, match="list: nobody answers"), as_provider_errors("list"):
        raise NoAnswer("nobody answers", may_have_acted=False)


def test_every_code_that_our_calls_can_hear_has_its_meaning() -> None:
    others = {
        # Of volumes, of networks that are changed, and of servers that are moved: nothing that we do.
        *("already_in_placement_group", "limit_exceeded_error", "networks_overlap", "primary_ip_assigned"),
        *("primary_ip_version_mismatch", "server_already_attached", "server_not_stopped", "volume_already_attached"),
    }
    assert set(STATUS) - set(MEANINGS) == others
