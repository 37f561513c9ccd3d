"""What became of one object: the word in which the door tells the World about it."""

from enum import Enum, auto
from typing import Generic, Protocol, TypeVar

import msgspec

from growth.api.meta import ObjectMeta


class Object(Protocol):
    """Anything with metadata, which is everything."""

    @property
    def metadata(self) -> ObjectMeta:
        """Who it is."""
        ...


ObjectT = TypeVar("ObjectT", bound=Object)


class ChangeType(Enum):
    """What became of an object."""

    ADDED = auto()
    MODIFIED = auto()
    DELETED = auto()


class Change(msgspec.Struct, Generic[ObjectT], frozen=True, gc=False):
    """``now`` is the newest version we know (of a deleted object: its last), ``before`` the one told before it."""

    happened: ChangeType
    now: ObjectT
    before: ObjectT | None
