"""One pass over the pages of all nodes: what changed or is due is looked at, and what it comes to is done in turn."""

from collections.abc import Iterable, Iterator, Mapping
from itertools import islice
from typing import Final

from growth.api.actions import Action, Hold, Result
from growth.api.node_memory import is_marked, shard_of
from growth.decide.contract import Decision, Inputs
from growth.decide.node_memory.carry import UNWRITTEN, NodeMemoryCarry, PageResult, ShardPages, in_turn, pile_of
from growth.decide.node_memory.checkpoints import follow, follow_finalizer, forget
from growth.decide.node_memory.context import NodeMemoryContext, PagePass
from growth.decide.node_memory.metrics import measured
from growth.decide.node_memory.shard_leases import ShardLeases
from growth.decide.node_memory.transaction_log import record
from growth.decide.node_memory.transactions import process
from growth.observe.node_history import NodePage

# More than can be begun before we look again.
_AT_ONCE: Final = 256
_NOTHING: Final = PageResult()


class PageRound:
    """What all pages come to in one pass."""

    def __init__(self, inputs: Inputs[NodeMemoryCarry, None, None]) -> None:
        carry = inputs.carry
        self._snapshot, self._settings, self._carry = inputs.snapshot, inputs.settings, carry
        self._inputs = inputs
        self._context = NodeMemoryContext(inputs.snapshot, inputs.settings, inputs.clock.steady_since)
        self._shards = {shard: dict(looks) for shard, looks in carry.shards.items()}
        self._awaiting = dict(carry.awaiting)
        self._restored: list[float] = []

    def run(self) -> Decision[NodeMemoryCarry]:
        """Look at what changed or is due, then say what all looks came to, as far as it is our turn."""
        for name in self._names():
            self._look_at(name)
        piles = {shard: pile_of(looks) for shard, looks in self._shards.items() if looks}
        shards = ShardLeases(self._snapshot, self._settings, self._inputs.replica.identity, self._carry.sights, piles)
        said = self._said(shards, piles)
        due = (pile.due for pile in piles.values())
        deadlines = [when for when in (*due, *shards.deadlines) if when is not None]
        record = NodeMemoryCarry(
            self._snapshot.past.journal.number,
            self._snapshot.now,
            {shard: looks for shard, looks in self._shards.items() if looks},
            {**self._carry.sights, **shards.sights},
            self._awaiting,
            tuple(self._restored),
            min((pile.oldest for pile in piles.values() if pile.oldest is not None), default=None),
        )
        return Decision(
            carry=record,
            said=tuple(said),
            requeue_at=min(deadlines, default=None),
            measurements=tuple(measured(record, self._snapshot.now)),
        )

    def _names(self) -> Iterable[str]:
        """Of whom something may be different now."""
        past, now = self._snapshot.past, self._snapshot.now
        changed = past.journal.since(self._carry.journal)
        if changed is None or not self._carry.journal:
            changed = [*past.pages, *(name for looks in self._shards.values() for name in looks)]
        looks = ((name, page_pass) for open_ in self._shards.values() for name, page_pass in open_.items())
        # What is due at an instant of a clock that was set back since would wait for that instant to come again.
        is_set_back = self._carry.at is not None and now < self._carry.at
        due = [
            name
            for name, look in looks
            if is_set_back
            or look.follows
            or (look.due is not None and look.due <= now)
            or 0 < look.unheard <= past.nodes_version
        ]
        return dict.fromkeys((*reversed(changed), *due))

    def _look_at(self, name: str) -> None:
        page = self._context.page(name)
        self._note_wait(page)
        looks = self._shards.setdefault(shard_of(name, self._settings.memory.shards), {})
        page_pass = look_at(self._context, page, looks.get(name, PageResult()))
        if page_pass.is_idle:
            looks.pop(name, None)
        else:
            looks[name] = page_pass

    def _note_wait(self, page: NodePage) -> None:
        """How long nodes wait for their marker, for those who measure."""
        node, waited = page.node, self._awaiting.get(page.name)
        if self._settings.memory.mode == "off":
            return
        if node is not None and not is_marked(node) and page.heard_at is not None:
            self._awaiting[page.name] = (page.uid, page.heard_at)
            return
        self._awaiting.pop(page.name, None)
        if node is not None and waited is not None and waited[0] == page.uid:
            self._restored.append((self._snapshot.now - waited[1]).total_seconds())

    def _said(self, shards: ShardLeases, piles: Mapping[int, ShardPages]) -> list[Action | Hold]:
        # A Lease is worth having if there is something to do, or will be as soon as it is recorded.
        counts = {shard: pile.works for shard, pile in piles.items() if pile.works or pile.unwritten}
        ours = shards.take(counts, behind={shard for shard, pile in piles.items() if pile.is_behind})
        said: list[Action | Hold] = [*shards.said, *(told for pile in piles.values() for told in pile.told)]
        records, works = iter(self._records(shards, piles)), iter(self._works(sorted(ours)))
        # Whoever came first should be done first, and not when everybody's coming and going is written down.
        return said + list(in_turn([records, works, works]))

    def _works(self, shards: Iterable[int]) -> list[Action]:
        """What is to be done in our shards; what failed lately comes last, so that it is in nobody's way."""
        works: list[Action] = []
        failed: list[Action] = []
        for name, page_pass in self._by_need(shards):
            for work in self._up_to_date(name, page_pass).works:
                (failed if self._has_failed(work) else works).append(work)
            if len(works) >= _AT_ONCE:
                return works
        return (works + failed)[:_AT_ONCE]

    def _by_need(self, shards: Iterable[int]) -> Iterator[tuple[str, PageResult]]:
        """First nodes that wait for what they were, the longest waiting first: nobody waits for the rest of it (what is
        dealt with goes, what is whole again is written down), which gets every fourth turn."""
        lines = {shard: [item for item in self._shards[shard].items() if item[1].works] for shard in shards}
        waiting = [item for line in lines.values() for item in line if item[0] in self._awaiting]
        waiting.sort(key=lambda item: self._awaiting[item[0]][1])
        others = in_turn([(item for item in line if item[0] not in self._awaiting) for line in lines.values()])
        urgent = iter(waiting)
        return in_turn([urgent, urgent, urgent, others])

    def _up_to_date(self, name: str, page_pass: PageResult) -> PageResult:
        """A node says how it is all the time, and nobody looks at what is remembered of it for that. But who writes to
        it must know its version, and what its pool and its request say."""
        node = self._context.page(name).node
        if not page_pass.basis or (node is not None and page_pass.basis == self._context.basis(node)):
            return page_pass
        self._look_at(name)
        return self._shards[shard_of(name, self._settings.memory.shards)].get(name, _NOTHING)

    def _has_failed(self, work: Action) -> bool:
        outcome = self._inputs.outcomes.latest(type(work), work.subject)
        return outcome is not None and outcome.result in (Result.REFUSED, Result.FAILED)

    def _records(self, shards: ShardLeases, piles: Mapping[int, ShardPages]) -> list[Action]:
        """What is to be written down, by us at once or, if others should have done it, after a while."""
        now, unwritten = self._snapshot.now, sum(len(pile.unwritten) for pile in piles.values())
        lines: list[Iterator[PageResult]] = []
        for shard, pile in piles.items():
            if not pile.unwritten:
                continue
            wait, earliest = shards.patience(shard, unwritten)
            if earliest > now:
                shards.deadlines.append(earliest)
                continue
            known = [(page_pass.since.get(UNWRITTEN, now) + wait, page_pass) for page_pass in pile.unwritten]
            lines.append(look for at, look in known if at <= now)
            shards.deadlines += [at for at, _ in known if at > now]
        records = (record for look in in_turn(lines) for record in look.records)
        return list(islice(records, _AT_ONCE))


def look_at(context: NodeMemoryContext, page: NodePage, before: PageResult) -> PageResult:
    """What one page needs next."""
    page_pass = PagePass(context, page, before)
    if context.settings.mode == "off":
        if page.node is not None:
            follow_finalizer(page_pass, page.node, is_saved=True)
        return page_pass.end()
    unwritten = record(page_pass)
    first = page.transactions[0] if page.transactions else None
    if page.problem:
        # Kubernetes itself puts a ConfigMap into every namespace: it is in nobody's way.
        if page.node is not None or first is not None:
            page_pass.warn(
                "MemoryUnreadable", f"{page.problem}; mend it, or drop it with: growth memory forget {page.name}"
            )
    elif first is not None and not unwritten.is_before(first.version):
        process(page_pass, first)
    if page.node is not None and (page.problem or first is not None):
        follow_finalizer(page_pass, page.node, is_saved=False)
    elif page.node is not None:
        follow(page_pass, page.node)
    elif page.record is not None and first is None:
        forget(page_pass, page.record)
    return page_pass.end()
