"""Whose turn is it, and what becomes of those that could not start? Docs: docs/queue.md.

Job ──► Workload waits ──quota──► admitted ──► Job runs ──► finished
             ▲                       │ not ready in time, drained, deactivated
             └── when that is over ◄─┘ evicted: the Job is suspended, its quota free once its pods are gone
"""

from collections.abc import Mapping

import msgspec

from growth.api.settings.model import Settings
from growth.decide.contract import Decision, State
from growth.decide.queue.admitting import Assumed, admit
from growth.decide.queue.announcing import announce
from growth.decide.queue.courtesy import Purse
from growth.decide.queue.desk import Desk
from growth.decide.queue.figures import Figures
from growth.decide.queue.jobs import follow_jobs
from growth.decide.queue.leaving import note_absence
from growth.decide.queue.lifecycle import follow
from growth.decide.queue.lining import line_up
from growth.decide.queue.news import News, tell_news
from growth.decide.queue.pods import follow_pods
from growth.decide.queue.resting import rest
from growth.decide.queue.returning import note_awaited
from growth.decide.queue.scene import Key, Scene
from growth.decide.queue.telling import Told, tell
from growth.observe.snapshot import Snapshot


class Memory(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet, what there is to show, and what need not be worked out again."""

    assumed: Assumed = Assumed()
    told: Mapping[Key, int] = {}
    """Of which version of a workload something was told just now."""
    news: News = News()
    queues: Told = Told()
    remarks: Purse = Purse(per_second=30, most=100, left=100)
    """For saying why somebody waits."""
    desk: Desk | None = None

    @property
    def figures(self) -> Mapping[str, Figures]:
        """How full each ClusterQueue is."""
        return self.queues.figures


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    memory = state.memory if isinstance(state.memory, Memory) else Memory()
    remarks = memory.remarks.opened(snapshot.now)
    scene = Scene(snapshot, state, settings, memory.desk, remarks.left)
    note_absence(scene)
    follow_jobs(scene)
    follow_pods(scene)
    for key in scene.touched:
        with scene.following(key) as draft:
            follow(scene, draft)
        line_up(scene, key)
    assumed = admit(scene, memory.assumed)
    news, told = tell_news(scene, memory.told)
    rest(scene, remarks)
    queues = tell(scene, memory.queues)
    note_awaited(snapshot, scene.desk.kept.values())
    announce(scene)
    scene.end()
    remarks_at = remarks.next_at if scene.desk.unsaid else None
    instants = (*scene.instants, scene.desk.next_deadline, remarks_at, queues.again_at)
    wake_at = min((when for when in instants if when is not None and when > scene.now), default=None)
    return Decision(tuple(scene.said), wake_at, Memory(assumed, told, news, queues, remarks.closed(), scene.desk))
