"""What is seen of a takeover, change by change, so that a leader is killed at the very instant of a condition."""

import asyncio
from collections import Counter
from collections.abc import AsyncGenerator, Callable
from contextlib import asynccontextmanager
from datetime import datetime
from typing import Final

from bench.failover_cluster import NAMESPACE
from growth.api.change import Change, ChangeType
from growth.api.core import ConfigMap, Lease
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS, TimelineStep, timelines_in
from growth.api.kinds import CONFIG_MAPS, LEASES, NODES, PODS
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.out_of_service import out_of_service_taint
from growth.api.pod import Pod
from growth.kube.client import Client
from growth.kube.informer import Informer
from growth.run.shipped_manifests import ACCOUNT

WEB: Final = "web"
"""Label ``app`` of the Deployment's pods."""
_LEASE: Final = "growth"


class Sight:
    """Nodes, pods, requests, timelines and the leader, as the watches report them."""

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.web: dict[str, Pod] = {}
        """Pods of the Deployment that exist, by uid."""
        self.web_uids: set[str] = set()
        """Of all that ever existed."""
        self.requests: dict[str, NodeRequest] = {}
        """By uid, each as it was seen last; those that are deleted, too."""
        self.timelines: dict[str, tuple[TimelineStep, ...]] = {}
        self.taints: Counter[str] = Counter()
        """How often each node went out of service."""
        self.leader = ""
        """Identity of the replica that holds the Lease."""
        self._condition: Callable[[], bool] | None = None
        self._effect: Callable[[], None] = lambda: None

    def at_once(self, condition: Callable[[], bool], effect: Callable[[], None]) -> None:
        """Call ``effect`` within the change that makes the condition hold, once."""
        self._condition, self._effect = condition, effect
        self._look()

    def noted(self, node: str, after: datetime) -> list[str]:
        """The steps in a node's timeline since then."""
        return [entry.what for entry in self.timelines.get(node, ()) if entry.at > after]

    def is_out(self, node: str) -> bool:
        """Whether this node exists and is out of service."""
        found = self.nodes.get(node)
        return found is not None and out_of_service_taint(found) is not None

    def summary(self) -> str:
        """What there is now, for the message of a wait that timed out."""
        nodes = {name: [taint.key for taint in node.spec.taints] for name, node in sorted(self.nodes.items())}
        requests = {one.metadata.name: one.status.phase for one in self.requests.values()}
        steps = {name: [entry.what for entry in entries] for name, entries in self.timelines.items()}
        return f"taints {nodes}, NodeRequests {requests}, timelines {steps}"

    def hear_of_nodes(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            name = change.now.metadata.name
            if change.happened is ChangeType.DELETED:
                self.nodes.pop(name, None)
                continue
            was_out = self.is_out(name)
            self.nodes[name] = change.now
            if self.is_out(name) and not was_out:
                self.taints[name] += 1
        self._look()

    def hear_of_pods(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            if change.now.metadata.labels.get("app") != WEB:
                continue
            uid = change.now.metadata.uid
            self.web_uids.add(uid)
            if change.happened is ChangeType.DELETED:
                self.web.pop(uid, None)
            else:
                self.web[uid] = change.now
        self._look()

    def hear_of_requests(self, changes: list[Change[NodeRequest]]) -> None:
        for change in changes:
            self.requests[change.now.metadata.uid] = change.now
        self._look()

    def hear_of_config_maps(self, changes: list[Change[ConfigMap]]) -> None:
        for change in changes:
            if change.now.metadata.name == GROWTH_STATUS:
                self.timelines = {one.node: one.entries for one in timelines_in(change.now)}
        self._look()

    def hear_of_leases(self, changes: list[Change[Lease]]) -> None:
        for change in changes:
            if change.now.metadata.name == _LEASE:
                self.leader = change.now.spec.holder_identity
        self._look()

    def _look(self) -> None:
        if self._condition is not None and self._condition():
            self._condition = None
            self._effect()


@asynccontextmanager
async def seeing(client: Client) -> AsyncGenerator[Sight]:
    """Sight for as long as the context lasts."""
    sight = Sight()
    informers = (
        Informer(client, NODES, sight.hear_of_nodes),
        Informer(client, PODS, sight.hear_of_pods, namespace=NAMESPACE),
        Informer(client, NODE_REQUESTS, sight.hear_of_requests),
        Informer(client, CONFIG_MAPS, sight.hear_of_config_maps, namespace=ACCOUNT[0]),
        Informer(client, LEASES, sight.hear_of_leases, namespace=ACCOUNT[0]),
    )
    looking = [asyncio.create_task(informer.run()) for informer in informers]
    try:
        for informer in informers:
            await informer.synced.wait()
        yield sight
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)
