"""A cloud: what one provider last said it sells and has for us, and since when it is silent."""

from collections.abc import Mapping
from datetime import datetime
from typing import Final

from growth.api.machine import Machine
from growth.api.meta import FrozenValue
from growth.api.offering import Offering

NOT_ASKED: Final = "it was not asked yet"
"""The problem of a provider that had no time to answer: it lasts for a moment and is nobody's fault."""


class ProviderState(FrozenValue, frozen=True):
    """One provider as last seen. What it cannot tell is unknown, never empty: the last answer stands, with its age."""

    provider: str
    offerings: tuple[Offering, ...] = ()
    machines: tuple[Machine, ...] = ()
    read_at: datetime | None = None
    """When the question was asked to which this is the answer; None if there never was one."""

    problem: str = ""
    """What the provider says instead of an answer now; empty if it answers."""

    @property
    def answers(self) -> bool:
        """Whether what it last said holds: it was asked, and is not silent now."""
        return self.read_at is not None and not self.problem

    def has_answered(self, since: datetime, now: datetime) -> bool:
        """Whether it was asked at this instant or later, so that its word holds.

        An answer from the future was read before the clock was set back, and tells nothing.
        """
        return self.answers and self.read_at is not None and since <= self.read_at <= now


def cloud_of(offering: str, clouds: Mapping[str, ProviderState]) -> ProviderState | None:
    """Who sells this offering, by its name, whether or not it does so now; None if nobody who is asked does."""
    wanted = offering.lower()
    fitting = [name for name in clouds if wanted.startswith(f"{name.lower()}-")]
    return clouds.get(max(fitting, key=len, default=""))
