"""A storm over a leader election: pauses, losses, outages, skewed clocks, and an invariant after every single step.

Three replicas in processes of their own contend for a lease over a network that delays and loses, with clocks that run
at different speeds and wall clocks that jump. Chance, from one seed, decides everything, so a seed repeats its story.
"""

import asyncio
import random
from collections import Counter
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime, timedelta

import msgspec

from growth.api.kinds import CONFIG_MAPS, LEASES
from growth.kube.client import Client
from growth.kube.errors import Fenced, KubeError, Unreachable
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth.kube.lease_record import MISSING_HOLDER
from growth.kube.patches import MergePatch
from growth.kube.transport import Request, Response, Stream
from tests.kube.fake_api import FakeApi
from tests.virtual_world import World

TERMS = LeaseTerms(lease_duration_seconds=15, renew_deadline_seconds=10, retry_period_seconds=2)
LEASE = LEASES.path("leader", "growth")
LEDGER = CONFIG_MAPS.path("ledger", "growth")
# A clock may be this much too fast or slow: far more than any real one.
SPEEDS = (0.9, 1.1)
# The gap between a slow holder's deadline and a fast rival's takeover, on true time: 15/1.1 - 10/0.9.
LONGEST_TRIP_SECONDS = 2.5


class Storm:
    """The server, the network, the weather, and who wrote when."""

    def __init__(self, seed: int) -> None:
        self.chance = random.Random(seed)  # noqa: S311 - weather, no secret
        self.world = World(self.chance)
        self.api = FakeApi()
        self.api.put(LEDGER, {"metadata": {"name": "ledger"}})
        self.replicas: list[Replica] = []
        self.is_calm = False
        self.is_down = False
        self.counts: Counter[str] = Counter()
        self.story: list[str] = []

    def tell(self, what: str) -> None:
        self.story.append(f"{self.world.now:9.3f}  {what}")

    def restart(self) -> None:
        self.replicas.append(Replica(self, f"r{len(self.replicas)}"))

    def alive(self) -> "list[Replica]":
        return [replica for replica in self.replicas if not replica.is_dead]

    def arrive(self, request: Request, writer: str) -> Response:
        """The server deals with a request; whoever writes to the ledger must be the one whom the lease names."""
        before = self.holder()
        response = self.api.handle(request)
        if request.path == LEDGER and response.status < 300:
            self.counts["writes"] += 1
            if before not in (writer, "nobody yet"):
                self.tell(f"{writer} WROTE although the lease names {before or 'nobody'}")
                raise AssertionError("a write after the lease was lost\n" + "\n".join(self.story[-40:]))
        if self.holder() != before:
            self.counts["takeovers"] += 1
            self.tell(f"the lease names {self.holder() or 'nobody'}, no longer {before or 'nobody'}")
        return response

    def holder(self) -> str:
        """Whom the lease names. A lease that is missing, or was until just now, names nobody *yet*."""
        lease = self.api.objects.get(LEASE)
        name: str = lease["spec"].get("holderIdentity", "") if lease else MISSING_HOLDER
        return "nobody yet" if name == MISSING_HOLDER else name

    def check(self) -> None:
        """Never two open fences, not even of a replica that sleeps right now: it might wake up in this instant."""
        writers = [replica.name for replica in self.alive() if replica.clock() < replica.lease.fence()]
        if len(writers) > 1:
            raise AssertionError(f"{writers} may write at once\n" + "\n".join(self.story[-40:]))

    def strike(self) -> None:
        """One misfortune, and the time of the next one."""
        if self.is_calm:
            return
        victim = self.chance.choice(self.alive())
        misfortunes: list[Callable[[Replica], None]] = [
            self._pause_leader, self._pause_leader, self._kill, self._stop, self._outage, self._delete, self._label,
            self._jump,
        ]  # fmt: skip
        self.chance.choice(misfortunes)(victim)
        self.world.after(self.chance.expovariate(1 / 6), self.strike)

    def _pause_leader(self, victim: "Replica") -> None:
        leaders = [replica for replica in self.alive() if replica.clock() < replica.lease.fence()]
        self.pause(self.chance.choice(leaders or [victim]))

    def pause(self, victim: "Replica") -> None:
        seconds = self.chance.choice([0.5, 5, 12, 20, 40]) * self.chance.uniform(0.5, 1)
        self.tell(f"{victim.name} is paused for {seconds:.2f} s")
        self.counts["pauses"] += 1
        victim.process.is_paused = True
        self.world.after(seconds, victim.wake)

    def _kill(self, victim: "Replica") -> None:
        self.tell(f"{victim.name} is killed")
        victim.is_dead = victim.process.is_paused = True
        self.restart()

    def _stop(self, victim: "Replica") -> None:
        if not victim.process.is_paused:
            self.tell(f"{victim.name} is asked to stop")
            victim.process.call_soon(victim.task.cancel)
            self.restart()

    def _outage(self, _: "Replica") -> None:
        self.tell("the server is down")
        self.is_down = True
        self.world.after(self.chance.uniform(1, 25), self.calm)

    def _delete(self, _: "Replica") -> None:
        self.tell("somebody deletes the lease")
        self.api.objects.pop(LEASE, None)

    def _label(self, _: "Replica") -> None:
        if LEASE in self.api.objects:
            self.api.put(LEASE, self.api.objects[LEASE])

    def _jump(self, victim: "Replica") -> None:
        victim.wall_offset += timedelta(seconds=self.chance.uniform(-5000, 5000))

    def calm(self) -> None:
        self.is_down = False


