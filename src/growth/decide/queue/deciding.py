"""Whose turn is it, and what becomes of those that could not start? Docs: docs/queue.md.

Job ──► Workload waits ──quota──► admitted ──► Job runs ──► finished
             ▲                       │ not ready in time, drained, deactivated
             └── when that is over ◄─┘ evicted: the Job is suspended, its quota free once its pods are gone
"""

import msgspec

from growth.api.settings import Settings
from growth.decide.decider import Decision, State
from growth.decide.queue.admitting import Assumed, admit
from growth.decide.queue.jobs import follow_jobs
from growth.decide.queue.lifecycle import follow
from growth.decide.queue.scene import Scene
from growth.decide.queue.telling import tell
from growth.observe.snapshot import Snapshot


class Memory(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet."""

    assumed: Assumed = Assumed()


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    memory = state.memory if isinstance(state.memory, Memory) else Memory()
    scene = Scene(snapshot, state, settings)
    follow_jobs(scene)
    for draft in scene.drafts.values():
        follow(scene, draft)
    assumed = admit(scene, memory.assumed)
    for draft in scene.drafts.values():
        scene.said += draft.actions()
    tell(scene)
    wake_at = min((when for when in scene.deadlines if when > scene.now), default=None)
    return Decision(tuple(scene.said), wake_at, Memory(assumed))
