"""How often a pod found no place, and until when it is not tried again: an annotation that outlives a restart."""

from datetime import datetime
from typing import Annotated, Final

import msgspec

from growth.api.pod import Pod
from growth.api.slim import Slim

BACK_OFF: Final = "growth.dev/backoff"

# People write annotations, too: a time without its zone could not be compared with any other.
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class BackOff(Slim, frozen=True):
    """What is written on a pod."""

    failures: int
    at: _Instant
    """When it last counted."""

    until: _Instant | None = None
    """When it is tried again; None means that time alone does not help any more."""

    saw: str = ""
    """Under which circumstances it failed (``decide.grow.circumstances``): under others it is tried again at once."""

    @property
    def is_final(self) -> bool:
        """Whether it is in BackOff: excluded from demand until the circumstances change."""
        return self.until is None

    def encode(self) -> str:
        """As it is written."""
        return msgspec.json.encode(self).decode()


def back_off_of(pod: Pod) -> BackOff | None:
    """What is written on this pod; something that cannot be read counts as nothing, and is written anew."""
    text = pod.metadata.annotations.get(BACK_OFF)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=BackOff)
    except msgspec.DecodeError:
        return None
