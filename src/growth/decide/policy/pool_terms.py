"""How patient a pool is with nodes that nobody needs: its texts as durations, read once."""

from datetime import timedelta
from functools import lru_cache

import msgspec

from growth.api.duration import parse_duration
from growth.api.node_pool import NodePool


class PoolTerms(msgspec.Struct, frozen=True):
    """What a pool's ``scaleDown`` says."""

    empty_after: timedelta
    unready_after: timedelta
    delay_after_scale_up: timedelta
    retry_failed_after: timedelta | None


def terms_of(pool: NodePool) -> PoolTerms:
    """The terms of this pool."""
    stated = pool.spec.scale_down
    return _read(stated.empty_after, stated.unready_after, stated.delay_after_scale_up, stated.retry_failed_after)


@lru_cache(1024)
def _read(empty: str, unready: str, delay: str, retry: str | None) -> PoolTerms:
    retry_after = parse_duration(retry) if retry is not None else None
    return PoolTerms(parse_duration(empty), parse_duration(unready), parse_duration(delay), retry_after)


def max_unavailable(pool: NodePool, nodes: int) -> int:
    """How many of so many nodes may be on their way out at one time."""
    return number_of(pool.spec.disruption.max_unavailable, nodes)


def number_of(stated: int | str, nodes: int) -> int:
    """A number, or a share of so many nodes; a share is never less than one node, unless 0%."""
    text = str(stated)
    if not text.endswith("%"):
        return int(text)
    return -(-nodes * int(text.removesuffix("%")) // 100)
