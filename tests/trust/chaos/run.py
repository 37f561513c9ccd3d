"""One run: a world, a life with trouble, calm, and the judgement. The same seed plays the same run, to the byte."""

import asyncio
import hashlib
import random
from collections.abc import Awaitable, Callable
from contextlib import AbstractContextManager, AsyncExitStack
from dataclasses import dataclass
from typing import Final

from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import DAEMON_SETS, NAMESPACES, NODES
from growth.api.pod import Pod
from growth.api.quantity import nano_value
from growth.kube.client import Client
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.local_cluster.nodes import kwok_node, taint
from growth_lab.local_cluster.timings import Timings
from growth_lab.scenarios.simulated import like
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.faults import Fault, Faults
from growth_lab.simulator.virtual_loop import run_virtually
from tests.trust.audit import Audit
from tests.trust.chaos import disks
from tests.trust.chaos.answers import Answers
from tests.trust.chaos.calm import converged, heal
from tests.trust.chaos.labels import drawn_memory_of, labelling
from tests.trust.chaos.lives import PEOPLE, WITH_FAILOVER
from tests.trust.chaos.movers import drawn_movement_of, make_calm, moving
from tests.trust.chaos.moves import Moves, moved_twice, unpaid
from tests.trust.chaos.overhearing import overhearing
from tests.trust.chaos.pods import is_placeable
from tests.trust.chaos.replicas import SETTINGS, Fleet, Ground
from tests.trust.chaos.stage import UNHURRIED, Stage, Tempo
from tests.trust.chaos.terms import drawn_terms_of
from tests.trust.chaos.troubles import TROUBLES, drawn_classes
from tests.trust.chaos.worlds import World, drawn_world
from tests.trust.mistakes import Mistakes

_STRANGER: Final = "stranger"
_LONG: Final = "40s"
_PAUSES: Final = (0.05, 0.3, 1.0, 2.0, 5.0)

Say = Callable[[str], None]
Following = Callable[[Audit], AbstractContextManager[None]]


@dataclass(frozen=True)
class Run:
    """What came of one seed."""

    seed: int
    classes: tuple[str, ...]
    replicas: int
    problems: tuple[str, ...]
    virtual_seconds: float
    launched: int
    removed: int
    moves: Moves | None
    """What came of moves; None if no pool let any be made."""
    digest: str
    """Of everything that happened: the same for the same seed, in every process."""


