"""What the API server's refusals mean to somebody who wanted a machine."""

from collections.abc import Generator
from contextlib import contextmanager
from typing import Final

from growth.cloud.errors import Invalid, ProviderError, QuotaExceeded, RateLimited, Unauthorized, Unavailable
from growth.kube import errors as kube

# When the server does not say how long to wait; its own default.
_RETRY_AFTER_SECONDS: Final = 1.0


@contextmanager
def as_provider_errors(what: str) -> Generator[None]:
    """Inside, errors of the API server leave as those of a provider."""
    try:
        yield
    except kube.KubeError as error:
        raise _provider_error(what, error) from error


def _provider_error(what: str, error: kube.KubeError) -> ProviderError:
    message = f"{what}: {error}"
    match error:
        case kube.TooManyRequests():
            return RateLimited(message, retry_after=error.retry_after or _RETRY_AFTER_SECONDS)
        case kube.Forbidden() if "exceeded quota" in str(error):
            return QuotaExceeded(message)
        case kube.Unauthorized() | kube.Forbidden():
            return Unauthorized(message)
        case kube.Invalid() | kube.NotFound():
            return Invalid(message)
        case kube.Unreachable():
            return Unavailable(message, may_have_acted=error.sent)
        case kube.Fenced() | kube.Conflict():
            return Unavailable(message, may_have_acted=False)
        case _:
            return Unavailable(message, may_have_acted=True)
