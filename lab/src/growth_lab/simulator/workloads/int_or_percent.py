"""Amounts that may be written as a number or as a percentage: maxSurge, maxUnavailable, minAvailable."""


class BadShare(ValueError):
    """An amount that is neither."""

    def __init__(self, written: object) -> None:
        super().__init__(f"{written!r} is not an amount: expected a number or a percentage, such as 1 or '25%'")


def share_of(written: int | str, total: int, *, up: bool) -> int:
    """The number, or the percentage of ``total``, rounded up or down."""
    if isinstance(written, int):
        return written
    digits = written.removesuffix("%")
    if digits == written or not digits.isdecimal():
        raise BadShare(written)
    hundredths = int(digits) * total
    return -(-hundredths // 100) if up else hundredths // 100