class Chaos:
    """One run on whatever ground."""

    def __init__(
        self,
        seed: int,
        ground: Ground,
        say: Say,
        *,
        tempo: Tempo = UNHURRIED,
        faults: Faults | None = None,
        following: Following | None = None,
        restart_server: Callable[[], Awaitable[None]] | None = None,
    ) -> None:
        self._seed, self._ground = seed, ground
        self.namespace = f"chaos-{seed}"
        self._chance = random.Random(f"{seed}/life")  # noqa: S311 - a seed, no secret
        self._world = drawn_world(self._chance)
        self._classes = drawn_classes(self._chance)
        self._digest = hashlib.sha256()
        self._following = following
        self._terms = drawn_terms_of(seed)
        apart = random.Random(f"{seed}/data")  # noqa: S311 - a seed, no secret
        self._memory = drawn_memory_of(seed)
        # Moves take minutes of calm: those are for virtual time.
        self._movement = drawn_movement_of(seed) if faults is not None else None
        self._fleet = Fleet(
            ground,
            self._world.replicas,
            self._say,
            failover=self._terms.failover,
            memory=self._memory or SETTINGS.memory,
            consolidate=self._movement.settings if self._movement else SETTINGS.consolidate,
            answers=Answers(apart),
        )
        # Where nothing fails, somebody watches all the time.
        self._fleet.witness.deeds.sees_every_end = not {"server", "growth"} & set(self._classes)
        self._tell = say
        self._audit = Audit(
            self._fleet.witness.deeds, is_placeable=self._is_placeable, halts_within=self._halts_within()
        )
        self._stage = Stage(
            self._world,
            self._fleet,
            self._audit,
            self._chance,
            namespace=self.namespace,
            tempo=tempo,
            faults=faults,
            restart_server=restart_server,
            terms=self._terms,
            apart=apart,
        )

    async def play(self) -> Run:
        """All of it."""
        loop = asyncio.get_running_loop()
        began = loop.time()
        self._say(f"seed {self._seed}: {self._world}, with faults of {', '.join(self._classes) or 'nothing'}")
        self._say(f"{self._terms}, {self._memory}")
        if self._movement:
            self._say(f"{self._movement}")
        await self._prepare()
        mistakes = Mistakes()
        async with AsyncExitStack() as context:
            context.enter_context(mistakes.listening())
            if self._following is not None:
                context.enter_context(self._following(self._audit))
            else:
                await context.enter_async_context(self._audit.following(self._ground.admin))
            if self._terms.disks:
                await disks.prepare(self._stage)
                await context.enter_async_context(disks.mounting(self._stage))
            if "server" in self._classes:  # from the first watch on
                await TROUBLES["server"](self._stage)
            await context.enter_async_context(self._fleet.running())
            async with AsyncExitStack() as life:
                if self._memory:
                    await life.enter_async_context(labelling(self._stage, seed=self._seed))
                if self._movement:
                    await life.enter_async_context(moving(self._stage, seed=self._seed))
                await self._live()
            await heal(self._stage)
            if self._movement:
                await make_calm(self._stage)
            left = await converged(self._stage)
        steps = self._audit.in_order()
        violations = filter(self._counts, self._audit.violations())
        problems = [*mistakes.observed, *self._fleet.failures, *violations, *unpaid(steps), *left]
        if "server" not in self._classes:  # whose watches lag may ask again: who leaves already does not mind
            problems += moved_twice(steps, self._fleet.witness.deeds)
        return Run(
            seed=self._seed,
            classes=tuple(self._classes),
            replicas=self._world.replicas,
            problems=tuple(problems),
            virtual_seconds=loop.time() - began,
            launched=sum(deed.name == "create configmaps" for deed in self._fleet.witness.deeds.all),
            removed=sum(deed.name == "delete configmaps" for deed in self._fleet.witness.deeds.all),
            moves=Moves.of(steps) if self._movement else None,
            digest=self._fingerprint(),
        )

    async def _prepare(self) -> None:
        admin, world = self._ground.admin, self._world
        await admin.create(NAMESPACES, {"metadata": {"name": self.namespace}})
        # With no node at all the scheduler does not even try; and somebody must be there who is not ours.
        stranger = kwok_node(_STRANGER, taints=[taint("dedicated=other:NoSchedule")])
        await admin.create(NODES, stranger)
        for name, spec in world.pools.items():
            patience = {"unreadyAfter": _LONG} if self._terms.is_patient else {}
            body = {**spec, "scaleDown": {**spec["scaleDown"], **patience}}
            await admin.create(NODE_POOLS, {"metadata": {"name": name}, "spec": body})
        if world.daemon_cpu:
            await admin.create(DAEMON_SETS, _daemon_set(world), self.namespace)

    async def _live(self) -> None:
        """People act, and what is drawn goes wrong."""
        loop, chance = asyncio.get_running_loop(), self._chance
        slowness = self._movement.slowness if self._movement else 1.0
        ends_at = loop.time() + min(self._world.seconds, self._stage.tempo.trouble) * slowness
        acts = {**PEOPLE, **(WITH_FAILOVER if self._terms.acts else {})}
        people, weights = list(acts), list(acts.values())
        while loop.time() < ends_at:
            if self._classes and chance.random() < 0.4:
                act = TROUBLES[chance.choice(self._classes)]
            else:
                act = chance.choices(people, weights)[0]
            await act(self._stage)
            await asyncio.sleep(chance.choice(_PAUSES) * slowness)

    def _is_placeable(self, pod: Pod) -> bool:
        daemon_cores = nano_value(self._world.daemon_cpu or "0") / 10**9
        return is_placeable(pod, self._audit.picture.pools, daemon_cores)

    def _halts_within(self) -> float:
        """How long news may travel: to a process that stands still, or through a watch that is silent."""
        return 240.0 if "server" in self._classes else 20.0 if "growth" in self._classes else 3.0

    def _counts(self, violation: str) -> bool:
        """What nobody could have known better, each case with its reason."""
        # Whoever is told by its provider that a machine is not there believes it.
        if self._world.is_lied_to and (violation.startswith(("I3", "I5")) or "was ended by Growth" in violation):
            return False
        # When an outage was over is written by whoever led then, by its own clock, unless it was killed before.
        if violation.startswith("I12") and {"server", "growth", "clock"} & set(self._classes):
            return False
        # A node that a watch shows empty although it is not any more is marked, and unmarked when its pods are seen.
        # Before its machine is given back somebody looks at it, live: that is I4.
        is_mark = violation.startswith("I24") and "was marked, and no move is at it" in violation
        if is_mark and "server" in self._classes:
            return False
        # A request that is deleted in the second in which its node registers leaves a node of which the provider has
        # said nothing yet; on a clock that is wrong by minutes it seems to have.
        if self._stage.has_lost_requests and "clock" in self._classes and violation.startswith("I3"):
            return False
        # What was learnt to be smaller is bought as what it is, and not as what its catalogue promises.
        is_about_size = " cpu of " in violation or " memory of " in violation
        if self._world.is_sold_less and violation.startswith("I3") and is_about_size:
            return False
        # Whoever a watch that lags does not show yet finds an empty node marked, which is taken back.
        if "server" in self._classes and violation.startswith("I24") and "no move is at it" in violation:
            return False
        # Of what is not in the catalogue any more nobody knows the price.
        if self._stage.has_withdrawn and violation.startswith("I3") and " an hour of " in violation:
            return False
        # What the server writes long after nobody waits for it any more is something that nobody planned with.
        is_haunted = self._has_ghosts("noderequests")
        if (is_haunted and violation.startswith("I3")) or (
            self._has_ghosts("noderemovalrequests") and violation.startswith("I6")
        ):
            return False
        # A pod that does not fit on what is coming, since that turned out to be smaller, needs another machine.
        is_excused = self._world.is_sold_less or is_haunted
        return not (is_excused and "are both coming for the waiting pod" in violation)

    def _has_ghosts(self, resource: str) -> bool:
        told = self._stage.faults.told if self._stage.faults is not None else ()
        return any(one.fault is Fault.LATE and one.ask.resource == resource for one in told)

    def _say(self, words: str) -> None:
        line = f"{asyncio.get_running_loop().time():8.3f}  {words}"
        self._digest.update(line.encode())
        self._tell(line)

    def _fingerprint(self) -> str:
        for deed in self._fleet.witness.deeds.all:
            self._digest.update(repr(deed).encode())
        return self._digest.hexdigest()[:16]


