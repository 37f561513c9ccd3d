"""What Hetzner's refusals mean: by the code in the answer, never by the HTTP status, which is shared by opposites.

The table is the one of docs/hetzner.md. Codes that only some calls can mean (``not_found``, ``uniqueness_error``,
``locked``, ``placement_group_member_limit_reached``) are caught by those calls first; what gets here is an error.
"""

from collections.abc import Generator
from contextlib import contextmanager
from enum import Enum, auto
from typing import Final

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

NOT_FOUND: Final = "not_found"
NAME_TAKEN: Final = "uniqueness_error"
LOCKED: Final = "locked"
GROUP_FULL: Final = "placement_group_member_limit_reached"

# "dedicated core limit exceeded": only the types with dedicated cores (ccx) share this limit. The names of limits are
# not documented, so the word is looked for in all that is said.
_DEDICATED: Final = "dedicated"
# The limit comes back at one call a second: a few of those who wait find room after so long.
RATE_LIMITED_SECONDS: Final = 5.0


class ApiRefused(Exception):
    """The API said no. ``code`` is a word, or the HTTP status where something in between answered instead."""

    def __init__(
        self, code: str | int, message: str, *, writes: bool, retry_after: float = RATE_LIMITED_SECONDS
    ) -> None:
        super().__init__(f"{message} ({code})")
        self.code = code
        self.writes = writes
        self.retry_after = retry_after


class NoAnswer(Exception):
    """There was no answer."""

    def __init__(self, message: str, *, may_have_acted: bool) -> None:
        super().__init__(message)
        self.may_have_acted = may_have_acted


class _Meaning(Enum):
    SOLD_OUT = auto()
    QUOTA = auto()
    RATE = auto()
    CREDENTIALS = auto()
    TROUBLE = auto()
    """The work may have been done."""
    LATER = auto()
    """Nothing was done, and another time it may be."""
    NEVER = auto()


MEANINGS: Final = {
    "resource_unavailable": _Meaning.SOLD_OUT,
    "placement_error": _Meaning.SOLD_OUT,
    "resource_limit_exceeded": _Meaning.QUOTA,
    "rate_limit_exceeded": _Meaning.RATE,
    "unauthorized": _Meaning.CREDENTIALS,
    "token_readonly": _Meaning.CREDENTIALS,
    "forbidden": _Meaning.CREDENTIALS,
    "server_error": _Meaning.TROUBLE,
    "service_error": _Meaning.TROUBLE,
    "bad_gateway": _Meaning.TROUBLE,
    "unavailable": _Meaning.TROUBLE,
    "timeout": _Meaning.TROUBLE,
    "maintenance": _Meaning.LATER,
    "conflict": _Meaning.LATER,
    LOCKED: _Meaning.LATER,
    "invalid_input": _Meaning.NEVER,
    "invalid_server_type": _Meaning.NEVER,
    "unsupported_error": _Meaning.NEVER,
    "protected": _Meaning.NEVER,
    "json_error": _Meaning.NEVER,
    NOT_FOUND: _Meaning.NEVER,
    NAME_TAKEN: _Meaning.NEVER,
    "method_not_allowed": _Meaning.NEVER,
    "deprecated_api_endpoint": _Meaning.NEVER,
    "no_subnet_available": _Meaning.NEVER,
    "ip_not_available": _Meaning.NEVER,
    GROUP_FULL: _Meaning.LATER,
}
"""A code that is not here was unknown when this was written: it may pass, so it is trouble."""

REFUSED_CREDENTIALS: Final = frozenset(code for code, one in MEANINGS.items() if one is _Meaning.CREDENTIALS)


@contextmanager
def as_provider_errors(what: str, *, offering: str = "") -> Generator[None]:
    """Inside, what the API refuses leaves as the errors of a provider; ``what`` says what was to be done."""
    try:
        yield
    except ApiRefused as refused:
        raise error_from(what, refused, offering=offering) from refused
    except NoAnswer as silent:
        raise Unavailable(f"{what}: {silent}", may_have_acted=silent.may_have_acted) from silent


def error_from(what: str, refused: ApiRefused, *, offering: str = "") -> ProviderError:
    """The error that a refusal means."""
    message = f"{what}: {refused}"
    match MEANINGS.get(str(refused.code), _Meaning.TROUBLE):
        case _Meaning.SOLD_OUT:
            return OutOfStock(message, offering=offering)
        case _Meaning.QUOTA:
            return FamilyQuotaExceeded(message) if _DEDICATED in str(refused).lower() else QuotaExceeded(message)
        case _Meaning.RATE:
            return RateLimited(message, retry_after=refused.retry_after)
        case _Meaning.CREDENTIALS:
            return Unauthorized(message)
        case _Meaning.NEVER:
            return Invalid(message)
        case _Meaning.LATER:
            return Unavailable(message, may_have_acted=False)
        case _Meaning.TROUBLE:
            return Unavailable(message, may_have_acted=refused.writes)
