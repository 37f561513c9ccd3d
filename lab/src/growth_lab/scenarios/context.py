"""What a story has in its hands: a namespace and nodes of its own, and ways to wait for what must happen.

Everything goes through the API, so a story cannot tell on which kind of cluster it is played. A node falls silent when
it loses the label by which kwok (or the virtual kubelets) know it.
"""

import asyncio
import itertools
from collections.abc import AsyncGenerator, Awaitable, Callable, Mapping
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import Any, Final

import msgspec

from growth.api.kinds import NAMESPACES, NODES, PODS, Kind
from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.tolerations import Taint
from growth.kube.client import Client
from growth.kube.errors import Conflict, NotFound, TooManyRequests
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.nodes import KWOK_LABEL, KWOK_VALUE, kwok_node, taint
from growth_lab.scenarios.cleanup import sweep
from growth_lab.scenarios.environment import Backstage
from growth_lab.scenarios.trace import Trace
from growth_lab.scenarios.unsettled_objects import undecided

Json = Mapping[str, Any]

STORY_LABEL: Final = "growth.dev/story"
_SCHEDULER_BACKOFF_SECONDS: Final = 11.0
_BUDGET_POLL_SECONDS: Final = 0.05
_POLL_SECONDS: Final = 0.1
ZONE: Final = "topology.kubernetes.io/zone"


class DidNotHappen(AssertionError):
    """What a story waited for did not come."""


class NoLongerHolds(AssertionError):
    """Something that a story promised for all of its time was not so for a moment."""


class NeverSettles(AssertionError):
    """Something still moves when everything should be at rest."""


