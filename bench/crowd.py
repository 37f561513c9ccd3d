"""A crowd of pods that arrives at a cluster, and a witness who notes when what happened to them, by its own clock."""

import asyncio
import random
import sys
import time
from collections.abc import AsyncGenerator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import Any, Final

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES, PODS
from growth.api.node import Node
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.pod import Pod
from growth.api.taints import STARTING
from growth.kube.client import Client
from growth.kube.informer import Informer

NAMESPACE: Final = "reaction"
Size = tuple[int, int]
"""Thousandths of a core, and MiB."""

# Enough to keep the API server busy, and few enough that the machine has time for those who react.
_AT_ONCE: Final = 32
_LINE_SECONDS: Final = 2.0
_PATIENCE_SECONDS: Final = 90.0  # without anything that happens


def drawn_sizes(pods: int, seed: int) -> list[Size]:
    """What each pod of a crowd asks for: 100 to 1500 thousandths of a core, 100 to 4096 MiB."""
    draw = random.Random(seed)
    return [(draw.randint(100, 1500), draw.randint(100, 4096)) for _ in range(pods)]


def tell(text: str) -> None:
    """A line for whoever waits."""
    print(text, file=sys.stderr, flush=True)


class Witness:
    """Sees pods, nodes and requests come to life; ``marks`` has for each kind of moment when it came for whom.

    Clocks of servers have whole seconds and write down what they like. This one stands beside everybody: a moment is
    when the watch told of it.
    """

    def __init__(self) -> None:
        self.nodes: dict[str, Node] = {}
        self.marks: dict[str, dict[str, float]] = {}
        self._past: frozenset[str] = frozenset()
        self._begun = time.monotonic()

    def begin(self) -> None:
        """What was seen until now is past; the clock starts."""
        self._past = frozenset(self.nodes)
        self.marks = {}
        self._begun = time.monotonic()

    @property
    def now(self) -> float:
        """Seconds since the start."""
        return time.monotonic() - self._begun

    @property
    def new_nodes(self) -> list[Node]:
        """Those that registered since the start."""
        return [node for name, node in self.nodes.items() if name not in self._past]

    def count(self, what: str) -> int:
        """For how many this moment has come."""
        return len(self.marks.get(what, ()))

    def spans(self) -> dict[str, tuple[float, float]]:
        """Of each kind of moment the first and the last, in the order of the last."""
        spans = {what: (min(times.values()), max(times.values())) for what, times in self.marks.items()}
        return {what: (round(a, 3), round(b, 3)) for what, (a, b) in sorted(spans.items(), key=lambda one: one[1][1])}

    def note(self, what: str, name: str) -> None:
        """Now it has come for this one, if it had not before."""
        self.marks.setdefault(what, {}).setdefault(name, self.now)

    def hear_of_pods(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            pod, name = change.now, change.now.metadata.name
            if name not in self.marks.get("sent", ()):
                continue
            if pod.is_refused:
                self.note("refused", name)
            if pod.keys:
                self.note("keyed", name)
            if pod.node_name:
                self.note("bound", name)
            if pod.status.phase == "Running":
                self.note("running", name)

    def hear_of_nodes(self, changes: list[Change[Node]]) -> None:
        for change in changes:
            node, name = change.now, change.now.metadata.name
            if POOL not in node.metadata.labels or change.happened is ChangeType.DELETED:
                continue
            self.nodes[name] = node
            if name in self._past:
                continue
            self.note("registered", name)
            if node.is_ready:
                self.note("ready", name)
            if all(taint.key != STARTING for taint in node.spec.taints):
                self.note("opened", name)

    def hear_of_requests(self, changes: list[Change[NodeRequest]]) -> None:
        for change in changes:
            request, name = change.now, change.now.metadata.name
            if name in self._past:
                continue
            self.note("requested", name)
            if request.status.provider_id:
                self.note("machine known", name)
            if request.status.phase == "Ready":
                self.note("request ready", name)


@asynccontextmanager
async def witnessing(client: Client, *, sees_requests: bool) -> AsyncGenerator[Witness]:
    """A witness who looks on as long as the context lasts."""
    witness = Witness()
    informers = [Informer(client, PODS, witness.hear_of_pods, namespace=NAMESPACE)]
    others = [Informer(client, NODES, witness.hear_of_nodes)]
    requests = [Informer(client, NODE_REQUESTS, witness.hear_of_requests)] if sees_requests else []
    every = [*informers, *others, *requests]
    looking = [asyncio.create_task(informer.run()) for informer in every]
    try:
        for informer in every:
            await informer.synced.wait()
        yield witness
    finally:
        for task in looking:
            task.cancel()
        await asyncio.gather(*looking, return_exceptions=True)


async def arrive(client: Client, witness: Witness, sizes: Sequence[Size], prefix: str) -> None:
    """Create all pods, some at a time, and return when the last one runs."""
    witness.begin()
    bodies = iter([_body(f"{prefix}-{number}", size) for number, size in enumerate(sizes)])
    telling = asyncio.create_task(_tell_progress(witness, len(sizes)))
    try:
        async with asyncio.TaskGroup() as creating:
            for _ in range(_AT_ONCE):
                creating.create_task(_create(client, witness, bodies))
        await _wait_until_all_run(witness, len(sizes))
    finally:
        telling.cancel()


async def _create(client: Client, witness: Witness, bodies: Iterator[Mapping[str, Any]]) -> None:
    for body in bodies:
        witness.note("sent", body["metadata"]["name"])
        await client.create(PODS, body, NAMESPACE)


async def _wait_until_all_run(witness: Witness, pods: int) -> None:
    seen, since = 0, witness.now
    while witness.count("running") < pods:
        happened = sum(map(len, witness.marks.values()))
        if happened != seen:
            seen, since = happened, witness.now
        if witness.now > since + _PATIENCE_SECONDS:
            raise TimeoutError(f"nothing happens any more, and {witness.count('running')} of {pods} pods run")
        await asyncio.sleep(0.02)


async def _tell_progress(witness: Witness, pods: int) -> None:
    while True:
        await asyncio.sleep(_LINE_SECONDS)
        counts = ", ".join(f"{len(times)} {what}" for what, times in witness.marks.items())
        tell(f"    {witness.now:4.0f} s, {pods} pods: {counts}")


def _body(name: str, size: Size) -> dict[str, Any]:
    requests = {"cpu": f"{size[0]}m", "memory": f"{size[1]}Mi"}
    container = {"name": "main", "image": "none", "resources": {"requests": requests}}
    return {"metadata": {"name": name}, "spec": {"containers": [container]}}
