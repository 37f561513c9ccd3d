"""Texts that are kept as the API server sent them.

What a decoder gives for such a field is a window on all that was read: it would keep the whole object in memory, with
what we do not read, and an object of a list all others of its page.
"""

from functools import lru_cache

import msgspec


def kept(text: msgspec.Raw) -> msgspec.Raw:
    """The text alone; one copy for all who have the same."""
    return _copy(bytes(text))


@lru_cache(8192)
def _copy(text: bytes) -> msgspec.Raw:
    return msgspec.Raw(text)
