"""Taints that controllers put on nodes: added at the end with their time, recognised by key and effect."""

from collections.abc import Iterable
from typing import Final

from growth_lab.simulator.json_parts import parts
from growth_lab.simulator.merge_patch import Json

NOT_READY: Final = "node.kubernetes.io/not-ready"
UNREACHABLE: Final = "node.kubernetes.io/unreachable"
UNSCHEDULABLE: Final = "node.kubernetes.io/unschedulable"
NO_SCHEDULE: Final = "NoSchedule"
NO_EXECUTE: Final = "NoExecute"

Mark = tuple[str, str]
"""Key and effect."""


def mark_of(taint: Json) -> Mark:
    """What two taints must have in common to be one."""
    return taint["key"], taint["effect"]


def marks(node: Json) -> list[Mark]:
    """All taints of a node."""
    return [mark_of(taint) for taint in parts(node, "spec", "taints")]


def swapped(node: Json, add: Iterable[Mark], remove: Iterable[Mark], stamp: str) -> list[Json] | None:
    """The node's taints with some more and some less; None if that changes nothing."""
    known, unwanted = marks(node), set(remove)
    new = [{"key": key, "effect": effect, "timeAdded": stamp} for key, effect in add if (key, effect) not in known]
    kept = [taint for taint in parts(node, "spec", "taints") if mark_of(taint) not in unwanted]
    return None if not new and len(kept) == len(known) else [*kept, *new]
