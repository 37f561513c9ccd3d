"""What the API server's refusals mean to somebody who wanted a machine."""

import pytest

from growth.cloud import errors
from growth.cloud.kwok.provider_errors import as_provider_errors
from growth.kube import errors as kube


def refusal(kind: type[kube.ApiError], message: str = "no", retry_after: float | None = None) -> kube.ApiError:
    return kind(message, status=0, reason="", retry_after=retry_after)


@pytest.mark.parametrize(
    ("error", "expected"),
    [
        (kube.Unreachable("refused", sent=False), errors.Unavailable),
        (kube.Fenced("the lease has run out"), errors.Unavailable),
        (refusal(kube.Unauthorized), errors.Unauthorized),
        (refusal(kube.Forbidden), errors.Unauthorized),
        (refusal(kube.Forbidden, 'configmaps "x" is forbidden: exceeded quota: small'), errors.QuotaExceeded),
        (refusal(kube.NotFound, 'namespaces "growth-system" not found'), errors.Invalid),
        (refusal(kube.Invalid), errors.Invalid),
        (refusal(kube.TooManyRequests), errors.RateLimited),
        (refusal(kube.Conflict), errors.Unavailable),
        (refusal(kube.ServerTrouble), errors.Unavailable),
    ],
    ids=lambda value: value.__name__ if isinstance(value, type) else f"{type(value).__name__}: {value}",
)
def test_every_refusal_has_its_meaning(error: kube.KubeError, expected: type[errors.ProviderError]) -> None:
    with pytest.raises(expected, match=r"create web: ") as raised, as_provider_errors("create web"):
        raise error
    assert type(raised.value) is expected
    assert raised.value.__cause__ is error


@pytest.mark.parametrize("error", [kube.Unreachable("reset", sent=True), refusal(kube.ServerTrouble)])
def test_who_may_have_acted_says_so(error: kube.KubeError) -> None:
    with pytest.raises(errors.Unavailable) as raised, as_provider_errors("create web"):
        raise error
    assert raised.value.may_have_acted


@pytest.mark.parametrize("error", [kube.Unreachable("refused", sent=False), kube.Fenced("the lease has run out")])
def test_who_was_never_asked_has_not_acted(error: kube.KubeError) -> None:
    with pytest.raises(errors.Unavailable) as raised, as_provider_errors("create web"):
        raise error
    assert not raised.value.may_have_acted


def test_the_time_to_wait_is_handed_on() -> None:
    with pytest.raises(errors.RateLimited) as raised, as_provider_errors("list"):
        raise refusal(kube.TooManyRequests, retry_after=7)
    assert raised.value.retry_after == 7
