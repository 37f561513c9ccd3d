"""Which machines to ask about now. Providers count calls, and most silent nodes come back by themselves.

Up to sixty suspects of a provider are asked about one by one, every few seconds. More than that, and one list a while
tells of all of them, with single questions for those whose turn it is: who is said to run needs none. One that runs,
and one about which nothing is done for minutes, is asked about more rarely: neither a partition nor a machine that
stays off may eat up the hour's calls.
"""

from collections import defaultdict
from collections.abc import Sequence
from datetime import UTC, datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import ReadPower, ReadPowers
from growth.api.core import ObjectReference
from growth.decide.elapsed import counts_from, is_ahead
from growth.decide.failover.context import FailoverContext, reference
from growth.decide.failover.evidence import READINGS, Finding, NodeCase
from growth.decide.failover.machine_lookup import MachineLocation

_AT_ONCE: Final = 60
_PER_PAGE: Final = 50
_RUNNING_EVERY: Final = timedelta(seconds=30)
_LATE_EVERY: Final = timedelta(seconds=60)
_LATE_AFTER: Final = timedelta(minutes=5)


def provider_reference(provider: str) -> ObjectReference:
    """A provider, as the subject of a question about all its machines."""
    return ObjectReference(kind="Provider", name=provider)


def ask(context: FailoverContext) -> None:
    """Ask what is due, and say when the next question is."""
    suspects: defaultdict[str, list[tuple[NodeCase, MachineLocation]]] = defaultdict(list)
    for case in context.cases.values():
        if (place := context.machines.place(case.provider_id)) is not None:
            suspects[place.provider].append((case, place))
    for provider, known in sorted(suspects.items()):
        if is_crowd := len(known) > _AT_ONCE:
            _list(context, provider, len(known))
        _ask_singly(context, known, is_crowd=is_crowd)


def every(context: FailoverContext, case: NodeCase) -> timedelta:
    """How often to ask about it."""
    usual = context.terms.read_every
    if case.uid in context.pressing:
        return usual
    since = counts_from(case.suspected_at, context.now, context.clock.even_since)
    if not is_ahead(since + _LATE_AFTER, context.now, _LATE_AFTER):
        return max(usual, _LATE_EVERY)
    if case.finding(context.terms) is Finding.RUNNING:
        return max(usual, _RUNNING_EVERY)
    return _until_proof(case, usual, context.terms.proven_after)


def _until_proof(case: NodeCase, usual: timedelta, proven_after: timedelta) -> timedelta:
    """The usual rest, or a little more if the next answer would come just too early to complete the proof.

    A first answer that was late by a moment would otherwise cost a whole turn.
    """
    answers, asked_at = case.answers, case.asked_at
    if asked_at is None or answers is None or not answers.is_dead or answers.count + 1 < READINGS:
        return usual
    enough = answers.first_at + proven_after - asked_at
    return enough if usual < enough < 2 * usual else usual


def _ask_singly(context: FailoverContext, known: Sequence[tuple[NodeCase, MachineLocation]], *, is_crowd: bool) -> None:
    open_ones = [(case, place) for case, place in known if case.is_open]
    for case, place in open_ones:
        _ask_about(context, case, place)  # what has not begun is forgotten, unless it is asked for again
    due: list[tuple[NodeCase, MachineLocation]] = []
    room = _AT_ONCE - len(open_ones)
    for case, place in known:
        is_reported = is_crowd and case.finding(context.terms) is Finding.RUNNING  # the list tells
        rest = context.terms.read_every if is_reported else every(context, case)
        if case.asked_at is not None and is_ahead(case.asked_at + rest, context.now, rest):
            context.remind(case.asked_at + rest)
            room -= not case.is_open
        elif not is_reported and not case.is_open:
            due.append((case, place))
    due.sort(key=lambda one: _turn(context, one[0]))
    for case, place in due[: max(0, room)]:
        _ask_about(context, msgspec.structs.replace(case, asked_at=context.now), place)


def _turn(context: FailoverContext, case: NodeCase) -> tuple[bool, datetime, datetime, str]:
    """First whoever waits for nothing else, then who was never asked about, then who was longest ago."""
    never = datetime.min.replace(tzinfo=UTC)
    return case.uid not in context.pressing, case.asked_at or never, case.last_sign, case.name


def _ask_about(context: FailoverContext, case: NodeCase, place: MachineLocation) -> None:
    if case.asked_at is None:
        raise ValueError(f"nobody says when {case.name} is asked about")
    context.cases[case.uid] = case
    node = context.snapshot.nodes[case.name]
    why = f"node {case.name} is silent since {case.last_sign:%H:%M:%S}"
    question = ReadPower(
        subject=reference(node), why=why, provider=place.provider, machine_id=place.machine_id, asked_at=case.asked_at
    )
    context.said.append(question)


def _list(context: FailoverContext, provider: str, count: int) -> None:
    rest = context.terms.read_every * context.machines.pages(provider, _PER_PAGE)
    asked_at: datetime | None = context.listed_at.get(provider)
    outcome = context.outcomes.latest(ReadPowers, provider_reference(provider))
    is_open = asked_at is not None and (outcome is None or getattr(outcome.action, "asked_at", None) != asked_at)
    if asked_at is not None and not is_open and is_ahead(asked_at + rest, context.now, rest):
        context.remind(asked_at + rest)
        return
    if asked_at is None or not is_open:
        asked_at = context.listed_at[provider] = context.now
    why = f"{count} nodes are silent"
    context.said.append(ReadPowers(subject=provider_reference(provider), why=why, provider=provider, asked_at=asked_at))
