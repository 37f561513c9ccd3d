"""A Hetzner in a box as a process of its own: its servers are nodes of a real cluster, and lose power on order."""

import asyncio
import os
import re
import sys
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any, Final

import aiohttp

from growth_lab.hetzner_sandbox.sandbox import TOKEN
from growth_lab.local_cluster import process
from growth_lab.local_cluster.cluster import LocalCluster

_START_SECONDS: Final = 30.0


class SandboxProcess:
    """One ``growth hetzner-sandbox --boot kwok``, and the way to its control calls."""

    def __init__(self, running: process.Process, log: Path, session: aiohttp.ClientSession) -> None:
        self._running, self._log, self._session = running, log, session
        self.endpoint = ""

    @property
    def pid(self) -> int:
        return self._running.pid

    async def wait_until_open(self) -> None:
        """Until it said where it listens."""
        async with asyncio.timeout(_START_SECONDS):
            while not self.endpoint:
                said = self._log.read_text()
                if not process.is_alive(self._running):
                    raise RuntimeError(f"growth hetzner-sandbox ended; it said:\n{said}")
                if found := re.search(r"HCLOUD_ENDPOINT=(\S+)", said):
                    self.endpoint = found[1]
                else:
                    await asyncio.sleep(0.05)

    async def cut_power(self, server: str) -> None:
        """From now on this server is off; its node falls silent when the sandbox next looks, 0.2 s later at most."""
        await self._order("power_cut", server)

    async def remove(self, server: str) -> None:
        """From now on this server does not exist, and Growth did not ask for it."""
        await self._order("vanish", server)

    async def power_on(self, server: str) -> None:
        """Start it, as a person does in the provider's console; its node is heard of once it has booted."""
        authorized = {"Authorization": f"Bearer {TOKEN}"}
        async with self._session.get(f"{self.endpoint}/servers?name={server}", headers=authorized) as answer:
            number = (await answer.json())["servers"][0]["id"]
        start = f"{self.endpoint}/servers/{number}/actions/poweron"
        async with self._session.post(start, headers=authorized) as answer:
            if answer.status != 201:
                raise RuntimeError(f"the sandbox did not start {server}: {await answer.text()}")

    async def calls(self) -> Counter[str]:
        """How often what was called so far, by whomever."""
        async with self._session.get(self._control("")) as answer:
            told: dict[str, Any] = await answer.json()
        return Counter(told["calls"])

    async def _order(self, kind: str, server: str) -> None:
        async with self._session.post(self._control("/faults"), json={"kind": kind, "server": server}) as answer:
            if answer.status != 201:
                raise RuntimeError(f"the sandbox refused {kind} of {server}: {await answer.text()}")

    def _control(self, path: str) -> str:
        return f"{self.endpoint.removesuffix('/v1')}/_sandbox{path}"


@asynccontextmanager
async def sandbox_running(cluster: LocalCluster, boot_seconds: float) -> AsyncGenerator[SandboxProcess]:
    """Start it beside the cluster; killed at the end. Its log lies among the cluster's."""
    log = cluster.layout.log("hetzner-sandbox")
    options = ("--port", "0", "--boot", "kwok", "--boot-seconds", f"{boot_seconds:g}")
    command = (
        sys.executable,
        "-u",
        "-m",
        "growth",
        "hetzner-sandbox",
        *options,
        "--kubeconfig",
        str(cluster.kubeconfig),
    )
    running = process.start(command, log, dict(os.environ), dies_with_starter=True)
    try:
        async with aiohttp.ClientSession() as session:
            sandbox = SandboxProcess(running, log, session)
            await sandbox.wait_until_open()
            yield sandbox
    finally:
        process.end_all([running])
