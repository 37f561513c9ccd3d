"""How often a pod found no place, and until when it is not tried again: an annotation that outlives a restart.

How a person asks for a node to go, whatever that costs.

That a node was ready once, as we recorded it: without it, one that is unready cannot be told from one that boots.

A node's own times do not tell: the transition of its Ready condition is written anew by whoever notices something.

What a node was made from: a mark of its pool's template, by which it is seen later that the template changed.
"""

import hashlib
from collections.abc import Iterable
from datetime import datetime
from typing import Annotated, Final

import msgspec

from growth.api.meta import FrozenValue
from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.api.tolerations import Taint

BACK_OFF: Final = "growth.dev/backoff"

# People write annotations, too: a time without its zone could not be compared with any other.
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]


class BackOff(FrozenValue, frozen=True):
    """What is written on a pod."""

    failures: int
    at: _Instant
    """When it last counted."""

    until: _Instant | None = None
    """When it is tried again; None means that time alone does not help any more."""

    saw: str = ""
    """What it failed under (``decide.capacity.retry_fingerprint``): when that changes, it is tried again at once."""

    @property
    def is_final(self) -> bool:
        """Whether it is in BackOff: excluded from demand until the circumstances change."""
        return self.until is None

    def encode(self) -> str:
        """As it is written."""
        return msgspec.json.encode(self).decode()


def back_off_of(pod: Pod) -> BackOff | None:
    """What is written on this pod; something that cannot be read counts as nothing, and is written anew."""
    text = pod.metadata.annotations.get(BACK_OFF)
    if text is None:
        return None
    try:
        return msgspec.json.decode(text, type=BackOff)
    except msgspec.DecodeError:
        return None


DRAIN: Final = "growth.dev/drain"
"""Annotation of a node: a person wants it to go, and the value says why."""


STARTED_AT: Final = "growth.dev/started-at"
"""Annotation: when its node was opened, being what was planned."""


def was_started(node: Node) -> bool:
    """Whether it is written on the node that it was ready once."""
    return STARTED_AT in node.metadata.annotations


TEMPLATE: Final = "growth.dev/template"
"""Annotation of a NodeRequest, and of the node that comes of it: the mark of its pool's template at that time."""

_HEX_DIGITS: Final = 16


def mark_of(pool: NodePool) -> str:
    """The mark of what every new node of the pool gets: labels, taints and the provider's part.

    Only what is said counts, not what is left to defaults: a field that a new version of Growth adds changes no mark.
    """
    spec = pool.spec
    template = (spec.labels, _sorted(spec.taints), _sorted(spec.startup_taints), spec.machine)
    return hashlib.sha256(msgspec.json.encode(template, order="sorted")).hexdigest()[:_HEX_DIGITS]


def _sorted(taints: Iterable[Taint]) -> list[Taint]:
    return sorted(taints, key=lambda taint: (taint.key, taint.effect, taint.value))
