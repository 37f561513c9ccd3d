"""Deliberate defects of memory: each one would lose a label, bring one back that was removed, or give one twice."""

from collections.abc import Callable, Mapping
from typing import Final

import msgspec

from growth.api.node_memory import NodeContents, NodeRecord, Transaction
from growth.decide.node_memory import transaction_log, transactions
from growth.decide.node_memory.context import PagePass
from growth.decide.node_memory.transaction_log import UnwrittenDepartures
from tests.trust.mutant import Mutant

_MEMORY: Final = "growth.decide.node_memory"
_FAULTS: Final = "tests/trust/memory/test_faults.py"
_RULES: Final = "tests/trust/memory/test_rules.py"
_UNWRITTEN: Final[Callable[[PagePass], UnwrittenDepartures]] = vars(transaction_log)["_unwritten"]
_ARRIVAL: Final[Callable[[PagePass], None]] = vars(transaction_log)["_record_arrival"]
_DELETED: Final[Callable[[PagePass, Transaction], None]] = vars(transactions)["_deleted"]


def _whatever_its_version(memory: NodeRecord | None, memento: NodeContents) -> bool:
    if memory is None or (memory.memento.uid == memento.uid and not memory.is_final):
        return True
    return memento.version != memory.memento.version and (memento.uid == memory.memento.uid or memento.is_marked)


def _whatever_it_was_given(memory: NodeRecord | None, memento: NodeContents) -> bool:
    if memory is None or (memory.memento.uid == memento.uid and not memory.is_final):
        return True
    return memento.version > memory.memento.version


async def _no_look(*_: object) -> None:
    """Nobody looks whether something else is remembered by now."""


def _gone_first(look: PagePass, transaction: Transaction) -> None:
    look.finish(transaction, "it will be dealt with")
    _DELETED(look, transaction)


def _comes_first(look: PagePass) -> UnwrittenDepartures:
    _ARRIVAL(look)
    unwritten = _UNWRITTEN(look)
    for memento in unwritten.mementos:
        look.record("deleted", memento, "left")
    return unwritten


def _nobody_left(*_: object) -> bool:
    return False


def _always(*_: object) -> bool:
    return True


def _nothing_removed(memento: NodeContents, *_: object) -> NodeContents:
    return msgspec.structs.replace(memento, removed=())


def _mutant(name: str, changes: Mapping[str, object], *, story: str = "", tests: str = "") -> Mutant:
    dotted = {one if one.startswith("growth.") else f"{_MEMORY}.{one}": new for one, new in changes.items()}
    return Mutant(f"memory: {name}", dotted, story, tests=tests)


MEMORY_MUTANTS: Final = (
    _mutant("what is older becomes the memory", {"transactions.is_news": _whatever_its_version}, tests=_RULES),
    _mutant(
        "a life that was given nothing becomes the memory",
        {"transactions.is_news": _whatever_it_was_given},
        story="replica remembers nodes",
        tests=_RULES,
    ),
    _mutant("nobody looks once more before giving back", {"growth.act.action_runner._check": _no_look}, tests=_RULES),
    _mutant("a transaction goes before its effect", {"transactions._deleted": _gone_first}, tests=_RULES),
    _mutant("a checkpoint comes before the marker", {"checkpoints.is_marked": _always}, tests=_FAULTS),
    _mutant("who came is written down before who left", {"page_round.record": _comes_first}, tests=_RULES),
    _mutant("nobody waits for who left", {"transaction_log.UnwrittenDepartures.is_before": _nobody_left}, tests=_RULES),
    _mutant(
        "what was removed is not known",
        {"transactions.with_removed": _nothing_removed, "checkpoints.with_removed": _nothing_removed},
        story="replica remembers nodes",
    ),
)
