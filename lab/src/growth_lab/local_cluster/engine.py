"""The five processes of one cluster: bring them up, hurt them, end them."""

import asyncio
import datetime as dt
import os
import signal
import ssl
import time
from collections.abc import Mapping
from pathlib import Path

import msgspec

from growth_lab.local_cluster import kubeconfig, process, state
from growth_lab.local_cluster.certificates import USERS, write_certificates
from growth_lab.local_cluster.components import COMPONENTS, Health, Plan, command, health
from growth_lab.local_cluster.errors import StartFailed, UnknownComponent
from growth_lab.local_cluster.http_health import admin_tls, is_well
from growth_lab.local_cluster.layout import Layout
from growth_lab.local_cluster.ports import free_ports
from growth_lab.local_cluster.state import Record
from growth_lab.local_cluster.timings import Timings

_PATIENCE_SECONDS = 60.0
_POLL_SECONDS = 0.05  # each question is a TLS handshake for a server that is busy starting
_GONE_POLL_SECONDS = 0.01
_LOG_TAIL_LINES = 8

# Pods can be created as soon as this exists; the controller-manager makes it, so it is the last thing to wait for.
_DEFAULT_ACCOUNT = "/api/v1/namespaces/default/serviceaccounts/default"


class Engine:
    """Start with ``start``; after a failure or a cancellation on the way, nothing is left."""

    def __init__(self, layout: Layout, environment: Mapping[str, str], *, dies_with_starter: bool) -> None:
        self.layout = layout
        self._environment = environment
        self._record = Record(
            name=layout.name,
            created_at=dt.datetime.now(dt.UTC).isoformat(timespec="seconds"),
            starter=process.this_process(),
            dies_with_starter=dies_with_starter,
        )
        self._tls: ssl.SSLContext | None = None

    @property
    def plan(self) -> Plan:
        """How the components were started."""
        if self._record.plan is None:
            raise RuntimeError(f"cluster {self.layout.name!r} was not started")
        return self._record.plan

    async def start(self, binaries: Mapping[str, Path], timings: Timings, flags: Mapping[str, tuple[str, ...]]) -> None:
        """Claim the name, make keys, start everything, return when pods can be created."""
        state.claim(self.layout)
        try:
            self._prepare(binaries, timings, flags)
            # The scheduler and the controller-manager look for the API server once a second; kwok waits longer after
            # each failure. Started after it is ready, all three are ready sooner.
            for component in ("etcd", "kube-apiserver"):
                self._spawn(component)
            await self.wait_until_healthy("kube-apiserver")
            for component in ("kube-controller-manager", "kube-scheduler", "kwok"):
                self._spawn(component)
            await asyncio.gather(
                *(self.wait_until_healthy(component) for component in COMPONENTS),
                self._wait_until(
                    Health(self.plan.ports.apiserver, _DEFAULT_ACCOUNT, is_tls=True), "kube-controller-manager"
                ),
            )
            self._change(is_ready=True)
        except BaseException:
            self.end()
            raise

    def end(self) -> None:
        """Leave neither process nor port nor file; twice is once."""
        state.end(self.layout, self._record)

    async def kill(self, component: str) -> None:
        """``kill -9``, and wait until it is gone."""
        running = self._running(component)
        process.send(running, signal.SIGKILL)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while process.is_alive(running):
            if time.monotonic() > deadline:
                raise TimeoutError(f"{component} (pid {running.pid}) ignores SIGKILL")
            await asyncio.sleep(_GONE_POLL_SECONDS)

    async def restart(self, component: str) -> None:
        """Start it again on the same port and data (killing it first if it lives) and wait until it is healthy."""
        await self.kill(component)
        self._spawn(component)
        await self.wait_until_healthy(component)

    def pause(self, component: str) -> None:
        """Freeze it: connections stay open, nothing answers."""
        process.send(self._running(component), signal.SIGSTOP)

    def resume(self, component: str) -> None:
        """Let it go on where it was frozen."""
        process.send(self._running(component), signal.SIGCONT)

    async def wait_until_healthy(self, component: str) -> None:
        """Return when the component says it is well; raise if it ended or takes more than a minute."""
        await self._wait_until(health(component, self.plan.ports), component)

    async def _wait_until(self, answer: Health, component: str) -> None:
        self._tls = self._tls or admin_tls(self.layout)
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not await is_well(answer, self._tls):
            if not process.is_alive(self._running(component)):
                raise StartFailed(component, "ended while it was starting", self._log_tail(component))
            if time.monotonic() > deadline:
                what = f"did not answer {answer.path} on port {answer.port} within {_PATIENCE_SECONDS:.0f} s"
                raise StartFailed(component, what, self._log_tail(component))
            await asyncio.sleep(_POLL_SECONDS)

    def _prepare(self, binaries: Mapping[str, Path], timings: Timings, flags: Mapping[str, tuple[str, ...]]) -> None:
        self._change()  # from here on `list` can say whose folder this is
        with state.choosing_ports(self._environment) as taken:
            plan = Plan(
                layout=self.layout,
                ports=free_ports(taken),
                timings=timings,
                binaries=dict(binaries),
                flags=dict(flags),
            )
            self._change(plan=plan)
        write_certificates(self.layout)
        for user in USERS:
            content = kubeconfig.with_certificate(self.layout, plan.ports.apiserver, user)
            kubeconfig.write(self.layout.kubeconfig_of(user), content)
        self.layout.home.mkdir(mode=0o700)

    def _spawn(self, component: str) -> None:
        environment = {
            "PATH": os.environ.get("PATH", ""),
            "HOME": str(self.layout.home),
            "TMPDIR": str(self.layout.home),
            state.MARK: str(self.layout.root),
        }
        started = process.start(
            command(component, self.plan),
            self.layout.log(component),
            environment,
            dies_with_starter=self._record.dies_with_starter,
        )
        self._change(processes={**self._record.processes, component: started})

    def _running(self, component: str) -> process.Process:
        if component not in COMPONENTS:
            raise UnknownComponent(component, COMPONENTS)
        return self._record.processes[component]

    def _change(self, **fields: object) -> None:
        self._record = msgspec.structs.replace(self._record, **fields)
        state.save(self.layout, self._record)

    def _log_tail(self, component: str) -> str:
        try:
            lines = self.layout.log(component).read_text(errors="replace").splitlines()
        except FileNotFoundError:
            return ""
        return "\n".join(lines[-_LOG_TAIL_LINES:])
