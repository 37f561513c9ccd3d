"""The queue where Kueue is, or was: nothing is decided beside a live one, and what a dead one left is cleared away."""

from datetime import timedelta
from typing import Final

import msgspec

from growth.api.actions import Action, Hold, held_and_told
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.api.settings.model import Settings
from growth.decide.contract import Decision, State
from growth.decide.queue import deciding
from growth.decide.queue.deciding import Memory
from growth.decide.queue.finalizers import let_go
from growth.decide.queue.leftovers import told_of_leftovers
from growth.decide.queue.neighbours import ALIVE, live_kueue
from growth.decide.queue.unreadable import holds_quota_of, told_of_unread, told_of_unreadable
from growth.observe.snapshot import Snapshot

# Being read takes a moment, and what stands in its way is mended by people.
_LOOK_AGAIN: Final = timedelta(seconds=5)


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    if snapshot.unread:
        return Decision(tuple(told_of_unread(snapshot)), snapshot.now + _LOOK_AGAIN, _kept(state))
    neighbour = live_kueue(snapshot, state)
    if neighbour is not None:
        said = held_and_told(neighbour.subject, reason=ALIVE, why=neighbour.why, action="Queueing")
        return Decision(said, neighbour.until, _kept(state))
    decision = deciding.decide(snapshot, state, settings)
    memory = decision.memory if isinstance(decision.memory, Memory) else Memory()
    given = {one.admission.cluster_queue for one in memory.assumed.given.values()} | holds_quota_of(snapshot)
    desk = memory.desk
    ending = [desk.seats[key].workload for key in sorted(desk.ending)] if desk is not None else []
    more: list[Action | Hold] = [
        *let_go(snapshot, ending, given, is_sure=not snapshot.unreadable.get(CLUSTER_QUEUES)),
        *told_of_leftovers(snapshot, state),
        *told_of_unreadable(snapshot),
    ]
    return msgspec.structs.replace(decision, said=(*decision.said, *more))


def _kept(state: State) -> Memory:
    """What is not forgotten while nothing is decided: what was given may not be seen yet."""
    before = state.memory if isinstance(state.memory, Memory) else Memory()
    return Memory(before.assumed, before.told)
