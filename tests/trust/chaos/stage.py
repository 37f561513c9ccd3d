"""What everybody has who does something in a run: the cluster as it is, ways to change it, and chance."""

import itertools
import random
from collections.abc import Awaitable, Callable, Iterable
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import CONFIG_MAPS, NODES, Kind
from growth.api.offering import POOL
from growth.cloud.kwok.machine_record import FAULTS, FENCED_AT, config_map_name
from growth.kube.errors import KubeError
from growth.kube.patches import MergePatch
from growth_lab.simulator.faults import Faults
from tests.trust.audit import Audit
from tests.trust.chaos.replicas import SETTINGS, Fleet
from tests.trust.chaos.terms import Terms
from tests.trust.chaos.worlds import Json, World
from tests.trust.picture import Picture

T = TypeVar("T")


@dataclass(frozen=True)
class Tempo:
    """How long the parts of a run take, in seconds."""

    trouble: float
    """At most; each run draws less or more."""

    patience: float
    """After the trouble, until all must be well."""

    quiet: float
    """In the end nobody may write for so long; most runs draw less."""


# That a watch is silent is noticed after 180 s; what was learnt meanwhile about offerings is forgotten 60 s later. A
# lost request may be carried out after 45 s, and what failed rests for up to 60 s. Everything else takes seconds.
UNHURRIED: Final = Tempo(trouble=60.0, patience=480.0, quiet=180.0)


class Stage:
    """One run, as those see it who act in it. What they try may fail: the server may be away, as for everybody."""

    def __init__(
        self,
        world: World,
        fleet: Fleet,
        audit: Audit,
        chance: random.Random,
        *,
        namespace: str = "chaos",
        tempo: Tempo = UNHURRIED,
        faults: Faults | None,
        restart_server: Callable[[], Awaitable[None]] | None = None,
        terms: Terms,
        apart: random.Random,
    ) -> None:
        self.world, self.fleet, self.audit, self.chance = world, fleet, audit, chance
        self.namespace, self.tempo = namespace, tempo
        self.faults = faults
        """Of the API server; None where it is a real one."""

        self.terms = terms
        self.apart = apart
        """Chance for what lives without data and failover do not have, so that those stay as they were."""

        self.in_use: dict[str, list[str]] = {}
        """By uid of the node, which volumes its kubelet said it uses."""

        self.stays_dead: set[str] = set()
        """Machines that nobody mends."""

        self.restart_server = restart_server
        self.numbers = itertools.count(1)
        self.has_lost_requests = False
        """Whether somebody deleted a NodeRequest by hand."""

        self.has_withdrawn = False
        """Whether something was not sold any more for a while."""

        self._admin = fleet.ground.admin

    def say(self, words: str) -> None:
        """For the timeline."""
        self.fleet.say(words)

    @property
    def picture(self) -> Picture:
        """The cluster as it is now."""
        return self.audit.picture

    def one_of(self, things: Iterable[T]) -> T | None:
        """One, if there is any; put them in order first."""
        found = list(things)
        return self.chance.choice(found) if found else None

    def launched(self) -> list[str]:
        """Nodes of pools."""
        return sorted(name for name, node in self.picture.nodes.items() if POOL in node.metadata.labels)

    def pools(self) -> list[str]:
        """Pools that are not being deleted."""
        return sorted(name for name, pool in self.picture.pools.items() if pool.metadata.deletion_timestamp is None)

    async def create(self, kind: Kind[Any], name: str, body: Json) -> None:
        """Make an object."""
        named = {**body, "metadata": {**body.get("metadata", {}), "name": name}}
        await self._try(f"create {kind.name} {name}", self._admin.create(kind, named, self._place(kind)))

    async def change(self, kind: Kind[Any], name: str, patch: Json, subresource: str = "") -> None:
        """Patch an object."""
        doing = self._patch(kind, name, patch, subresource)
        await self._try(f"change {kind.name} {name}: {patch}", doing)

    async def quietly(self, kind: Kind[Any], name: str, patch: Json, subresource: str = "") -> bool:
        """The same, and nobody tells; whether it was done."""
        try:
            await self._patch(kind, name, patch, subresource)
        except KubeError:
            return False
        return True

    async def _patch(self, kind: Kind[Any], name: str, patch: Json, subresource: str) -> None:
        made = await self._admin.patch(kind, name, MergePatch(patch), self._place(kind), subresource=subresource)
        if kind is NODES:
            self.fleet.witness.deeds.by_people.add(made.metadata.resource_version)

    async def change_pool(self, name: str, spec: Json) -> None:
        """A pool says something else from now on."""
        await self.change(NODE_POOLS, name, {"spec": spec})

    async def delete(self, kind: Kind[Any], name: str, grace_seconds: int | None = None) -> None:
        """Delete an object."""
        doing = self._admin.delete(kind, name, self._place(kind), grace_seconds=grace_seconds)
        await self._try(f"delete {kind.name} {name}", doing)

    async def hurt(self, machine: str, faults: str) -> None:
        """Something goes wrong with a machine; an empty text mends it."""
        # Whoever mends a machine switches it on, too.
        fenced = {} if faults else {FENCED_AT: None}
        patch = MergePatch({"metadata": {"annotations": {FAULTS: faults, **fenced}}})
        doing = self._admin.patch(CONFIG_MAPS, config_map_name(machine), patch, SETTINGS.namespace)
        await self._try(f"hurt {machine}: {faults or 'not any more'}", doing)

    async def _try(self, what: str, doing: Awaitable[object]) -> None:
        try:
            await doing
        except KubeError as error:
            self.say(f"cannot {what}: {error}")
        else:
            self.say(what)

    def _place(self, kind: Kind[Any]) -> str:
        return self.namespace if kind.namespaced else ""