class Play:
    """One performance of a story."""

    def __init__(self, client: Client, name: str, *, patience: float, backstage: Backstage, alone: bool) -> None:
        self.client, self.namespace, self.now, self.backstage = client, name, backstage.now, backstage
        self._prefix, self._patience = f"{name}-", patience
        self.trace = Trace(self._prefix, name, asyncio.get_running_loop().time, alone=alone)

        self.processes = itertools.count(1)
        self.encore: Callable[[], AbstractAsyncContextManager[object]] | None = None
        """Growth once more, as it last was in this story; None as long as it was not there."""

        self.acts: list[str] = []
        self._promises: list[tuple[Callable[[], object], str]] = []
        self._broken: list[str] = []
        self.trace.when_seen.append(self._look)

    def say(self, act: str) -> None:
        """What happens next, for those who look on."""
        self.acts.append(act)

    # The cluster

    async def node(
        self,
        name: str,
        *,
        zone: str = "zone-a",
        labels: Json | None = None,
        taints: tuple[str, ...] = (),
        **fields: Any,  # noqa: ANN401
    ) -> None:
        """A node registers; ``fields`` are those of ``kwok_node``."""
        marks = {STORY_LABEL: self.namespace, ZONE: zone, **(labels or {})}
        manifest = kwok_node(self.full(name), labels=marks, taints=[taint(one) for one in taints], **fields)
        await self.client.create(NODES, manifest)

    async def silence(self, name: str) -> None:
        """A node says nothing any more."""
        await self.change(NODES, self.full(name), {"metadata": {"labels": {KWOK_LABEL: None}}})

    async def wake(self, name: str) -> None:
        """It is heard of again."""
        await self.change(NODES, self.full(name), {"metadata": {"labels": {KWOK_LABEL: KWOK_VALUE}}})

    async def pod(self, name: str, *, cpu: str = "100m", labels: Json | None = None, **spec: Any) -> None:  # noqa: ANN401
        """A pod is created; ``spec`` in camelCase is laid over a plain one."""
        await self.create(
            PODS, {"metadata": {"name": name, "labels": labels or {}}, "spec": self.pod_spec(cpu, **spec)}
        )

    def pod_spec(self, cpu: str = "100m", **spec: Any) -> dict[str, Any]:  # noqa: ANN401
        """A pod's spec, or a template's, bound to the story's own nodes."""
        container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": cpu, "memory": "64Mi"}}}
        return {"containers": [container], "nodeSelector": {STORY_LABEL: self.namespace}, **spec}

    async def create(self, kind: Kind[Any], body: Json) -> None:
        """Any object, in the story's namespace if its kind lives in one."""
        await self.client.create(kind, body, self.namespace if kind.namespaced else "")

    async def change(self, kind: Kind[Any], name: str, patch: Json, *, subresource: str = "") -> None:
        """Merge a patch into an object."""
        space = self.namespace if kind.namespaced else ""
        await self.client.patch(kind, name, MergePatch(patch), space, subresource=subresource)

    async def change_taints(self, name: str, change: Callable[[list[Taint]], list[Taint]]) -> None:
        """Give a node that was seen other taints. The list is replaced whole, so it carries the version that was read:
        nobody's new taint is lost."""
        full = self.trace.nodes[name].metadata.name
        while True:
            seen = await self.client.get(NODES, full)
            taints = [msgspec.to_builtins(one) for one in change(list(seen.spec.taints))]
            version = {"resourceVersion": str(seen.metadata.resource_version)}
            try:
                await self.change(NODES, full, {"metadata": version, "spec": {"taints": taints or None}})
            except Conflict:
                continue
            return

    async def delete(self, kind: Kind[Any], name: str, *, grace_seconds: int | None = None) -> None:
        """Delete an object."""
        space = self.namespace if kind.namespaced else ""
        await self.client.delete(kind, name, space, grace_seconds=grace_seconds)

    def full(self, name: str) -> str:
        """What a node of the story is called in the cluster."""
        return self._prefix + name

    # Looking and waiting

    def pod_is(self, name: str, phase: str = "Running", *, node: str = "") -> Callable[[], bool]:
        """Whether a pod is in a phase, on a node if one is named."""

        def holds() -> bool:
            pod = self.trace.pods.get(name)
            return pod is not None and pod.status.phase == phase and (not node or self.node_of(pod) == node)

        return holds

    def node_of(self, pod: Pod) -> str:
        """The story's name of a pod's node."""
        return self.trace.short(pod.node_name)

    def running(self, app: str) -> list[Pod]:
        """Pods of an app that run and are not leaving."""
        return [
            pod
            for pod in self.trace.pods.values()
            if pod.metadata.labels.get("app") == app
            and pod.status.phase == "Running"
            and pod.metadata.deletion_timestamp is None
        ]

    def always(self, condition: Callable[[], object], what: str) -> None:
        """From now on this must hold whenever anything happens; the story ends with the first moment at which not."""
        self._promises.append((condition, what))

    def _look(self) -> None:
        for condition, what in self._promises:
            if not self._broken and not condition():
                self._broken.append(
                    f"{what} no longer holds after: {self.trace.seen[-1].subject} {self.trace.seen[-1].what}"
                )

    def check(self) -> None:
        """Raise if a promise was broken at any moment so far."""
        if self._broken:
            raise NoLongerHolds(self._broken[0])

    def end_promises(self) -> None:
        """The story is over; what happens from now on keeps no promise of it."""
        self._promises.clear()
        self._broken.clear()

    async def ready(self, *names: str) -> None:
        """Wait until these nodes take pods."""

        def are_open() -> bool:
            nodes = [self.trace.nodes.get(name) for name in names]
            return all(node and node.is_ready and not _is_starting(node) for node in nodes)

        await self.until(are_open, f"{', '.join(names)} can be used")

    async def booted(self) -> None:
        """Wait until those of the scenario's nodes that boot take pods."""
        nodes = await self.client.list(NODES, label_selector=f"{STORY_LABEL}={self.namespace}")
        alive = [node for node in nodes.items if KWOK_LABEL in node.metadata.labels]
        await self.ready(*(self.trace.short(node.metadata.name) for node in alive))

    async def until_allowed(self, name: str) -> None:
        """Evict a pod as soon as its disruption budget allows it."""
        async with self._patient(f"a budget allows {name} to be evicted"):
            while True:
                try:
                    await self.client.evict(name, self.namespace)
                except TooManyRequests:
                    await asyncio.sleep(_BUDGET_POLL_SECONDS)  # a budget changes without anything to be seen
                else:
                    return

    async def until(self, condition: Callable[[], object], what: str) -> None:
        """Wait until a condition over what was seen comes true."""
        async with self._patient(what):
            while not condition():
                await self.trace.news()
                self.check()

    async def until_found(self, look: Callable[[], Awaitable[object]], what: str) -> None:
        """Wait until something is so that nobody follows, such as events and annotations: it is asked about."""
        async with self._patient(what):
            while not await look():
                await asyncio.sleep(_POLL_SECONDS)
                self.check()

    @asynccontextmanager
    async def _patient(self, what: str) -> AsyncGenerator[None]:
        try:
            async with asyncio.timeout(self._patience):
                yield
        except TimeoutError:
            told = "\n".join(map(str, self.trace.seen[-12:]))
            waited = f"within {self._patience:g} s it did not happen that {what}"
            raise DidNotHappen(f"{waited}; seen last:\n{told}") from None

    async def settled(self, quiet: float) -> None:
        """Wait until nothing has happened for so many seconds, and nobody is seen in the middle of something.

        The scheduler may think again of a pod that it refused for as long as its back-off lasts.
        """
        deadline = asyncio.get_running_loop().time() + self._patience
        while True:
            count = len(self.trace.seen)
            waiting = any(not pod.node_name for pod in self.trace.pods.values())
            try:
                async with asyncio.timeout(max(quiet, _SCHEDULER_BACKOFF_SECONDS) if waiting else quiet):
                    await self.trace.news()
            except TimeoutError:
                if not undecided(self.trace.pods, self.trace.nodes):
                    return
            if asyncio.get_running_loop().time() > deadline:
                moving = dict.fromkeys(f"{one.subject} {one.what}" for one in self.trace.seen[count - 20 :])
                moving |= dict.fromkeys(undecided(self.trace.pods, self.trace.nodes))
                raise NeverSettles(f"after {self._patience:g} s these still move:\n  " + "\n  ".join(moving))


def _is_starting(node: Node) -> bool:
    return any(one.key == "node.kubernetes.io/not-ready" for one in node.spec.taints)


@asynccontextmanager
async def a_play(
    client: Client, name: str, *, patience: float, backstage: Backstage, alone: bool = False
) -> AsyncGenerator[Play]:
    """A performance on a cluster; what it made is taken away again, so that many share one.

    One that is ``alone`` has the whole cluster to itself, our own kinds installed, and leaves it empty.
    """
    if alone:
        await backstage.install()
    play = Play(client, name, patience=patience, backstage=backstage, alone=alone)
    await client.create(NAMESPACES, {"metadata": {"name": name}})
    try:
        async with play.trace.following(client):
            yield play
            play.check()
    finally:
        await _take_away(play)
        if alone:
            await sweep(client)


async def _take_away(play: Play) -> None:
    nodes = await play.client.list(NODES, label_selector=f"{STORY_LABEL}={play.namespace}")
    await play.client.delete(NAMESPACES, play.namespace)
    for node in nodes.items:
        with suppress(NotFound):
            await play.client.delete(NODES, node.metadata.name)
