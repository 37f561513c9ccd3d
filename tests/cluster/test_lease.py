"""Two real processes, one lease, a real API server: a leader that was stopped and woken writes nothing any more.

Who wrote when is judged by the server's own order, the resource versions of what it stored, and by no clock.
"""

import asyncio
import os
import random
import signal
import sys
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from growth.api.change import Change
from growth.api.core import ConfigMap, Lease
from growth.api.kinds import CONFIG_MAPS, LEASES
from growth.kube.client import Client
from growth.kube.informer import Informer
from growth_lab.local_cluster import die_with_parent
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.conftest import wait_until
from tests.cluster.lease_replica import BARE, LEASE, LEDGER, TERMS
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

ROUNDS = 4


class Witness:
    """Everything that the server stored, in its own order."""

    def __init__(self) -> None:
        self.takeovers: list[tuple[int, str]] = []
        self.writes: list[tuple[int, str]] = []

    def lease_changed(self, changes: list[Change[Lease]]) -> None:
        for change in changes:
            holder = change.now.spec.holder_identity
            if not self.takeovers or self.takeovers[-1][1] != holder:
                self.takeovers.append((change.now.metadata.resource_version, holder))

    def ledger_changed(self, changes: list[Change[ConfigMap]]) -> None:
        for change in changes:
            if writer := change.now.data.get("by"):
                self.writes.append((change.now.metadata.resource_version, writer))

    @property
    def holder(self) -> str:
        return self.takeovers[-1][1] if self.takeovers else ""

    def writes_of_this_term(self) -> int:
        return sum(version > self.takeovers[-1][0] for version, _ in self.writes)

    def late_writes(self) -> list[tuple[int, str, str]]:
        """Writes by another one than the lease named at that version: version, writer, holder."""
        late: list[tuple[int, str, str]] = []
        for version, writer in self.writes:
            holder = [name for taken_at, name in self.takeovers if taken_at < version][-1]
            if writer != holder:
                late.append((version, writer, holder))
        return late


class ReplicaProcess:
    """A replica in a process of its own, which dies with ours; its log is a file."""

    def __init__(self, identity: str, process: asyncio.subprocess.Process, log: Path) -> None:
        self.identity = identity
        self.process = process
        self._log = log

    def said(self, what: str) -> int:
        return self._log.read_text().splitlines().count(what)

    def signal(self, number: signal.Signals) -> None:
        self.process.send_signal(number)


@asynccontextmanager
async def replicas(
    cluster: LocalCluster, namespace: str, logs: Path, *identities: str
) -> AsyncGenerator[dict[str, ReplicaProcess]]:
    started: dict[str, ReplicaProcess] = {}
    try:
        for identity in identities:
            log = logs / f"{identity}.log"
            with log.open("wb") as output:
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, die_with_parent.__file__, str(os.getpid())),
                    *(sys.executable, "-m", "tests.cluster.lease_replica"),
                    *(str(cluster.kubeconfig), namespace, identity),
                    stdout=output,
                    stderr=output,
                    cwd=ROOT,
                )
            started[identity] = ReplicaProcess(identity, process, log)
        yield started
    finally:
        for replica in started.values():
            if replica.process.returncode is None:
                replica.process.kill()
            await replica.process.wait()


@asynccontextmanager
async def witness_of(client: Client, namespace: str) -> AsyncGenerator[Witness]:
    witness = Witness()
    informers = [
        Informer(client, LEASES, witness.lease_changed, namespace=namespace),
        Informer(client, CONFIG_MAPS, witness.ledger_changed, namespace=namespace),
    ]
    tasks = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        for informer in informers:
            await asyncio.wait_for(informer.synced.wait(), 10)
        yield witness
    finally:
        for task in tasks:
            task.cancel()
        await asyncio.wait(tasks)
        assert [informer.relists for informer in informers] == [1, 1], "the witness looked away"


async def prepare(cluster: LocalCluster, namespace: str) -> None:
    """A free lease, as the chart ships it, and what the leader writes to."""
    await cluster.admin.create(LEASES, {"metadata": {"name": LEASE}, "spec": {}}, namespace)
    for name in (LEDGER, BARE):
        await cluster.admin.create(CONFIG_MAPS, {"metadata": {"name": name}}, namespace)


async def test_a_leader_that_is_stopped_past_its_lease_and_woken_writes_nothing_any_more(
    control_plane: LocalCluster, namespace: str, tmp_path: Path
) -> None:
    seed = random.SystemRandom().getrandbits(32)
    chance = random.Random(seed)  # noqa: S311 - moments, no secret
    print(f"seed {seed}")  # noqa: T201 - shown if it fails
    await prepare(control_plane, namespace)
    async with (
        witness_of(control_plane.admin, namespace) as witness,
        replicas(control_plane, namespace, tmp_path, "one", "two") as both,
    ):

        async def is_at_work() -> bool:
            return witness.holder in both and witness.writes_of_this_term() > 20

        for number in range(ROUNDS):
            await wait_until(is_at_work, "somebody leads and writes")
            stopped = both[witness.holder]
            ended_before = stopped.said("leads no more")
            await asyncio.sleep(chance.uniform(0, 1))
            # At random moments; the last time it stops itself, in the worst one.
            stopped.signal(signal.SIGUSR1 if number == ROUNDS - 1 else signal.SIGSTOP)

            async def other_is_at_work(stopped: ReplicaProcess = stopped) -> bool:
                return witness.holder != stopped.identity and await is_at_work()

            await wait_until(other_is_at_work, "the other one takes over and writes")
            stopped.signal(signal.SIGCONT)

            async def has_noticed(stopped: ReplicaProcess = stopped, ended_before: int = ended_before) -> bool:
                return stopped.said("leads no more") > ended_before

            await wait_until(has_noticed, "the woken one notices")
        assert sum(replica.said("the fence held") for replica in both.values()) >= 1
        written = witness.writes_of_this_term()

        async def goes_on() -> bool:
            return witness.writes_of_this_term() > written + 20

        await wait_until(goes_on, "the last leader goes on writing")
    assert witness.late_writes() == [], f"seed {seed}"
    assert [holder for _, holder in witness.takeovers if holder].count("one") >= ROUNDS // 2
    assert len(witness.takeovers) == ROUNDS + 2, "free, then one more holder in each round"
    assert "by" not in (await control_plane.admin.get(CONFIG_MAPS, BARE, namespace)).data, "the fence let a write pass"


async def test_a_clean_stop_hands_over_at_once_and_a_crash_when_the_lease_runs_out(
    control_plane: LocalCluster, namespace: str, tmp_path: Path
) -> None:
    await prepare(control_plane, namespace)
    async with (
        witness_of(control_plane.admin, namespace) as witness,
        replicas(control_plane, namespace, tmp_path, "one", "two", "three") as alive,
    ):

        async def is_at_work() -> bool:
            return witness.holder in alive and witness.writes_of_this_term() > 5

        await wait_until(is_at_work, "somebody leads and writes")
        leader = alive.pop(witness.holder)
        leader.signal(signal.SIGTERM)
        handed_over = await wait_until(is_at_work, "another one takes over")
        await leader.process.wait()
        leader = alive.pop(witness.holder)
        leader.signal(signal.SIGKILL)
        ran_out = await wait_until(is_at_work, "the third one takes over")
    print(f"after a clean stop {handed_over:.2f} s, after a crash {ran_out:.2f} s")  # noqa: T201 - for the record
    assert handed_over < TERMS.lease_duration_seconds / 2
    assert witness.late_writes() == []
