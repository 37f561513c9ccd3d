"""Is there a cheaper cluster that serves the same pods, and how far are the moves towards it? Docs: docs/optimising.md.

1. Carry out the moves that are decided (``carrying``).
2. When none is under way, nobody waits, nothing comes and nothing goes: think (``advice``), every few minutes.
3. Pools that say so (``disruption.mode: act``) get the moves of the first wave; of others it is told what could be
   saved.
"""

from collections.abc import Callable, Iterable
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.action import RecordEvent
from growth.api.growth_kinds import NODE_POOLS
from growth.api.nodepool import NodePool
from growth.api.references import reference_to
from growth.api.settings import Settings
from growth.decide.ages import is_ahead
from growth.decide.consolidate.advice import Advice, advise
from growth.decide.consolidate.asking import question_of
from growth.decide.consolidate.calm import why_restless
from growth.decide.consolidate.candidates import Choice, choice_in
from growth.decide.consolidate.carrying import carry
from growth.decide.consolidate.demand import LOOKS_WITHIN, Demand, noted
from growth.decide.consolidate.scene import Scene
from growth.decide.consolidate.terms import at_once_in, min_age_of, worth_of
from growth.decide.consolidate.writing import made, spec_of
from growth.decide.decider import Decision, State
from growth.observe.snapshot import Snapshot

# More than that need not be kept room for.
_GHOSTS: Final = 5_000
# What was made is seen in the watch at once.
_SEEN_WITHIN: Final = timedelta(seconds=10)


class Memory(msgspec.Struct, frozen=True):
    """What must be remembered between two passes; a new process waits until it knows enough again."""

    demand: Demand | None = None
    asked_at: datetime | None = None
    """When the last thought was begun."""
    asked_about: tuple[str, ...] = ()
    """The pools that it was about."""
    advice: Advice | None = None
    """What came of it."""
    made_at: datetime | None = None
    """When the last moves were decided."""


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    memory = state.memory if isinstance(state.memory, Memory) else Memory()
    scene = Scene(snapshot, state, settings)
    for move in scene.moves:
        carry(scene, move)
    pools = [pool for _, pool in sorted(scene.pools.items()) if pool.spec.disruption.mode != "off"]
    if not pools:
        return Decision(tuple(scene.said), _first(scene))
    memory = msgspec.structs.replace(memory, demand=noted(memory.demand, snapshot, settings.consolidate.window))
    scene.deadlines.append(scene.now + LOOKS_WITHIN * 0.8)
    memory = _act(scene, memory)
    thought, memory = _think(scene, memory, pools)
    _tell(scene, memory)
    return Decision(tuple(scene.said), _first(scene), memory, thought)


def _first(scene: Scene) -> datetime | None:
    return min((when for when in scene.deadlines if when > scene.now), default=None)


# Thinking


def _think(scene: Scene, memory: Memory, pools: list[NodePool]) -> tuple[Callable[[], Advice] | None, Memory]:
    """Begin to think, if it is time and all is calm. Pools that act and pools that observe take turns: what is only
    told must not stand in the way of what is done."""
    settings = scene.settings.consolidate
    is_due = memory.asked_at is None or not is_ahead(memory.asked_at + settings.every, scene.now, settings.every)
    if memory.asked_at is not None and not is_due:
        scene.deadlines.append(memory.asked_at + settings.every)
    if not is_due or scene.state.is_thinking or not _is_calm(scene, memory):
        return None, memory
    if memory.demand is None or not memory.demand.knows():
        # Whoever has just begun does not know who was there a while ago, and may come back.
        return None, memory
    turn = _turn(memory, pools)
    choice = _choice(scene, turn)
    question = question_of(
        scene.snapshot,
        scene.state,
        scene.settings,
        choice,
        at_once=at_once_in(scene, turn),
        ghosts=memory.demand.ghosts(_GHOSTS),
        worth={pool.metadata.name: worth_of(pool) for pool in turn},
    )
    names = tuple(pool.metadata.name for pool in turn)
    # What was advised for these holds no longer; what was for others is told until they are asked about again.
    memory = msgspec.structs.replace(memory, asked_at=scene.now, asked_about=names)
    waves = 1 if turn[0].spec.disruption.mode == "act" else None
    return lambda: advise(question, waves), memory


def _turn(memory: Memory, pools: list[NodePool]) -> list[NodePool]:
    acting = [pool for pool in pools if pool.spec.disruption.mode == "act"]
    watching = [pool for pool in pools if pool.spec.disruption.mode == "observe"]
    was_acting = bool(acting) and memory.asked_about == tuple(pool.metadata.name for pool in acting)
    has_more = memory.advice is not None and bool(memory.advice.moves)
    return watching if watching and (not acting or (was_acting and not has_more)) else acting


def _choice(scene: Scene, pools: Iterable[NodePool]) -> Choice:
    """Who of these pools may go."""
    names = {pool.metadata.name for pool in pools}
    ages = {name: min_age_of(pool) for name, pool in scene.pools.items()}
    choice = choice_in(scene.snapshot, scene.state, scene.settings, ages)
    mine = tuple(one for one in choice.candidates if one.pool in names)
    others = tuple(one.bought for one in choice.candidates if one.pool not in names)
    return Choice(mine, choice.staying, (*choice.others, *others))


def _is_calm(scene: Scene, memory: Memory) -> bool:
    """Whether nothing is under way that a plan would not know of."""
    if memory.made_at is not None and is_ahead(memory.made_at + _SEEN_WITHIN, scene.now, _SEEN_WITHIN):
        scene.deadlines.append(memory.made_at + _SEEN_WITHIN)
        return False
    return not why_restless(scene)


# Acting


def _act(scene: Scene, memory: Memory) -> Memory:
    """What was thought has come to an end: decide on its moves, as far as they still are what they were."""
    advice = scene.state.answer
    if not isinstance(advice, Advice) or advice is memory.advice or scene.state.is_thinking:
        return memory
    memory = msgspec.structs.replace(memory, advice=advice)
    pools = [scene.pools[name] for name in memory.asked_about if name in scene.pools]
    if not advice.moves or not pools or any(pool.spec.disruption.mode != "act" for pool in pools):
        return memory
    if not _is_calm(scene, memory):
        return memory
    may_go = {one.name for one in _choice(scene, pools).candidates}
    moves = [move for move in advice.moves if may_go.issuperset(move.leaving)]
    for move in moves:
        scene.said.append(made(spec_of(scene, move)))
    return msgspec.structs.replace(memory, made_at=scene.now) if moves else memory


# Telling


def _tell(scene: Scene, memory: Memory) -> None:
    """What could be saved, on the pools that only look."""
    advice = memory.advice
    if advice is None or not advice.moves:
        return
    for name in memory.asked_about:
        pool = scene.pools.get(name)
        if pool is None or pool.spec.disruption.mode != "observe":
            continue
        nodes = sum(len(move.leaving) for move in advice.moves)
        saved = f"{advice.saves_per_hour:.4f}".rstrip("0").rstrip(".")
        could = f"{saved} an hour of {advice.now_per_hour:.4g} could be saved by moving {nodes} nodes"
        why = f"{could}: growth plan --optimise shows how"
        subject = reference_to(NODE_POOLS, pool.metadata)
        scene.said.append(RecordEvent(subject=subject, why=why, reason="CouldSave", action="Optimising"))