def _daemon_set(world: World) -> dict[str, object]:
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": world.daemon_cpu}}}
    spec = {"containers": [container], "tolerations": [] if world.is_daemon_shy else [{"operator": "Exists"}]}
    labels = {"daemon": "agent"}
    template = {"metadata": {"labels": labels}, "spec": spec}
    return {"metadata": {"name": "agent"}, "spec": {"selector": {"matchLabels": labels}, "template": template}}


def classes_of(seed: int) -> list[str]:
    """The classes of faults that the run of this seed has."""
    chance = random.Random(f"{seed}/life")  # noqa: S311 - a seed, no secret
    drawn_world(chance)
    return drawn_classes(chance)


def played_run(seed: int, say: Say = lambda _: None) -> Run:
    """The run of this seed on a virtual cluster of its own."""

    async def play() -> Run:
        cluster = VirtualCluster(seed, timings=like(Timings.fast()), roles=shipped_roles())
        user = service_account(*ACCOUNT)
        cluster.faults.whose = user

        async def client() -> Client:
            return cluster.client(user)

        now = cluster.clock.now
        ground = Ground(cluster.admin(), client, lambda identity: played(identity, now), now)

        def following(audit: Audit) -> AbstractContextManager[None]:
            return overhearing(cluster.store, audit)

        return await Chaos(seed, ground, say, faults=cluster.faults, following=following).play()

    return run_virtually(play())
