"""Do two clusters tell the same story? Each object's own happenings, in their order, on one and on the other.

Several controllers write to one object, each at its own pace: whether a node is ready is the kubelet's word, its taints
are the lifecycle controller's. So an object has several threads of life, and order counts within each.
"""

import re
from collections import Counter
from collections.abc import Iterable
from typing import Final

from growth_lab.scenarios.trace import Seen
from growth_lab.scenarios.transitions import REMEMBERED

_SOME_NODE: Final = re.compile(r"^(bound to|wanted on) \S+$")

Life = tuple[str, ...]
"""What happened to one object in one thread of its life, in order."""

_READINESS: Final = ("ready", "not ready", "unknown")


def lives(seen: Iterable[Seen], *, any_node: bool) -> dict[str, Counter[Life]]:
    """By subject; pods of one controller share a subject, and it does not matter which of them was first."""
    by_uid: dict[tuple[str, str], list[str]] = {}
    for one in seen:
        what = _SOME_NODE.sub(r"\1 a node", one.what) if any_node else one.what
        by_uid.setdefault((f"{one.subject}{_thread(what)}", one.uid), []).append(what)
    found: dict[str, Counter[Life]] = {}
    for (subject, _), words in by_uid.items():
        found.setdefault(subject, Counter())[tuple(words)] += 1
    return found


def differences(virtual: Iterable[Seen], real: Iterable[Seen], *, any_node: bool = False) -> list[str]:
    """What one tells and the other does not, a sentence each; none if they agree."""
    ours, theirs = lives(virtual, any_node=any_node), lives(real, any_node=any_node)
    told: list[str] = []
    for subject in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(subject, Counter()), theirs.get(subject, Counter())
        told += [f"{subject}: only virtual: {_words(life)}" for life in (mine - other).elements()]
        told += [f"{subject}: only real:    {_words(life)}" for life in (other - mine).elements()]
    return told


def _thread(what: str) -> str:
    if what in _READINESS:
        return " (readiness)"
    if what == "refused":
        return " (refusal)"
    if what == REMEMBERED:
        return " (memory)"
    first, _, rest = what.partition(" ")
    return f" ({rest})" if first in ("tainted", "untainted") else ""


def _words(life: Life) -> str:
    return ", ".join(life)
