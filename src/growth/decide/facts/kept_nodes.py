"""Nodes that stay although they are empty: a plan, or a workload, counts on them."""

from growth.decide.contract import Fact


class NominatedNodes(Fact, frozen=True):
    """Names of nodes on which the last plan expects pending pods. Provided by scale-up."""

    names: frozenset[str] = frozenset()


class RetainedNodes(Fact, frozen=True):
    """Names of nodes that were launched for workloads which will be tried again. Provided by the queue.

    Otherwise a machine that takes longer than the timeout would be terminated and launched again forever.
    """

    names: frozenset[str] = frozenset()
