"""One journey on a control plane of its own, and what was wrong with it."""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from bench.failover_cluster import a_scene
from tests.takeover.audit import problems
from tests.takeover.journey import Journey, Takeover
from tests.takeover.moments import DATABASE, Moment
from tests.takeover.sight import seeing
from tests.takeover.terms import Terms
from tests.takeover.version import NEW, Version

Side = Literal["old", "new"]


class Trip(msgspec.Struct, frozen=True):
    """The end of a journey."""

    takeovers: list[Takeover]
    problems: list[str]
    """A sentence each; empty if all went well."""


def alternating(older: Version, first: Side, takeovers: int = len(Moment)) -> list[Version]:
    """Upgrade, downgrade, upgrade and so on, or the other way round."""
    pair = (older, NEW) if first == "old" else (NEW, older)
    return [pair[number % 2] for number in range(takeovers + 1)]


async def trip(versions: Sequence[Version], terms: Terms, report: Callable[[str], None]) -> Trip:
    """From the first version to the last: a moment for each takeover, in their order."""
    async with a_scene([DATABASE], terms.kubernetes) as scene, seeing(scene.cluster.admin) as sight:
        journey = Journey(scene, sight, terms, report)
        takeovers = await journey.travel(versions)
        moments = [one.moment for one in takeovers]
        return Trip(takeovers, await problems(scene, sight, journey.started, moments))
