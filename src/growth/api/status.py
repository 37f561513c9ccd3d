"""What the statuses of our own kinds share: conditions and a bounded history."""

from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Literal

from growth.api.meta import FrozenValue
from growth.api.schema import about

MAX_EVENTS = 32
MAX_CONDITIONS = 16
MAX_WORDS = 1024
"""Of a sentence for people, in characters."""


class Status(FrozenValue, frozen=True, omit_defaults=False):
    """The base of a status, which is written whole.

    Defaults are not left out: a merge patch without a field would keep the old value, so a count could never go back
    to zero and an old machine would stay for ever. (None is sent as null, which removes the field. Items of lists are
    plain Slim: a merge patch replaces a list as a whole, and a null in it would be refused.)
    """


class StatusCondition(FrozenValue, frozen=True):
    """One statement about the object and since when it holds."""

    type: Annotated[str, about("What the statement is about, in CamelCase.", max_length=63)]
    status: Annotated[Literal["True", "False", "Unknown"], about("Whether it holds.")] = "Unknown"
    reason: Annotated[str, about("Why, as one word for machines.", max_length=63)] = ""
    message: Annotated[str, about("Why, as a sentence for people.", max_length=1024)] = ""
    last_transition_time: Annotated[datetime | None, about("Since when.")] = None


class StatusEvent(FrozenValue, frozen=True):
    """One thing that happened to the object."""

    at: Annotated[datetime, about("When it happened.")]
    name: Annotated[str, about("What happened.", max_length=63)]
    reason: Annotated[str, about("Why, in words, where there is something to say.", max_length=1024)] = ""


def condition_of(conditions: tuple[StatusCondition, ...], kind: str) -> StatusCondition | None:
    """The statement of this type, if there is one."""
    for one in conditions:  # a loop, because this is asked dozens of times for each workload in every pass
        if one.type == kind:
            return one
    return None


def with_condition(conditions: tuple[StatusCondition, ...], new: StatusCondition) -> tuple[StatusCondition, ...]:
    """The statements with this one in place of the last of its type."""
    return (*(one for one in conditions if one.type != new.type), new)


def with_events(
    events: tuple[StatusEvent, ...], at: datetime, happened: Iterable[tuple[str, str]]
) -> tuple[StatusEvent, ...]:
    """The history with more events, names with reasons; the oldest are forgotten when it grows beyond its bound."""
    new = (StatusEvent(at, name, reason[:MAX_WORDS]) for name, reason in happened)
    return (*events, *new)[-MAX_EVENTS:]
