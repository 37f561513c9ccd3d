"""A control plane to use and to hurt: ``async with LocalCluster() as cluster``."""

import asyncio
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import yaml

from growth.api.kinds import NAMESPACES, NODES
from growth.api.node import Node
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import Client, connect
from growth.kube.patches import MergePatch
from growth_lab.local_cluster import kubeconfig, state
from growth_lab.local_cluster.binaries import ensure_binaries
from growth_lab.local_cluster.components import COMPONENTS
from growth_lab.local_cluster.engine import Engine
from growth_lab.local_cluster.errors import UnknownComponent
from growth_lab.local_cluster.kubectl import Kubectl
from growth_lab.local_cluster.layout import Layout, layout_of
from growth_lab.local_cluster.nodes import KWOK_LABEL, KWOK_VALUE, kwok_node, taint
from growth_lab.local_cluster.pinned_modules import RELEASE_VARIABLE, named_sources
from growth_lab.local_cluster.progress import Progress, plain_lines
from growth_lab.local_cluster.timings import Timings

_TOKEN_LIFE = "24h"  # noqa: S105 - a duration
_NODES_PATIENCE_SECONDS = 30.0  # without any of them becoming ready
_NODES_LISTED_PER_SECOND = 5000  # so that looking does not slow down what is looked at
_POLL_SECONDS = 0.05


