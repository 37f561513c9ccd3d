"""``growth-status``: how the cluster is, in one ConfigMap, for people, for scripts, and for the next leader.

Its key ``status`` is this, as JSON; its key ``summary`` the same in a few sentences. Keys ``capability.NAME`` hold what
capabilities report of themselves.

What happened to one node, for people: each step with its instant, kept in ``growth-status`` beside the rest.

``growth explain node NAME`` prints it. It is a story and no state: nothing is decided on it.
"""

from collections.abc import Iterator
from contextlib import suppress
from datetime import datetime
from functools import lru_cache
from typing import Annotated, Any, Final

import msgspec

from growth.api.core import ConfigMap
from growth.api.meta import FrozenValue

# One without a zone cannot be compared with ours: somebody else wrote it.
_Instant = Annotated[datetime, msgspec.Meta(tz=True)]

GROWTH_STATUS: Final = "growth-status"
"""Name of the ConfigMap, in Growth's own namespace."""
STATUS: Final = "status"
SUMMARY: Final = "summary"


class PoolHealth(FrozenValue, frozen=True, omit_defaults=False):
    """How one pool is, or one offering in it."""

    pool: str
    offering: str = ""
    """Empty: the pool as a whole."""
    states: dict[str, int] = {}
    """How many machines of it are in which state; none of those that are not named."""
    upcoming: int = 0
    missing: int = 0
    missing_since: _Instant | None = None
    is_healthy: bool = True
    why: str = ""


class TroubledNode(FrozenValue, frozen=True, omit_defaults=False):
    """A node, a machine or a request that does not simply work."""

    name: str
    state: str
    pool: str = ""
    offering: str = ""
    since: _Instant | None = None
    why: str = ""


class ClusterStatus(FrozenValue, frozen=True, omit_defaults=False):
    """How the cluster is."""

    is_healthy: bool = True
    is_halted: bool = False
    """Whether Growth neither buys nor removes anything now."""
    healthy_since: _Instant | None = None
    """Since when it may act again; absent if it always could. Deadlines that passed meanwhile count from here."""
    unhealthy_since: _Instant | None = None
    alarm: str = ""
    ready: int = 0
    """Nodes that work, foreign ones included."""
    unready: int = 0
    """Nodes of Growth's that are unready without reason."""
    foreign_unready: int = 0
    states: dict[str, int] = {}
    pools: tuple[PoolHealth, ...] = ()
    troubled: tuple[TroubledNode, ...] = ()
    """The first of them, most serious first."""
    troubled_in_all: int = 0


_CAPABILITY: Final = "capability."


def capability_key(name: str) -> str:
    """Return the key under which the ConfigMap holds what a capability reports of itself."""
    return f"{_CAPABILITY}{name}"


def capabilities_in(found: ConfigMap | None) -> dict[str, dict[str, Any]]:
    """Return what capabilities report of themselves, by name; what somebody else wrote there is passed over."""
    statuses: dict[str, dict[str, Any]] = {}
    for key, text in sorted((found.data if found is not None else {}).items()):
        if key.startswith(_CAPABILITY):
            with suppress(msgspec.DecodeError):
                statuses[key.removeprefix(_CAPABILITY)] = msgspec.json.decode(text, type=dict[str, Any])
    return statuses


def status_in(found: ConfigMap | None) -> ClusterStatus | None:
    """What the ConfigMap says; None if there is none, or somebody wrote something else into it."""
    return _decoded(found.data.get(STATUS, "")) if found is not None else None


@lru_cache(8)
def _decoded(text: str) -> ClusterStatus | None:
    """Asked for in every pass, of a text that hardly ever changes."""
    try:
        return msgspec.json.decode(text, type=ClusterStatus)
    except msgspec.DecodeError:
        return None


_PREFIX: Final = "node."
# What is left out in the middle of a long story is less than what its beginning and its end tell.
_FIRST, _LAST = 4, 36


class TimelineStep(FrozenValue, frozen=True):
    """One step."""

    at: datetime
    what: str
    """As one word for machines, such as ``Tainted``."""
    words: str


class Timeline(FrozenValue, frozen=True):
    """All steps of one node."""

    node: str
    uid: str
    entries: tuple[TimelineStep, ...] = ()

    def with_entry(self, entry: TimelineStep) -> "Timeline":
        """One step more; of very many, the first and the last ones are kept."""
        entries = (*self.entries, entry)
        if len(entries) > _FIRST + _LAST:
            entries = (*entries[:_FIRST], *entries[-_LAST:])
        return msgspec.structs.replace(self, entries=entries)


def key_of(node: str) -> str:
    """Under which key of the ConfigMap it stands."""
    return f"{_PREFIX}{node}"


def timelines_in(found: ConfigMap | None) -> Iterator[Timeline]:
    """All that the ConfigMap tells; what somebody else wrote into it is passed over."""
    for key, text in (found.data if found is not None else {}).items():
        if not key.startswith(_PREFIX):
            continue
        try:
            yield msgspec.json.decode(text, type=Timeline)
        except msgspec.DecodeError:
            continue
