"""What can go wrong with machines.

ProviderError
├── OutOfStock      there is none of this offering now; another one may be had
├── QuotaExceeded   the account may not have more, of anything
│   └── FamilyQuotaExceeded     of this family of types; others may be had
├── RateLimited     asked too often: with the delay that was asked for
├── Unauthorized    the provider does not know us, or does not let us
├── Unavailable     no answer that means anything; ``may_have_acted`` says if it may have been done all the same
└── Invalid         this can never succeed as it is

A provider tells them apart by the code in the answer, never by the HTTP status: the same status means "sold out" and
"no such image" at one provider, "wrong token" and "no more machines" at another.
"""


class ProviderError(Exception):
    """Anything that a provider could not do. What it knows of machines is then unknown, never empty."""


class OutOfStock(ProviderError):
    """The provider has no machine of this offering now."""

    def __init__(self, message: str, *, offering: str) -> None:
        super().__init__(message)
        self.offering = offering


class QuotaExceeded(ProviderError):
    """The account's limit is reached; buying another offering would not help."""


class FamilyQuotaExceeded(QuotaExceeded):
    """A limit of the account that is about a family of server types, those whose names begin with the same letters."""


class RateLimited(ProviderError):
    """Asked too often; nothing was done. ``retry_after`` is how many seconds to wait."""

    def __init__(self, message: str, *, retry_after: float) -> None:
        super().__init__(message)
        self.retry_after = retry_after


class Unauthorized(ProviderError):
    """The credentials are wrong or lack a right; a person must help."""


class Unavailable(ProviderError):
    """There was no answer, or one that says only that the provider is in trouble."""

    def __init__(self, message: str, *, may_have_acted: bool) -> None:
        super().__init__(message)
        self.may_have_acted = may_have_acted


class Invalid(ProviderError):
    """What was asked for does not exist or contradicts what is there; asking again cannot help."""
