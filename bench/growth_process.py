"""Growth as a process of its own, as people run it: under the shipped role, with the provider of played machines.

``install`` and ``growth_started`` are for those who have settings of their own, or start it more than once.
"""

import asyncio
import json
import os
import signal
import sys
import urllib.request
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any, Final

import yaml

from bench.meter import cpu_seconds_of, peak_rss_mb_of, rss_mb_of
from growth.api.crd import definitions
from growth.api.duration import format_duration
from growth.api.kinds import LEASES
from growth.api.settings.model import Settings
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.local_cluster import process
from growth_lab.local_cluster.cluster import LocalCluster

NO_DELAY: Final = "{provider: kwok, extends: kwok, bootDelay: 0s}"
"""The catalogue that comes with Growth, with machines that are there at once."""

_START_SECONDS: Final = 60.0
_DEFAULTS: Final = Settings()


class GrowthProcess:
    """One ``growth run`` that lives no longer than we do."""

    def __init__(self, running: process.Process, log: Path) -> None:
        self._running, self._log = running, log

    @property
    def pid(self) -> int:
        return self._running.pid

    def check(self) -> None:
        """Raise if it ended."""
        if not process.is_alive(self._running):
            raise RuntimeError(f"growth run ended; {self.last_words()}")

    def last_words(self) -> str:
        """The end of its log, for whoever wonders why nothing happens."""
        return "\n".join(["it said last:", *self._log.read_text().splitlines()[-10:]])

    def text(self) -> str:
        """Its log as it was written, with what is none of its lines, such as a traceback."""
        return self._log.read_text()

    def peak_rss_mb(self) -> float:
        return peak_rss_mb_of(self._running.pid)

    def rss_mb(self) -> float:
        return rss_mb_of(self._running.pid)

    def cpu_seconds(self) -> float:
        return cpu_seconds_of(self._running.pid)

    def lines(self) -> list[dict[str, Any]]:
        """Its log."""
        return [json.loads(line) for line in self._log.read_text().splitlines() if line.startswith("{")]

    async def metrics(self) -> str:
        """What /metrics says; empty while there is nobody to ask."""
        port = next((line["port"] for line in reversed(self.lines()) if "port" in line), None)
        return await asyncio.to_thread(_page, f"http://localhost:{port}/metrics") if port else ""

    async def stop(self) -> None:
        """Ask it to end, which gives the Lease back, and wait until it has."""
        process.send(self._running, signal.SIGTERM)
        async with asyncio.timeout(_START_SECONDS):
            while process.is_alive(self._running):  # noqa: ASYNC110 - nobody tells
                await asyncio.sleep(0.1)

    def kill(self) -> None:
        """End it without a farewell, and wait until it is gone."""
        process.end_all([self._running])

    async def wait_until_ready(self) -> None:
        """Until it has read the cluster."""
        async with asyncio.timeout(_START_SECONDS):
            while not any(line["message"].startswith("the cluster is read") for line in self.lines()):
                self.check()
                await asyncio.sleep(0.1)

    async def wait_until_at_work(self, provider: str) -> None:
        """Until it leads and its provider has said what it sells."""
        async with asyncio.timeout(_START_SECONDS):
            while True:
                text = await self.metrics()
                if "growth_leader 1.0" in text and f'growth_provider_up{{provider="{provider}"}} 1.0' in text:
                    return
                self.check()
                await asyncio.sleep(0.1)


@asynccontextmanager
async def growth_running(
    cluster: LocalCluster, *, read_every: timedelta = _DEFAULTS.providers.read_every
) -> AsyncGenerator[GrowthProcess]:
    """Install it and start it with machines that kwok plays."""
    kubeconfig = await install(cluster)
    catalogue = cluster.layout.root / "catalogue.yaml"
    catalogue.write_text(NO_DELAY)
    content = {
        "providers": {"enabled": "kwok", "readEvery": format_duration(read_every)},
        "kwok": {"catalogue": str(catalogue)},
    }
    async with growth_started(cluster, kubeconfig, content) as growth:
        yield growth


async def install(cluster: LocalCluster) -> Path:
    """Kinds, roles and Lease; the kubeconfig under which Growth runs."""
    await cluster.apply(definitions())
    await cluster.apply(shipped_roles())
    await cluster.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=30s")
    kubeconfig = await cluster.kubeconfig_as(*ACCOUNT)
    # Nobody ever held it, so nobody is waited for: `growth manifests` brings it like this.
    lease = {"metadata": {"name": _DEFAULTS.leader_election.lease_name}, "spec": {}}
    await cluster.admin.create(LEASES, lease, ACCOUNT[0])
    return kubeconfig


@asynccontextmanager
async def growth_started(
    cluster: LocalCluster, kubeconfig: Path, content: Mapping[str, Any]
) -> AsyncGenerator[GrowthProcess]:
    """Start it with these settings; killed at the end, for its cluster goes, too."""
    growth = start(cluster, kubeconfig, content)
    try:
        await growth.wait_until_at_work(content["providers"]["enabled"])
        yield growth
    finally:
        growth.kill()


def start(
    cluster: LocalCluster,
    kubeconfig: Path,
    content: Mapping[str, Any],
    *,
    name: str = "growth",
    only: str = "",
    source: Path | None = None,
) -> GrowthProcess:
    """Start it with these settings, under a name for its files, which lie among the cluster's.

    ``source`` is the folder of another version's packages; None is this version.
    """
    own = {"kube": {"kubeconfig": str(kubeconfig)}, "health": {"address": "localhost", "port": 0}}
    settings, log = cluster.layout.root / f"{name}.yaml", cluster.layout.log(name)
    settings.write_text(yaml.safe_dump({**own, **content}))
    command = (sys.executable, "-m", "growth", "run", "--settings", str(settings), *(("--only", only) if only else ()))
    # What this shell says about settings is not what is measured.
    environment = {name: value for name, value in os.environ.items() if not name.startswith("GROWTH_")}
    if source is not None:
        environment["PYTHONPATH"] = str(source)
    return GrowthProcess(process.start(command, log, environment, dies_with_starter=True), log)


def _page(url: str) -> str:
    try:
        with urllib.request.urlopen(url, timeout=5) as answer:  # noqa: S310 - our own process
            return answer.read().decode()
    except OSError:
        return ""
