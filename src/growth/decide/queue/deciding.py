"""Whose turn is it, and what becomes of those that could not start? Docs: docs/queue.md.

Job ──► Workload waits ──quota──► admitted ──► Job runs ──► finished
             ▲                       │ not ready in time, drained, deactivated
             └── when that is over ◄─┘ evicted: the Job is suspended, its quota free once its pods are gone
"""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from growth.api.settings import Settings
from growth.decide.decider import Decision, State
from growth.decide.queue.admitting import Assumed, admit
from growth.decide.queue.figures import Figures
from growth.decide.queue.jobs import follow_jobs
from growth.decide.queue.leaving import absent_since
from growth.decide.queue.lifecycle import follow
from growth.decide.queue.news import News, tell_news
from growth.decide.queue.pods import follow_pods
from growth.decide.queue.returning import note_awaited
from growth.decide.queue.scene import Key, Scene
from growth.decide.queue.telling import tell
from growth.observe.snapshot import Snapshot


class Memory(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet, and what there is to show."""

    assumed: Assumed = Assumed()
    told: Mapping[Key, int] = {}
    """Of which version of a workload something was told just now."""
    news: News = News()
    figures: Mapping[str, Figures] = {}
    absent: Mapping[Key, datetime] = {}
    """Whose job is not seen, since when."""


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    memory = state.memory if isinstance(state.memory, Memory) else Memory()
    scene = Scene(snapshot, state, settings)
    scene.absent = absent_since(scene, memory.absent)
    follow_jobs(scene)
    follow_pods(scene)
    for draft in scene.drafts.values():
        follow(scene, draft)
    assumed = admit(scene, memory.assumed)
    news, told = tell_news(scene, memory.told)
    for draft in scene.drafts.values():
        scene.said += draft.actions()
    figures = tell(scene)
    note_awaited(snapshot, (draft.workload for draft in scene.drafts.values()), scene.terms.requeuing)
    wake_at = min((when for when in scene.deadlines if when > scene.now), default=None)
    return Decision(tuple(scene.said), wake_at, Memory(assumed, told, news, figures, scene.absent))
