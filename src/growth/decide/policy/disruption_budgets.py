"""How many nodes of a pool may go now, for a reason?

Of all budgets that hold now and are about the reason the smallest number counts, and never more than the pool's
``disruption.maxUnavailable``. Nodes that are on their way out already use it up, whoever sends them away, and so do
nodes that do not work. A budget that cannot be understood allows nothing: in doubt nobody is disturbed.

A share is rounded up, as ``maxUnavailable``, Karpenter and Kubernetes' own budgets do: rounded down, 10% of a pool of
nine nodes would be none, for ever.
"""

import re
from collections.abc import Collection, Iterable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.annotations import was_started
from growth.api.disruption import DisruptionBudget, Reason
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.taints import is_tainted
from growth.decide.policy.pool_terms import max_unavailable, number_of
from growth.decide.policy.schedule import holds, time_faults

_NODES: Final = re.compile("[0-9]{1,9}|[0-9]{1,2}%|100%")


class Allowance(msgspec.Struct, frozen=True):
    """How many may go, and what says so."""

    most: int
    """So many may be on their way out at one time."""
    leaving: int
    """So many are."""
    set_by: str
    """The field whose number counts."""

    @property
    def left(self) -> int:
        """So many more may go now."""
        return max(0, self.most - self.leaving)


def allowance(
    pool: NodePool,
    budgets: Sequence[DisruptionBudget],
    reason: Reason,
    *,
    nodes: Iterable[Node],
    terminating: Collection[str],
    now: datetime,
) -> Allowance:
    """What the budgets of a pool leave for this reason; ``leaving`` are nodes that are being removed or drained.

    Nodes that were never ready are neither part of the pool nor missing in it: the replacements that a move waits for
    would stop it otherwise.
    """
    counted = [node for node in nodes if node.is_ready or was_started(node) or node.metadata.name in terminating]
    leaving = sum(not node.is_ready or is_tainted(node) or node.metadata.name in terminating for node in counted)
    limits = [(max_unavailable(pool, len(counted)), "disruption.maxUnavailable")]
    for index, budget in enumerate(budgets):
        if budget.reasons and reason not in budget.reasons:
            continue
        if faults(budget):
            limits.append((0, _path(index)))
        elif holds(budget, now):
            limits.append((number_of(budget.nodes, len(counted)), _path(index)))
    # Among equals the first: the general bound, then the budgets in their order.
    most, set_by = min(limits, key=lambda limit: limit[0])
    return Allowance(most, leaving, set_by)


def faults(budget: DisruptionBudget) -> tuple[tuple[str, str], ...]:
    """What is wrong with a budget: the field, and a sentence with its value and what was expected."""
    if _NODES.fullmatch(str(budget.nodes)):
        return time_faults(budget)
    why = f"{budget.nodes!r} is not a number of nodes, expected one such as 2, or a share from 0% to 100%"
    return (("nodes", why), *time_faults(budget))


def complaints(budgets: Sequence[DisruptionBudget]) -> list[str]:
    """What a person should mend, a sentence each, for the pool's condition."""
    return [
        f"spec.{_path(index)}.{field}: {why}; until it is mended, the budget allows no node to go"
        for index, budget in enumerate(budgets)
        for field, why in faults(budget)
    ]


def _path(index: int) -> str:
    return f"disruption.budgets[{index}]"
