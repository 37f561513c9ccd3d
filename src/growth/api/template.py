"""What a node was made from: a mark of its pool's template, by which it is seen later that the template changed."""

import hashlib
from collections.abc import Iterable
from typing import Final

import msgspec

from growth.api.nodepool import NodePool
from growth.api.tolerations import Taint

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
