"""Evidence: what is known about one node that is silent. Docs: docs/failover.md.

Time proves nothing: a node that nobody hears of may write to its volumes for ever. Only its provider can tell that the
machine does not run, and one answer may be wrong. So it takes several, over a while, all of them after the last sign of
life; one renewed Lease, or one other answer, and it begins anew.

Whether a provider is believed when it says that a machine is gone.
"""

from collections.abc import Iterable
from datetime import datetime, timedelta
from enum import StrEnum
from typing import Final

import msgspec

from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.settings.model import FailoverSettings
from growth.decide.failover.machine_lookup import MachineLookup

READINGS: Final = 3
"""So many like answers are needed."""
FRESH: Final = timedelta(seconds=5)
"""The last answer must be younger than this when something is done that cannot be undone."""


class Finding(StrEnum):
    """What the evidence amounts to; the label of a metric."""

    SILENT = "Silent"
    """The node is silent, and its provider has not answered since."""
    RUNNING = "Running"
    """The machine runs: the network, or its system, is broken."""
    CHANGING = "Changing"
    """It is being started, stopped, moved or rescued, or its provider does not know."""
    OFF = "Off"
    """It does not run, as far as is known so far."""
    DEAD = "Dead"
    """It is proven not to run."""
    UNKNOWABLE = "Unknowable"
    """Nobody can be asked about it."""


class PowerAnswers(msgspec.Struct, frozen=True):
    """Like answers of a provider, one after the other."""

    power: Power
    """What the last one said."""
    is_dead: bool
    is_changing: bool
    first_at: datetime
    last_at: datetime
    count: int = 1
    alike: int = 1
    """How many of the last ones said the very same."""

    def after(self, reading: PowerReading) -> "PowerAnswers":
        """With one answer more. One that says something else begins anew; off, broken and gone are all dead."""
        is_same = self.power is reading.power and self.is_changing == reading.is_changing
        is_like = is_same or (self.is_dead and reading.is_dead)
        if reading.read_at <= self.last_at:
            if is_like or reading.read_at < self.first_at:
                return self
            if reading.read_at == self.last_at and not reading.is_dead:
                return first(reading)  # of two that were read in one instant, the one that proves nothing
            # It comes late, and others were believed that it contradicts: only the last one of them still counts.
            return msgspec.structs.replace(self, first_at=self.last_at, count=1, alike=1)
        if not is_like:
            return first(reading)
        alike = self.alike + 1 if is_same else 1
        return msgspec.structs.replace(
            self, power=reading.power, last_at=reading.read_at, count=self.count + 1, alike=alike
        )


def first(reading: PowerReading) -> PowerAnswers:
    """The first answer of its like."""
    return PowerAnswers(reading.power, reading.is_dead, reading.is_changing, reading.read_at, reading.read_at)


class NodeCase(msgspec.Struct, frozen=True):
    """One node that is silent, or was and is out of service."""

    name: str
    uid: str
    provider_id: str
    last_sign: datetime
    """When the node was last heard of, as far as this process knows."""
    suspected_at: datetime
    answers: PowerAnswers | None = None
    asked_at: datetime | None = None
    """When its provider was last asked about it alone."""
    answered_at: datetime | None = None
    """Which question it has answered, or failed to."""
    was_stopping: bool = False
    """Whether its provider said that it was being shut down."""

    @property
    def is_open(self) -> bool:
        """Whether its provider was asked about it, and neither answered nor failed to."""
        return self.asked_at is not None and self.answered_at != self.asked_at

    @property
    def is_ignored(self) -> bool:
        """Whether its provider was asked since its last answer, and gave none."""
        last_at = self.answers.last_at if self.answers is not None else self.last_sign
        return self.asked_at is not None and self.answered_at == self.asked_at and last_at < self.asked_at

    def observed(self, last_sign: datetime) -> "NodeCase":
        """After a sign of life: what was known before proves nothing."""
        if last_sign <= self.last_sign:
            return self
        return msgspec.structs.replace(self, last_sign=last_sign, answers=None, was_stopping=False)

    def told(self, reading: PowerReading) -> "NodeCase":
        """After an answer of its provider; one from before the last sign of life says nothing about now."""
        if reading.read_at <= self.last_sign:
            return self
        answers = first(reading) if self.answers is None else self.answers.after(reading)
        if answers is self.answers:
            return self
        was_stopping = self.was_stopping or reading.power is Power.STOPPING
        return msgspec.structs.replace(self, answers=answers, was_stopping=was_stopping)

    def is_proven(self, settings: FailoverSettings) -> bool:
        """Whether enough like answers say that nothing runs on the machine."""
        answers = self.answers
        if answers is None or not answers.is_dead or answers.count < READINGS:
            return False
        return answers.last_at - answers.first_at >= settings.proven_after

    @property
    def is_gone(self) -> bool:
        """Whether its provider has said often enough that it has no such machine: once may be a slip."""
        answers = self.answers
        return answers is not None and answers.power is Power.GONE and answers.alike >= READINGS

    def is_fresh(self, now: datetime) -> bool:
        """Whether the last answer says that nothing runs, and is young enough to act on."""
        answers = self.answers
        return answers is not None and answers.is_dead and timedelta(0) <= now - answers.last_at < FRESH

    def finding(self, settings: FailoverSettings) -> Finding:
        """What all this amounts to."""
        answers = self.answers
        if answers is None:
            return Finding.SILENT
        if self.is_proven(settings):
            return Finding.DEAD
        if answers.is_dead:
            return Finding.OFF
        return Finding.RUNNING if answers.power is Power.ON and not answers.is_changing else Finding.CHANGING


def why_not_believed(machines: MachineLookup, provider_id: str, working: Iterable[Node]) -> str:
    """Why its word counts for nothing; empty if it does.

    One that has forgotten machines whose nodes work, because of a wrong project, say, has not lost this one.
    """
    place = machines.place(provider_id)
    prefix = provider_id.removesuffix(place.machine_id) if place is not None else ""
    witnesses = [node for node in working if prefix and node.spec.provider_id.startswith(prefix)]
    unlisted = next((node for node in witnesses if machines.listed(node.spec.provider_id) is None), None)
    if unlisted is not None:
        return f"its provider knows neither its machine nor that of {unlisted.metadata.name}, which works"
    return "" if witnesses else "its provider says that the machine is gone, and has none whose node works"
