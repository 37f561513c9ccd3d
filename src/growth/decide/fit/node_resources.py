"""NodeResourcesFit: whether what a pod asks for is still free.

A slot for the pod is always needed. Of each resource that is asked for, so much must be free; nothing is asked of a
resource whose request is zero, even on a node that is overbooked. What a node does not list it has none of. Names that
the scheduler does not count (bare ones it does not know) are not looked at.
"""

from collections.abc import Mapping
from functools import lru_cache
from typing import Final

from growth.api.reasons import formatting
from growth.decide.fit.filter_result import FilterRefusal
from growth.decide.fit.node_info import Check, NodeInfo
from growth.observe.pod_requests import Requests

FILTER: Final = "NodeResourcesFit"

_NATIVE: Final = ("pods", "cpu", "memory", "ephemeral-storage")
_COUNTED_PREFIXES: Final = ("hugepages-", "attachable-volumes-")


def is_counted(resource: str) -> bool:
    """Whether the scheduler counts a resource of this name."""
    return resource in _NATIVE or "/" in resource or resource.startswith(_COUNTED_PREFIXES)


def has_room(free: Mapping[str, int], requests: Requests) -> bool:
    """Whether so much is free, for those who need no reason."""
    return all(amount <= free.get(name, 0) for name, amount in requests.items() if amount and is_counted(name))


def prepare(requests: Requests) -> Check:
    """The check for a pod that asks for this much; ``pods`` is part of it."""
    wanted = tuple((name, amount) for name, amount in _in_order(requests) if amount and is_counted(name))

    def check(node_info: NodeInfo) -> FilterRefusal | None:
        free = node_info.free
        for name, amount in wanted:
            if amount > free.get(name, 0):
                return _misfit(wanted, node_info)
        return None

    return check


def _in_order(requests: Requests) -> list[tuple[str, int]]:
    return sorted(requests.items(), key=lambda item: (_NATIVE.index(item[0]) if item[0] in _NATIVE else 9, item[0]))


def _misfit(wanted: tuple[tuple[str, int], ...], node_info: NodeInfo) -> FilterRefusal:
    reasons: list[str] = []
    is_permanent = False
    for name, amount in wanted:
        free = node_info.free.get(name, 0)
        if amount > free:
            total = node_info.total(name)
            # A slot is a matter of other pods, even on a node that has none at all.
            is_permanent = is_permanent or (amount > total and name != "pods")
            reasons.append(_reason(name, amount, free, total))
    return FilterRefusal(FILTER, ", ".join(reasons), is_permanent)


@lru_cache(4096)
def _reason(name: str, amount: int, free: int, total: int) -> str:
    if name == "pods":
        return f"needs a pod slot; node has {free} free of {total}"
    if not total:
        return f"needs {formatting.amount(name, amount)} {formatting.name(name)}; node has none"
    wanted_words, free_words = formatting.amount(name, amount), formatting.amount(name, free)
    if wanted_words == free_words:  # they differ, if only by a byte
        wanted_words, free_words = str(amount), str(free)
    return (
        f"needs {wanted_words} {formatting.name(name)}; node has {free_words} free of {formatting.amount(name, total)}"
    )
