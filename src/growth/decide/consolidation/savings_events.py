"""What was wanted lately is a reason for nodes to stay, and not to buy what would be cheaper: that is told.

Only whoever leads remembers it (``decide.capacity.demand_history``). So it is told on the pools when a thought about
them begins, where everybody can read it; ``growth explain node`` does. Docs: docs/optimising.md.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.actions import RecordEvent
from growth.api.duration import format_duration
from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import NodePool
from growth.api.references import reference_to
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.elapsed import is_ahead

ROOM_KEPT: Final = "RoomKept"
LESS_WANTED: Final = "LessWanted"
TOLD_EVERY: Final = timedelta(minutes=10)
"""As long as it is so. An event that is repeated sooner than after six minutes keeps the figures with which it
began (``kube.event_aggregation``), and one that is not repeated is forgotten by the server within an hour."""
_HOUR: Final = timedelta(hours=1)
# So few are told exactly; of more, other words each time would be another event each time.
_FEW: Final = 20


class EventDamping(msgspec.Struct, frozen=True):
    """What of the last while is minded in a thought."""

    window: timedelta
    """How long that while is."""
    gone: int = 0
    """Pods that were there and may come back."""
    expected: int = 0
    """Pods that are not there yet."""
    fades_per_hour: float = 0.0
    """Which share of what was wanted becomes less in an hour."""

    def words(self) -> Iterator[tuple[str, str]]:
        """What there is to tell, each with the reason of its event."""
        is_hour = self.window == _HOUR
        if self.gone or self.expected:
            lately = "hour" if is_hour else format_duration(self.window)
            kept: list[str] = []
            if self.gone:
                kept.append(f"for {_pods(self.gone)} that {_were(self.gone)} there within the last {lately}")
            if self.expected:
                kept.append(f"for {_pods(self.expected)} that {_are(self.expected)} expected")
            yield ROOM_KEPT, f"room is kept {', and '.join(kept)}: nodes stay that would be wanted back"
        if percent := round(100 * self.fades_per_hour * (self.window / _HOUR)):
            ago = "an hour" if is_hour else format_duration(self.window)
            yield LESS_WANTED, f"{percent}% less is wanted than {ago} ago: moves that buy have to pay back sooner"


def tell(
    context: ConsolidationContext, pools: Iterable[NodePool], damping: EventDamping, told: Mapping[str, datetime]
) -> dict[str, datetime]:
    """Tell it on these pools, unless that was done a moment ago; returns when it was told last, by pool."""
    latest = {name: at for name, at in told.items() if name in context.pools}
    words = list(damping.words())
    for pool in pools if words else ():
        name, subject = pool.metadata.name, reference_to(NODE_POOLS, pool.metadata)
        if name in latest and is_ahead(latest[name] + TOLD_EVERY, context.now, TOLD_EVERY):
            continue
        latest[name] = context.now
        for reason, why in words:
            context.said.append(RecordEvent(subject=subject, why=why, reason=reason, action="Optimising"))
    return latest


def _pods(count: int) -> str:
    if count < _FEW:
        return f"{count} pods" if count > 1 else "a pod"
    step = 10 ** max(1, len(f"{count}") - 2)
    return f"about {round(count / step) * step:,} pods"


def _were(count: int) -> str:
    return "were" if count > 1 else "was"


def _are(count: int) -> str:
    return "are" if count > 1 else "is"