class LocalCluster:
    """etcd, kube-apiserver, kube-controller-manager, kube-scheduler and kwok as processes of this machine.

    A cluster of a test dies with the test's process, even with ``kill -9``; with ``dies_with_starter=False`` it stays
    until ``growth cluster down``. ``flags`` are added to a component's command line, by component.

    ``kubernetes`` is a pinned minor release such as ``1.33``, ``controllers`` that of the scheduler and the
    controller-manager if these are to be older; without ``kubernetes`` the variable ``GROWTH_KUBERNETES`` names it.
    """

    def __init__(
        self,
        name: str = "",
        *,
        kubernetes: str = "",
        controllers: str = "",
        timings: Timings | None = None,
        flags: Mapping[str, Sequence[str]] | None = None,
        dies_with_starter: bool = True,
        progress: Progress = plain_lines,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        self._environment = dict(os.environ if environment is None else environment)
        self._timings = timings or Timings()
        self._flags = {component: tuple(values) for component, values in (flags or {}).items()}
        for component in self._flags:
            if component not in COMPONENTS:
                raise UnknownComponent(component, COMPONENTS)
        self._sources = named_sources(kubernetes or self._environment.get(RELEASE_VARIABLE, ""), controllers)
        self._progress = progress
        self.layout: Layout = layout_of(name or f"test-{secrets.token_hex(4)}", self._environment)
        self._engine = Engine(self.layout, self._environment, dies_with_starter=dies_with_starter)
        self._kubectl: Kubectl | None = None
        self._clients: list[Client] = []
        self._node_count = 0

    @property
    def name(self) -> str:
        """What ``growth cluster list`` calls it."""
        return self.layout.name

    @property
    def kubeconfig(self) -> Path:
        """The administrator's kubeconfig."""
        return self.layout.kubeconfig

    @property
    def url(self) -> str:
        """Where the API server listens."""
        return kubeconfig.server_url(self._engine.plan.ports.apiserver)

    async def __aenter__(self) -> Self:
        await self.start()
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.down()

    async def start(self) -> None:
        """Find or build the binaries, start everything, return when pods can be created."""
        state.remove_leftovers(self._environment)
        binaries = await ensure_binaries(self._environment, self._progress, self._sources)
        await self._engine.start(binaries, self._timings, self._flags)
        self._kubectl = Kubectl(binaries["kubectl"], self.layout)
        self._clients.append(connect(access_from_kubeconfig(self.kubeconfig)))

    async def leave(self) -> None:
        """Close our clients and let the cluster be: for one that stays after this process."""
        while self._clients:
            await self._clients.pop().close()

    async def down(self) -> None:
        """Leave neither process nor port nor file."""
        try:
            await self.leave()
        finally:
            self._engine.end()

    @property
    def admin(self) -> Client:
        """A client that may do everything."""
        if not self._clients:
            raise RuntimeError(f"cluster {self.name!r} is not up")
        return self._clients[0]

    async def client_as(self, namespace: str, account: str) -> Client:
        """A client under that ServiceAccount (made if missing): it may do what its roles grant, and nothing else."""
        client = connect(access_from_kubeconfig(await self.kubeconfig_as(namespace, account)))
        self._clients.append(client)
        return client

    async def kubectl(self, *arguments: str, text: str = "") -> str:
        """kubectl as the administrator, with ``text`` on its standard input; returns what it printed."""
        if self._kubectl is None:
            raise RuntimeError(f"cluster {self.name!r} was not started")
        return await self._kubectl(*arguments, text=text)

    async def apply(self, manifests: Path | Sequence[Mapping[str, Any]]) -> None:
        """Apply a file, a folder or documents as the administrator, by server-side apply."""
        arguments = ("apply", "--server-side", "--force-conflicts", "--filename")
        if isinstance(manifests, Path):
            await self.kubectl(*arguments, str(manifests))
        else:
            await self.kubectl(*arguments, "-", text=yaml.safe_dump_all(manifests))

    async def add_namespace(self, name: str) -> None:
        """A namespace in which pods can be created: its default ServiceAccount is there."""
        await self.admin.create(NAMESPACES, {"metadata": {"name": name}})
        await self.kubectl("wait", "--for=create", "serviceaccount/default", f"--namespace={name}", "--timeout=30s")

    async def kubeconfig_as(self, namespace: str, account: str) -> Path:
        """A kubeconfig of that ServiceAccount (made if missing), for processes that should run under its role."""
        await self.apply(
            [
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}},
                {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": account, "namespace": namespace}},
            ]
        )
        token = await self.kubectl("create", "token", account, f"--namespace={namespace}", f"--duration={_TOKEN_LIFE}")
        user = f"{namespace}.{account}"
        path = self.layout.kubeconfig_of(user)
        port = self._engine.plan.ports.apiserver
        kubeconfig.write(path, kubeconfig.with_token(self.layout, port, user, token.strip()))
        return path

    async def add_nodes(
        self,
        count: int,
        *,
        prefix: str = "node",
        cpu: str = "4",
        memory: str = "16Gi",
        pods: int = 110,
        resources: Mapping[str, str] | None = None,
        labels: Mapping[str, str] | None = None,
        annotations: Mapping[str, str] | None = None,
        taints: Sequence[str] = (),
    ) -> list[str]:
        """Nodes that kwok plays; returns their names when pods can go there. Taints as ``key=value:NoSchedule``."""
        first, self._node_count = self._node_count, self._node_count + count
        names = [f"{prefix}-{number}" for number in range(first, first + count)]
        nodes = [
            kwok_node(
                name,
                cpu=cpu,
                memory=memory,
                pods=pods,
                resources=resources,
                labels=labels,
                annotations=annotations,
                taints=[taint(text) for text in taints],
            )
            for name in names
        ]
        await asyncio.gather(*(self.admin.create(NODES, node) for node in nodes))
        await self._wait_until_ready(names)
        return names

    async def _wait_until_ready(self, names: Sequence[str]) -> None:
        """As long as some become ready, more are waited for: how long all take depends on how many they are."""
        waiting = set(names)
        deadline = time.monotonic() + _NODES_PATIENCE_SECONDS
        while True:
            found = await self.admin.list(NODES, label_selector=f"{KWOK_LABEL}={KWOK_VALUE}")
            still = waiting - {node.metadata.name for node in found.items if node.is_ready and not _is_new(node)}
            if not still:
                return
            if len(still) < len(waiting):
                waiting, deadline = still, time.monotonic() + _NODES_PATIENCE_SECONDS
            if time.monotonic() > deadline:
                example = min(waiting)
                raise TimeoutError(f"{len(waiting)} of {len(names)} nodes do not become Ready, such as {example}")
            await asyncio.sleep(_POLL_SECONDS + len(found.items) / _NODES_LISTED_PER_SECOND)

    async def silence(self, node: str) -> None:
        """The node stops to answer, as one without power: no heartbeat, and its pods neither start nor end."""
        await self._label(node, None)

    async def revive(self, node: str) -> None:
        """The node answers again."""
        await self._label(node, KWOK_VALUE)

    async def _label(self, node: str, value: str | None) -> None:
        await self.admin.patch(NODES, node, MergePatch({"metadata": {"labels": {KWOK_LABEL: value}}}))

    async def kill(self, component: str) -> None:
        """``kill -9`` a component and wait until it is gone."""
        await self._engine.kill(component)

    async def restart(self, component: str) -> None:
        """Start a component again, on the same port and data; returns when it is healthy."""
        await self._engine.restart(component)

    def pause(self, component: str) -> None:
        """Freeze a component: its connections stay open, nothing answers."""
        self._engine.pause(component)

    def resume(self, component: str) -> None:
        """Let a paused component go on."""
        self._engine.resume(component)


def _is_new(node: Node) -> bool:
    """Whether the controller-manager has yet to take off the taint with which every node is registered."""
    return any(found.key == "node.kubernetes.io/not-ready" for found in node.spec.taints)
