"""The moments at which a leader is killed: what leads to them, how they are recognized, and what must follow."""

from collections.abc import Awaitable, Callable
from datetime import UTC, datetime
from enum import StrEnum
from typing import Final

import msgspec

from bench.failover_cluster import Scene
from bench.failover_witness import Death, Home
from growth.api.out_of_service import proof_on
from tests.takeover.sight import Sight

DATABASE: Final = "db-0-0"
NODES_KEPT: Final = 5
"""``min`` of the pool: with four living nodes for a dead one the cluster stays healthy."""


class Moment(StrEnum):
    """In the order in which they follow each other."""

    TAINTED = "tainted"
    """The taint was set this instant; the pods are yet to be released."""
    RETURNING = "returning"
    """The machine has power, its node is ready and must prove itself before the taint goes."""
    PROVING = "proving"
    """The node is silent, and its machine is not proven dead yet."""
    REPLACING = "replacing"
    """The dead machine is gone, and another one was requested this instant."""


POWER_CUTS: Final = frozenset((Moment.TAINTED, Moment.PROVING))
"""Those at which a machine loses its power."""


class Scenario(msgspec.Struct, frozen=True):
    """One moment on one cluster."""

    begin: Callable[[], Awaitable[None]]
    """What happens to a machine."""
    is_middle: Callable[[], bool]
    """The instant of the kill."""
    is_finished: Callable[[], bool]
    """All that the next leader must have done."""


class Scenarios:
    """The moments, one after the other: each begins where the one before it ended."""

    def __init__(self, scene: Scene, sight: Sight) -> None:
        self._scene, self._sight = scene, sight
        self._dead = ""  # the node whose machine lost its power last

    def of(self, moment: Moment) -> Scenario:
        """What is to be played now."""
        match moment:
            case Moment.TAINTED:
                return Scenario(self._cut_power, lambda: self._sight.is_out(self._dead), self._runs_elsewhere)
            case Moment.PROVING:
                return Scenario(self._cut_power, self._is_suspected, self._runs_elsewhere)
            case Moment.RETURNING:
                return self._returning()
            case Moment.REPLACING:
                return self._replacing()

    def running_seconds(self) -> float:
        """From the last power cut until the database ran elsewhere. Raises if it does not yet."""
        death = self._death
        if death.running_at is None:
            raise RuntimeError(f"{DATABASE} does not run since {death.home.node} lost its machine")
        return round(death.running_at - death.cut_at, 1)

    @property
    def _death(self) -> Death:
        return self._scene.witness.deaths[self._dead]

    def _returning(self) -> Scenario:
        begun = datetime.now(UTC)

        async def begin() -> None:
            await self._scene.sandbox.power_on(self._dead)

        def is_middle() -> bool:
            return "BackAgain" in self._sight.noted(self._dead, begun) and self._sight.is_out(self._dead)

        def is_finished() -> bool:
            node = self._sight.nodes[self._dead]
            return node.is_ready and not self._sight.is_out(self._dead) and proof_on(node) is None

        return Scenario(begin, is_middle, is_finished)

    def _replacing(self) -> Scenario:
        known, gone = set(self._sight.requests), self._sight.nodes[self._dead].metadata.uid

        async def begin() -> None:
            await self._scene.sandbox.remove(self._dead)

        def is_finished() -> bool:
            requests = [one for uid, one in self._sight.requests.items() if uid not in known]
            are_ready = all(one.status.phase == "Ready" for one in requests)
            # The machine that comes may have the name of the one that went.
            uids = {self._sight.nodes[name].metadata.uid for name in self._scene.witness.open_nodes}
            return are_ready and gone not in uids and len(uids) == NODES_KEPT

        return Scenario(begin, lambda: not self._sight.requests.keys() <= known, is_finished)

    async def _cut_power(self) -> None:
        home = self.home()
        await self._scene.mount([home])
        self._scene.witness.note_cut(home)
        self._dead = home.node
        await self._scene.sandbox.cut_power(home.node)

    def home(self) -> Home:
        """Where the database runs. Raises if it does not."""
        home = self._scene.witness.home_of(DATABASE)
        if home is None:
            raise RuntimeError(f"{DATABASE} does not run, or its volume is not attached where it runs")
        return home

    def _is_suspected(self) -> bool:
        cut_at = datetime.fromtimestamp(self._death.cut_at, UTC)
        return bool(self._sight.noted(self._dead, cut_at)) and not self._sight.is_out(self._dead)

    def _runs_elsewhere(self) -> bool:
        """The database and the Deployment's pod run on living nodes, and the dead one is out of service."""
        web = [pod for pod in self._sight.web.values() if pod.metadata.deletion_timestamp is None]
        is_moved = len(web) == 1 and web[0].status.phase == "Running" and web[0].node_name != self._dead
        return is_moved and self._death.running_at is not None and self._sight.is_out(self._dead)
