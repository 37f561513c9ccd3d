"""A contender on virtual time, its small server, and what became of its work."""

import asyncio
from collections.abc import Callable, Coroutine
from datetime import UTC, datetime, timedelta
from typing import Any

from growth.api.kinds import CONFIG_MAPS, LEASES
from growth.kube.client import Client
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth.kube.patches import MergePatch
from growth_lab.simulator.virtual_loop import run_virtually
from tests.kube.fake_api import FakeApi, FakeSend

TERMS = LeaseTerms(lease_duration_seconds=15, renew_deadline_seconds=10, retry_period_seconds=2)
PATH = LEASES.path("leader", "growth")
LEDGER = CONFIG_MAPS.path("ledger", "growth")
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


class Replica:
    """A contender with its own way to the server, and what became of its work."""

    def __init__(self, api: FakeApi, name: str = "a", *, terms: LeaseTerms = TERMS) -> None:
        self.clock = asyncio.get_running_loop().time
        self.send = FakeSend(api, self.clock)
        self.client = Client(self.send)
        self.now: Callable[[], datetime] = lambda: NOON + timedelta(seconds=self.clock())
        self.lease = LeaderLease(self.client, "leader", "growth", name, work=self.client, terms=terms, now=self._wall)
        self.leads = asyncio.Event()
        self.terms: list[Client] = []
        self.task: asyncio.Task[None] | None = None

    def _wall(self) -> datetime:
        return self.now()

    async def lead(self, client: Client) -> None:
        self.terms.append(client)
        self.leads.set()
        try:
            await asyncio.Event().wait()
        finally:
            self.leads.clear()

    def start(self, lead: Callable[[Client], Coroutine[Any, Any, None]] | None = None) -> asyncio.Task[None]:
        self.task = asyncio.create_task(self.lease.run(lead or self.lead))
        return self.task

    async def leads_within(self, seconds: float) -> bool:
        try:
            await asyncio.wait_for(self.leads.wait(), seconds)
        except TimeoutError:
            return False
        return True


def an_api(holder: str = "", *, renewed: datetime = NOON, duration: int = 15) -> FakeApi:
    api = FakeApi()
    api.put(LEDGER, {"metadata": {"name": "ledger"}})
    spec = {"holderIdentity": holder, "renewTime": renewed, "leaseDurationSeconds": duration, "leaseTransitions": 4}
    api.put(PATH, {"metadata": {"name": "leader"}, "spec": spec if holder else {}})
    return api


def spec_of(api: FakeApi) -> dict[str, Any]:
    return api.objects[PATH]["spec"]


async def write(client: Client, value: str = "x") -> None:
    await client.patch(CONFIG_MAPS, "ledger", MergePatch({"data": {"value": value}}), "growth")


def virtual(test: Callable[[], Coroutine[Any, Any, None]]) -> Callable[[], None]:
    def run() -> None:
        run_virtually(test())

    run.__name__ = test.__name__
    return run
