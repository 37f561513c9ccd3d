"""What is bought and given back, written down by somebody who only looks on: at the provider's own records of machines
(kwok's ConfigMaps), at requests, removals, nodes and pods, each through a watch of its own.
"""

import asyncio
import sys
import time
from collections import Counter
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from typing import Final

from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, NODES, PODS
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.taints import STARTING
from growth.cloud.kwok.machine_record import SELECTOR, machine_name
from growth.kube.client import Client
from growth.kube.informer import Informer

# Between a plan and its requests a pod may find room that somebody left just then, or be deleted. One that had its
# place, or was gone, for longer than this when a machine was requested for it did not need that machine.
_RACE_SECONDS: Final = 5.0


class Ledger:
    """Everything that was ever bought, and who needed it."""

    def __init__(self) -> None:
        self.sent: dict[str, float] = {}
        """By name, when each pod was created, by this clock."""
        self.waits: list[float] = []
        """Of each pod that was bound, how long that took."""
        self.launched: Counter[str] = Counter()
        """By name, how many machines were ever made."""
        self.given_back = 0
        self.nodes: set[str] = set()
        self._too_many: list[str] = []
        self._machines: set[str] = set()
        self._requests: dict[str, NodeRequest] = {}
        self._removals: set[str] = set()
        self._opened: dict[str, int] = {}
        """By name, the version of the world in which each node was first seen open."""
        self._conflicts: list[tuple[str, str, int]] = []
        self._used: set[str] = set()
        self._settled: dict[str, float] = {}

    @property
    def duplicates(self) -> list[str]:
        """One sentence for each machine too many.

        A node that is open gives its room to whoever is first, so nobody has a place there any more. Nodes and requests
        are watched apart; which was first is told by the server's versions.
        """
        never = sys.maxsize
        doubled = [one for one in self._conflicts if self._opened.get(one[1], never) > one[2]]
        return [*self._too_many, *(f"{name} is for pods that have places on {other}" for name, other, _ in doubled)]

    @property
    def unused(self) -> int:
        """Machines that nobody ever used: their pods found other room after they were requested."""
        return len(self.launched.keys() - self._used)

    @property
    def leaked(self) -> list[str]:
        """Machines that have neither request, nor node, nor removal."""
        return sorted(self._machines - self._requests.keys() - self.nodes - self._removals)

    @property
    def is_closed(self) -> bool:
        """Whether everything that was bought is gone."""
        return not (self.nodes or self._requests or self._removals or self._machines)

    def hear_of_pods(self, changes: list[Change[Pod]]) -> None:
        now = time.monotonic()
        for change in changes:
            pod = change.now
            meta = pod.metadata
            if not pod.node_name and change.happened is not ChangeType.DELETED and meta.deletion_timestamp is None:
                continue
            self._settled.setdefault(meta.uid, now)
            if pod.node_name:
                self._used.add(pod.node_name)
                if (sent := self.sent.pop(meta.name, None)) is not None:
                    self.waits.append(now - sent)

    def hear_of_nodes(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            node, name = change.now, change.now.metadata.name
            if POOL not in node.metadata.labels:
                continue
            _keep(self.nodes, name, change.happened)
            if all(taint.key != STARTING for taint in node.spec.taints):
                self._opened.setdefault(name, node.metadata.resource_version)

    def hear_of_removals(self, changes: list[Change[NodeRemovalRequest]]) -> None:
        for change in changes:
            _keep(self._removals, change.now.node_name, change.happened)

    def hear_of_machines(self, changes: list[Change[ConfigMap]]) -> None:
        for change in changes:
            name = machine_name(change.now)
            _keep(self._machines, name, change.happened)
            if change.happened is ChangeType.DELETED:
                self.given_back += 1
            elif change.happened is ChangeType.ADDED:
                self.launched[name] += 1
                if self.launched[name] > 1:
                    self._too_many.append(f"{name} was bought again")

    def hear_of_requests(self, changes: list[Change[NodeRequest]]) -> None:
        for change in changes:
            request, name = change.now, change.now.metadata.name
            if change.happened is ChangeType.DELETED:
                self._requests.pop(name, None)
                continue
            before = set(change.before.planned_for) if change.before is not None else set[str]()
            self._check_places(request, set(request.planned_for) - before)
            if change.happened is ChangeType.ADDED:
                self._check_need(request)
            self._requests[name] = request

    def _check_places(self, request: NodeRequest, pods: set[str]) -> None:
        """No pod has a place on two machines that are coming."""
        name, version = request.metadata.name, request.metadata.resource_version
        for other, coming in self._requests.items():
            is_coming = coming.status.phase in ("Pending", "Provisioning")
            if other != name and is_coming and not pods.isdisjoint(coming.planned_for):
                self._conflicts.append((name, other, version))

    def _check_need(self, request: NodeRequest) -> None:
        """Somebody waits for a machine that is requested."""
        long_ago = time.monotonic() - _RACE_SECONDS
        if all(self._settled.get(uid, long_ago + 1) < long_ago for uid in request.planned_for):
            self._too_many.append(f"{request.metadata.name} is for nobody who waits")


def _keep(names: set[str], name: str, happened: ChangeType) -> None:
    if happened is ChangeType.DELETED:
        names.discard(name)
    else:
        names.add(name)


@asynccontextmanager
async def bookkeeping(client: Client, pods_in: str, machines_in: str) -> AsyncGenerator[Ledger]:
    """A ledger that is kept as long as the context lasts."""
    ledger = Ledger()
    informers = (
        Informer(client, PODS, ledger.hear_of_pods, namespace=pods_in),
        Informer(client, NODES, ledger.hear_of_nodes),
        Informer(client, NODE_REQUESTS, ledger.hear_of_requests),
        Informer(client, NODE_REMOVAL_REQUESTS, ledger.hear_of_removals),
        Informer(client, CONFIG_MAPS, ledger.hear_of_machines, namespace=machines_in, label_selector=SELECTOR),
    )
    looking = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        for informer in informers:
            await informer.synced.wait()
        yield ledger
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