class Replica:
    """A process that contends and, while it leads, writes to the ledger without any precondition."""

    def __init__(self, storm: Storm, name: str) -> None:
        chance = storm.chance
        self.name = name
        self.storm = storm
        self.process = storm.world.process(speed=chance.uniform(*SPEEDS), offset=chance.uniform(0, 1e6))
        self.clock = self.process.time
        self.wall_offset = timedelta(seconds=chance.uniform(-1e6, 1e6))
        client = Client(Wire(self), jitter=random.Random(chance.random()))  # noqa: S311 - weather, no secret
        self.lease = LeaderLease(client, "leader", "growth", name, work=client, terms=TERMS, now=self._wall)
        self.is_dead = False
        self.task = self.process.create_task(self._run())

    def _wall(self) -> datetime:
        return datetime(2026, 1, 1, tzinfo=UTC) + self.wall_offset + timedelta(seconds=self.clock())

    def wake(self) -> None:
        self.process.is_paused = self.is_dead

    async def _run(self) -> None:
        try:
            await self.lease.run(self._lead)
        except asyncio.CancelledError:
            pass
        finally:
            self.storm.tell(f"{self.name} has stopped")
            self.is_dead = True

    async def _lead(self, client: Client) -> None:
        self.storm.tell(f"{self.name} leads")
        while True:
            try:
                await client.patch(CONFIG_MAPS, "ledger", MergePatch({"data": {"by": self.name}}), "growth")
            except Fenced:
                raise
            except KubeError:
                pass
            await asyncio.sleep(0.3)


class Wire:
    """The network between one replica and the server; trips go on while the replica is paused."""

    def __init__(self, replica: Replica) -> None:
        self._replica = replica
        self._storm = replica.storm

    async def send(self, request: Request) -> Response:
        await asyncio.sleep(self._storm.chance.choice([0, 0.001, 0.2]))  # for a free connection
        if request.not_after is not None and self.clock() >= request.not_after:
            self._storm.counts["fenced"] += 1
            raise Fenced(f"{request.method} {request.path} was not sent")
        if self._storm.is_down:
            raise Unreachable("refused", sent=False)
        answer: asyncio.Future[Response] = self._replica.process.create_future()
        self._storm.world.after(self._trip(), lambda: self._arrive(request, answer))
        if not self._storm.is_calm and self._storm.chance.random() < 0.01:
            self._storm.pause(self._replica)  # while the request is under way: the worst moment of all
        try:
            async with asyncio.timeout(request.timeout_seconds):
                return await answer
        except TimeoutError:
            raise Unreachable("no answer", sent=True) from None

    def _trip(self) -> float:
        chance = self._storm.chance
        if self._storm.is_calm:
            return 0.01
        return chance.uniform(0, LONGEST_TRIP_SECONDS) if chance.random() < 0.1 else chance.uniform(0, 0.05)

    def _arrive(self, request: Request, answer: asyncio.Future[Response]) -> None:
        if self._is_lost():
            return
        if not self._storm.is_calm and self._storm.chance.random() < 0.02:
            response = Response(500, msgspec.json.encode({"reason": "InternalError"}))
        else:
            response = self._storm.arrive(request, self._replica.name)
        if not self._is_lost():
            self._storm.world.after(self._trip(), lambda: self._deliver(response, answer))

    def _is_lost(self) -> bool:
        return not self._storm.is_calm and self._storm.chance.random() < 0.03

    def _deliver(self, response: Response, answer: asyncio.Future[Response]) -> None:
        def set_result() -> None:
            if not answer.done():
                answer.set_result(response)

        self._replica.process.call_soon(set_result)

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        raise NotImplementedError("nothing here is watched")

    def clock(self) -> float:
        return self._replica.clock()

    async def close(self) -> None:
        pass
