"""What is counted of moves to cheaper nodes (docs/optimising.md). Labels are pools, reasons and results: none for each
move."""

from collections.abc import Mapping

from prometheus_client import CollectorRegistry, Counter, Gauge

from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS
from growth.api.offering import POOL
from growth.decide.consolidation.decider import ConsolidationCarry
from growth.decide.consolidation.move_search import MoveAdvice
from growth.observe.snapshot import Snapshot


class MoveMetrics:
    """What the leader sees of moves, and counts of those that ended while it led."""

    def __init__(self, registry: CollectorRegistry) -> None:
        self._under_way: Mapping[str, str] = {}
        """By uid, moves that were not over at the last look, with their reasons."""
        self._advice: MoveAdvice | None = None
        self._shown: set[str] = set()
        self._ended = Counter(
            "growth_moves", "Moves that ended, by reason and result.", ("reason", "result"), registry=registry
        )
        self._active = Gauge("growth_moves_active", "Moves that are being carried out.", registry=registry)
        self._savings = Gauge(
            "growth_savings_per_hour", "What the moves that were last advised save.", ("pool",), registry=registry
        )

    def show(self, snapshot: Snapshot, carry: ConsolidationCarry | None) -> None:
        """Show what is known in this pass."""
        moves = {move.metadata.uid: move for move in snapshot.table(NODE_MOVES).values()}
        for uid, reason in self._under_way.items():
            move = moves.get(uid)  # or somebody has deleted it on its way
            if move is None or move.is_over:
                self._ended.labels(reason, move.status.phase if move is not None else "Deleted").inc()
        self._under_way = {uid: move.spec.reason for uid, move in moves.items() if not move.is_over}
        self._active.set(len(self._under_way))
        self._save(snapshot, carry)

    def _save(self, snapshot: Snapshot, carry: ConsolidationCarry | None) -> None:
        pools = {name for (_, name) in snapshot.table(NODE_POOLS)} if carry is not None else set[str]()
        for gone in self._shown - pools:
            self._savings.remove(gone)
        self._shown &= pools
        advice = carry.advice if carry is not None else None
        if carry is None or advice is None or advice is self._advice:
            return
        self._advice = advice
        # The advice is about these pools alone; what was advised for others still stands.
        saved = {pool: 0.0 for pool in carry.asked_about if pool in pools}
        for move in advice.moves:
            for name in move.terminating:
                node = snapshot.nodes.get(name)
                pool = node.metadata.labels.get(POOL, "") if node is not None else ""
                if pool in saved:
                    saved[pool] += move.saves_per_hour / len(move.terminating)
        for pool, amount in saved.items():
            self._savings.labels(pool).set(amount)
        self._shown |= saved.keys()

    def clear(self) -> None:
        """Nobody keeps the moves here any more: what was last said is no news, and what ends now is another's count."""
        self._under_way, self._advice, self._shown = {}, None, set()
        self._active.set(0)
        self._savings.clear()
