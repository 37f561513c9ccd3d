"""What Growth said of a pool: for whom room is kept there, and why moves hardly pay now.

Only the Growth that leads remembers what was wanted lately. It tells that in events
(``decide.consolidation.savings_events``).

What one node has to do with moves: which one it is part of and how far that is, or why it stays where it is.

Prices and machines are the providers', who are not asked here: whether a move of it would pay is told by
``growth plan --optimise``.
"""

from collections.abc import Iterable
from datetime import datetime
from typing import Any, Final

import msgspec

from growth.api.annotations import DRAIN
from growth.api.change import Change, ChangeType
from growth.api.core import Event
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    EVENTS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    Kind,
)
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool
from growth.api.offering import POOL
from growth.api.settings.model import Settings
from growth.cli.consolidation_context import context_at
from growth.cli.memory_list import counted
from growth.cli.move_progress import what_keeps
from growth.cli.node_reader import Now
from growth.decide.consolidation.allowances import min_age_of
from growth.decide.consolidation.candidates import why_stays
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.savings_events import LESS_WANTED, ROOM_KEPT, TOLD_EVERY
from growth.decide.fit.volume_claims import named_claims
from growth.kube.client import Client
from growth.kube.errors import Forbidden, NotFound
from growth.observe.cache import ClusterCache
from growth.observe.snapshot import Snapshot

# Where events about objects are that are in no namespace.
_NAMESPACE: Final = "default"
# It is told again as long as it is so, and all is calm. What was told longer ago says nothing about now.
_HOLDS_FOR: Final = 3 * TOLD_EVERY


class RecordedReason(msgspec.Struct, frozen=True):
    """Something that Growth said, and when last."""

    reason: str
    words: str
    at: datetime


async def read_told(client: Client, pool: str, now: Now) -> tuple[RecordedReason, ...]:
    """Ask for it; nothing for those who may not see events."""
    about = f"regarding.kind={NODE_POOLS.name},regarding.name={pool}"
    try:
        events = (await client.list(EVENTS, _NAMESPACE, field_selector=about)).items
    except (NotFound, Forbidden):
        return ()
    return told_in(events, now())


def told_in(events: Iterable[Event], at: datetime) -> tuple[RecordedReason, ...]:
    """Of all events of a pool the last one of each of these reasons, unless it is too long ago."""
    newest: dict[str, RecordedReason] = {}
    for event in events:
        last = event.series.last_observed_time if event.series is not None else None
        said_at = last or event.metadata.creation_timestamp
        if said_at is None or at - said_at > _HOLDS_FOR:
            continue
        known = newest.get(event.reason)
        if known is None or (known.at, known.words) < (said_at, event.note):
            newest[event.reason] = RecordedReason(event.reason, event.note, said_at)
    return tuple(newest[reason] for reason in (ROOM_KEPT, LESS_WANTED) if reason in newest)


_READ: Final[tuple[Kind[Any], ...]] = (
    *(NODES, NODE_POOLS, NODE_MOVES, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    POD_DISRUPTION_BUDGETS,
)


class MoveReport(msgspec.Struct, frozen=True):
    """What there is to say of it; empty words where there is nothing."""

    wish: str = ""
    """Why a person wants it to go."""
    move: str = ""
    """The name of the move that it is part of, or was bought for."""
    phase: str = ""
    since: datetime | None = None
    words: str = ""
    """What the move is made for, and how far it is."""
    kept_by: tuple[str, ...] = ()
    """What the move waits for."""
    stays: str = ""
    """Why it stays, if it is part of no move."""
    waits_for_money: bool = False
    """Whether nothing keeps it but that no move of it pays."""
    told: tuple[RecordedReason, ...] = ()
    """Then, what Growth said of its pool: why that may be so."""


async def read_moving(client: Client, settings: Settings, name: str, now: Now) -> MoveReport | None:
    """Ask for what it takes; None for a node of no pool, and where Growth's kinds are not there, or not for us."""
    world = ClusterCache(now)

    async def read(kind: Kind[Any], **selectors: str) -> list[Any]:
        found = list((await client.list(kind, **selectors)).items)
        world.listeners()[kind]([Change(ChangeType.ADDED, one, None) for one in found])
        return found

    try:
        for kind in _READ:
            await read(kind)
        pods = await read(PODS, field_selector=f"spec.nodeName={name}")
        if any(list(named_claims(pod)) for pod in pods):
            for kind in (PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES):
                await read(kind)
    except (NotFound, Forbidden):
        return None
    snapshot = world.snapshot(now())
    moving = moving_in(snapshot, settings, name)
    if moving is None or not moving.waits_for_money:
        return moving
    told = await read_told(client, snapshot.nodes[name].metadata.labels[POOL], now)
    return msgspec.structs.replace(moving, told=told)


def moving_in(snapshot: Snapshot, settings: Settings, name: str) -> MoveReport | None:
    """The same, of what is seen."""
    node = snapshot.nodes.get(name)
    if node is None or POOL not in node.metadata.labels:
        return None
    context = context_at(snapshot, settings)
    options = node.metadata.annotations.get(DRAIN, "")
    # The last word is that of the newest.
    move = max(
        (one for one in context.moves if name in one.spec.nodes or name in _bought(one)),
        key=lambda one: (not one.is_over, one.metadata.creation_timestamp or context.now),
        default=None,
    )
    if move is None or (move.is_over and name in _bought(move)):
        return _staying(context, MoveReport(options), name)
    moving = MoveReport(
        options,
        move.metadata.name,
        move.status.phase,
        move.status.phase_since or move.metadata.creation_timestamp,
        _words(context, move, name),
    )
    if move.is_over:
        return _staying(context, moving, name)
    return msgspec.structs.replace(moving, kept_by=tuple(what_keeps(context, move)))


def _bought(move: NodeMove) -> list[str]:
    return [one.name for one in move.spec.buys]


def _words(context: ConsolidationContext, move: NodeMove, name: str) -> str:
    made_for = f"{move.spec.reason}: {move.spec.why}"
    if name in _bought(move):
        return f"it was bought in the place of {', '.join(move.spec.nodes)} ({made_for})"
    left = len(context.workers(context.snapshot.nodes[name]))
    is_draining = move.status.phase == "Draining"
    how_far = f"{counted(left, 'pod')} to leave it" if is_draining else move.status.message
    return f"{made_for}{f'; {how_far}' if how_far else ''}"


def _staying(context: ConsolidationContext, moving: MoveReport, name: str) -> MoveReport:
    """With why it stays."""
    ages = {pool: min_age_of(one) for pool, one in context.pools.items()}
    reason = "Requested" if moving.wish else "Cheaper"
    if why := why_stays(context, name, ages, reason):
        return msgspec.structs.replace(moving, stays=why)
    if moving.wish:
        return msgspec.structs.replace(moving, stays="nothing keeps it: it goes when it can be replaced")
    pool = context.pools[context.snapshot.nodes[name].metadata.labels[POOL]]
    return msgspec.structs.replace(moving, stays=_until_it_pays(pool), waits_for_money=True)


def _until_it_pays(pool: NodePool) -> str:
    free = "nothing keeps it: it goes when a move of it pays"
    if pool.spec.disruption.mode == "act":
        return free
    return (
        f"{free}, and somebody makes it (disruption.mode of pool {pool.metadata.name} is {pool.spec.disruption.mode})"
    )
