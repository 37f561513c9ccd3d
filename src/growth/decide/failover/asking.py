"""Which machines to ask about now. Providers count calls, and most silent nodes come back by themselves.

Up to sixty suspects are asked about one by one, every few seconds. More than that, and one list a while tells of all of
them, with single questions for those whose turn it is. One that runs, and one that has given no proof for minutes, is
asked about more rarely: a partition must not eat up the hour's calls.
"""

from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.action import ReadPower, ReadPowers
from growth.api.core import ObjectReference
from growth.decide.ages import is_ahead
from growth.decide.failover.evidence import Case, Finding
from growth.decide.failover.scene import Scene, reference

_AT_ONCE: Final = 60
_PER_PAGE: Final = 50
_RUNNING_EVERY: Final = timedelta(seconds=30)
_LATE_EVERY: Final = timedelta(seconds=60)
_LATE_AFTER: Final = timedelta(minutes=5)


def provider_reference(provider: str) -> ObjectReference:
    """A provider, as the subject of a question about all its machines."""
    return ObjectReference(kind="Provider", name=provider)


def ask(scene: Scene) -> None:
    """Ask what is due, and say when the next question is."""
    known = [case for case in scene.cases.values() if scene.machines.place(case.provider_id) is not None]
    due = [case for case in known if _is_due(scene, case)]
    # Whoever was asked about longest ago is next in turn; one that was never asked about comes before all.
    turn = sorted(due, key=lambda case: (case.asked_at or case.suspected_at, case.name))
    for case in turn[:_AT_ONCE]:
        _ask_about(scene, case)
    if len(known) > _AT_ONCE:
        for provider in sorted({place.provider for case in known if (place := scene.machines.place(case.provider_id))}):
            _list(scene, provider)


def every(scene: Scene, case: Case) -> timedelta:
    """How often to ask about it."""
    usual = scene.terms.read_every
    finding = case.finding(scene.terms)
    if finding is Finding.RUNNING:
        return max(usual, _RUNNING_EVERY)
    is_late = scene.now - case.suspected_at >= _LATE_AFTER and finding is not Finding.DEAD
    return max(usual, _LATE_EVERY) if is_late else usual


def _is_due(scene: Scene, case: Case) -> bool:
    if case.asked_at is None or case.answered_at != case.asked_at:
        return True  # what was asked for and has not begun is forgotten, unless it is asked for again
    again_at = case.asked_at + every(scene, case)
    if is_ahead(again_at, scene.now, every(scene, case)):
        scene.remind(again_at)
        return False
    return True


def _ask_about(scene: Scene, case: Case) -> None:
    place, node = scene.machines.place(case.provider_id), scene.snapshot.nodes[case.name]
    if place is None:
        return
    asked_at = case.asked_at
    if asked_at is None or case.answered_at == asked_at:
        asked_at = scene.now
        scene.cases[case.uid] = msgspec.structs.replace(case, asked_at=asked_at)
    why = f"node {case.name} is silent since {case.last_sign:%H:%M:%S}"
    question = ReadPower(
        subject=reference(node), why=why, provider=place.provider, machine_id=place.machine_id, asked_at=asked_at
    )
    scene.said.append(question)


def _list(scene: Scene, provider: str) -> None:
    rest = scene.terms.read_every * scene.machines.pages(provider, _PER_PAGE)
    asked_at: datetime | None = scene.listed_at.get(provider)
    outcome = scene.state.outcome_of(ReadPowers, provider_reference(provider))
    is_open = asked_at is not None and (outcome is None or getattr(outcome.action, "asked_at", None) != asked_at)
    if asked_at is not None and not is_open and is_ahead(asked_at + rest, scene.now, rest):
        scene.remind(asked_at + rest)
        return
    if asked_at is None or not is_open:
        asked_at = scene.listed_at[provider] = scene.now
    why = f"{len(scene.cases)} nodes are silent"
    scene.said.append(ReadPowers(subject=provider_reference(provider), why=why, provider=provider, asked_at=asked_at))
