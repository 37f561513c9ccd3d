"""``growth run`` as people run it: two processes under the shipped role, one leads, the other takes over."""

import asyncio
import json
import os
import signal
import sys
import time
import urllib.error
import urllib.request
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from growth.api.kinds import LEASES, NODES
from growth_lab.local_cluster import die_with_parent
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.conftest import wait_until
from tests.cluster.test_role import ACCOUNT, NAMESPACE, RBAC, install_kinds
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

LEASE = "run-test"
TERMS = {"lease-duration": "3s", "renew-deadline": "2s", "retry-period": "500ms", "lease-name": LEASE}


class Growth:
    """One ``growth run``; its log is a file of JSON lines."""

    def __init__(self, process: asyncio.subprocess.Process, log: Path) -> None:
        self.process = process
        self._log = log

    @property
    def lines(self) -> list[dict[str, str]]:
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    def text(self) -> str:
        return self._log.read_text()

    def fact(self, name: str) -> str:
        return next((str(line[name]) for line in self.lines if name in line), "")

    async def ask(self, path: str) -> tuple[int, str]:
        """What the health server says; 0 while there is none."""
        port = self.fact("port")
        if not port:
            return 0, ""

        def get() -> tuple[int, str]:
            try:
                with urllib.request.urlopen(f"http://localhost:{port}{path}", timeout=5) as answer:
                    return answer.status, answer.read().decode()
            except urllib.error.HTTPError as refusal:
                return refusal.code, refusal.read().decode()
            except OSError:
                return 0, ""

        return await asyncio.to_thread(get)

    async def leads(self) -> bool:
        return await self.ask("/readyz") == (200, "ok: leader\n")

    async def end(self, number: signal.Signals) -> float:
        """Send the signal; returns how long it took to end."""
        started = time.monotonic()
        self.process.send_signal(number)
        await asyncio.wait_for(self.process.wait(), 30)
        return time.monotonic() - started


@asynccontextmanager
async def running(kubeconfig: Path, log: Path, *flags: str) -> AsyncGenerator[Growth]:
    terms = [f"--leader-election-{name}={value}" for name, value in TERMS.items()]
    with log.open("wb") as output:
        process = await asyncio.create_subprocess_exec(
            *(sys.executable, die_with_parent.__file__, str(os.getpid())),
            *(sys.executable, "-m", "growth", "run", "--kubeconfig", str(kubeconfig), "--health-port=0"),
            *(*terms, *flags),
            stdout=output,
            stderr=output,
            cwd=ROOT,
        )
    try:
        yield Growth(process, log)
    finally:
        if process.returncode is None:
            process.kill()
        await process.wait()


async def test_one_leads_killed_the_other_takes_over_and_ends_cleanly(
    control_plane: LocalCluster, tmp_path: Path
) -> None:
    await control_plane.apply(RBAC)
    await install_kinds(control_plane)
    kubeconfig = await control_plane.kubeconfig_as(NAMESPACE, ACCOUNT)
    async with (
        running(kubeconfig, tmp_path / "first.log") as first,
        running(kubeconfig, tmp_path / "second.log") as second,
    ):

        async def someone_leads() -> bool:
            return await first.leads() or await second.leads()

        await wait_until(someone_leads, "one of two replicas leads")
        leader, follower = (first, second) if await first.leads() else (second, first)
        assert await leader.ask("/healthz") == (200, "ok\n")

        async def follows() -> bool:
            return await follower.ask("/readyz") == (200, f"ok: follower of {leader.fact('identity')}\n")

        await wait_until(follows, "the other one follows it")
        assert 'growth_pass_seconds_count{role="leader"}' in (await leader.ask("/metrics"))[1]
        await leader.end(signal.SIGKILL)
        seconds = await wait_until(follower.leads, "the follower took over", 15)
        assert seconds > 1  # not before the lease of the killed one ran out
        # What happens now is seen, and no more: nothing that this leader could do exists yet.
        name = "run-test"
        await control_plane.admin.create(NODES, {"metadata": {"name": name}})

        async def is_seen() -> bool:
            nodes = len((await control_plane.admin.list(NODES)).items)
            return f"growth_nodes {float(nodes)}" in (await follower.ask("/metrics"))[1]

        await wait_until(is_seen, "the new node is in its World")
        await control_plane.admin.delete(NODES, name)
        assert await follower.end(signal.SIGTERM) < 10
        assert follower.process.returncode == 0, follower.text()
        assert follower.lines[-1]["message"] == "stopped"
        lease = await control_plane.admin.get(LEASES, LEASE, NAMESPACE)
        assert lease.spec.holder_identity == ""


async def test_a_role_without_its_rights_is_one_sentence(control_plane: LocalCluster, tmp_path: Path) -> None:
    kubeconfig = await control_plane.kubeconfig_as("default", "nobody-special")
    async with running(kubeconfig, tmp_path / "log") as growth:
        assert await asyncio.wait_for(growth.process.wait(), 30) == 2
        sentence = growth.text().splitlines()[-1]
        assert sentence.startswith("Error: the role lacks the verb 'watch' on ")
        assert "Traceback" not in growth.text()
