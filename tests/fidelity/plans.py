"""Plans come true: ``python -m tests.fidelity.plans --plans 300 --seed 7``.

Each drawn demand is created on a real control plane: first the nodes that stand, then the pods, which the scheduler
tries and refuses (or places, if it can). What is refused is planned for. Then the plan is carried out as Growth would:
the planned nodes appear with a start-up taint, pods that the plan wants nominated are nominated, the taints of all
nodes go together, and whoever lost its nomination in a failed attempt is nominated again. Nodes do not open at the very
same moment, so now and then a pod strays to another one and takes what a third one needs: whoever still waits when
nothing moves any more is planned for again, as Growth's loop does (``came_true_in_round`` says how often). In the end
every planned pod must be bound, and no planned node may stand empty. Pods that the plan leaves out are taken away
before: most of them want what planned pods want, and who comes first is the scheduler's choice.

``--by-toleration`` reserves in another way: a planned node keeps its taint, whose value is its name, and the pods meant
for it are given a toleration of just that. Nobody can stray then, and no order does harm.

Ends in one JSON line; ``--only N`` carries out one plan and tells its story.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections import Counter
from dataclasses import dataclass, field
from itertools import count
from typing import Any

import msgspec

from growth.api.change import Change, Happened
from growth.api.kinds import NAMESPACES, NODES, PODS
from growth.api.node import Node
from growth.api.pod import Pod
from growth.decide.fit import Stage
from growth.decide.fit.new_node import STARTING, NewNodes
from growth.decide.pack.market import market_of
from growth.decide.pack.plan import plan
from growth.decide.pack.solution import PlacementSolution
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.kube.informer import Informer
from growth.kube.patches import MergePatch
from growth.kube.transport import Method, Request
from tests.decide.stages import a_snapshot
from tests.fidelity.arena import an_arena
from tests.fidelity.plan_drawing import Draft, draw

AT_ONCE = 5
VERDICT_SECONDS = 40.0
# The scheduler's own patience with a pod that it refused is 10 s at most.
PATIENCE_SECONDS = 14.0
ROUNDS = 3
_POLL_SECONDS = 0.03


@dataclass(frozen=True)
class Broken:
    """A plan that did not come true, and how."""

    draft: Draft
    how: str
    may_heal: bool = False
    """Whether somebody still waits; planning again, as Growth does all the time, may place them."""

    def __str__(self) -> str:
        again = f"python -m tests.fidelity.plans --seed {self.draft.seed} --only {self.draft.index}"
        return f"plan {self.draft.index} of seed {self.draft.seed}: {self.how}\n  again: {again}"


@dataclass
class Tally:
    """What came out."""

    seed: int
    plans: int = 0
    pods: int = 0
    nodes: int = 0
    nominated: int = 0
    renominated: int = 0
    strayed: int = 0
    rounds: Counter[int] = field(default_factory=Counter[int])
    outcomes: Counter[str] = field(default_factory=Counter[str])
    broken: list[Broken] = field(default_factory=list[Broken])
    seconds: float = 0.0

    def line(self) -> str:
        """One line of JSON."""
        return json.dumps(
            {
                "plans": self.plans,
                "came_true": self.plans - len(self.broken),
                "with_pods_unbound": sum(one.may_heal for one in self.broken),
                "with_empty_nodes": sum(not one.may_heal for one in self.broken),
                "pods_planned": self.pods,
                "nodes_planned": self.nodes,
                "nominated": self.nominated,
                "nominated_again": self.renominated,
                "strayed": self.strayed,
                "came_true_in_round": dict(sorted(self.rounds.items())),
                "outcomes": dict(self.outcomes),
                "plans_per_second": round(self.plans / self.seconds, 2) if self.seconds else 0.0,
                "seconds": round(self.seconds, 1),
                "seed": self.seed,
            }
        )


class Theatre:
    """One control plane on which plans are carried out."""

    def __init__(self, client: Client, *, by_toleration: bool = False) -> None:
        self._client = client
        self._pods: dict[str, Pod] = {}
        self._by_toleration = by_toleration

    async def follow(self) -> None:
        """Watch all pods, for ever."""
        await Informer(self._client, PODS, self._hear).run()

    def _hear(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            if change.happened is Happened.DELETED:
                self._pods.pop(change.now.metadata.uid, None)
            else:
                self._pods[change.now.metadata.uid] = change.now

    async def carry_out(self, draft: Draft, tally: Tally) -> Broken | None:
        """Create, plan, buy, nominate, wait; returns what went wrong."""
        try:
            return await self._carry_out(draft, tally)
        finally:
            await self._clear(draft)

    async def _carry_out(self, draft: Draft, tally: Tally) -> Broken | None:
        await self._client.create(NAMESPACES, {"metadata": {"name": draft.name}})
        for node in draft.nodes:
            await self._client.create(NODES, node)
        made: list[Pod] = [await self._client.create(PODS, pod, draft.name) for pod in draft.pods]
        uids = [pod.metadata.uid for pod in made]
        if not await self._until(lambda: all(self._is_judged(uid) for uid in uids), VERDICT_SECONDS):
            return Broken(draft, "the scheduler did not try all pods")
        broken: Broken | None = None
        for turn in range(1, ROUNDS + 1):
            stage = Stage.of(a_snapshot(await self._nodes(draft), [self._pods[uid] for uid in uids]))
            waiting = [self._pods[uid] for uid in uids if not self._pods[uid].node_name]
            solution = plan(stage, waiting, market_of(stage, [draft.pool], draft.offerings))
            if turn == 1:
                await self._begin(draft, solution, tally)
                uids = [uid for uid in uids if uid not in {one.pod.metadata.uid for one in solution.left_out}]
            broken = await self._act(draft, stage, solution, tally, turn)
            if broken is None or not broken.may_heal:
                tally.rounds[turn] += broken is None
                return broken
        return broken

    async def _begin(self, draft: Draft, solution: PlacementSolution, tally: Tally) -> None:
        """Count what is planned, and take away the pods that are left out."""
        tally.outcomes[solution.outcome] += 1
        tally.pods += solution.placed
        tally.nodes += len(solution.buy)
        tally.nominated += len(solution.nominate)
        for one in solution.left_out:
            body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
            path = PODS.path(one.pod.metadata.name, draft.name)
            await self._client.request(Request(Method.DELETE, path, body=body))

    async def _nodes(self, draft: Draft) -> list[Node]:
        return list((await self._client.list(NODES, label_selector=f"growth.dev/pool={draft.name}")).items)

    async def _act(
        self, draft: Draft, stage: Stage, solution: PlacementSolution, tally: Tally, turn: int
    ) -> Broken | None:
        maker = NewNodes(stage)
        names = {node.name: f"{draft.name}-{turn}-{node.name}" for node in solution.buy}
        for planned in solution.buy:
            node = maker.make(names[planned.name], planned.pool, planned.offering).node
            await self._client.create(NODES, _manifest(node))
        wanted = {pod.metadata.uid: names[node.name] for node in solution.buy for pod in node.pods}
        wanted |= {pod.metadata.uid: node.node for node in solution.existing for pod in node.pods}
        homes = {uid: wanted[uid] for uid in solution.nominate}
        if self._by_toleration:
            await asyncio.gather(*(self._let_in(uid, name) for uid, name in wanted.items() if name in names.values()))
        else:
            await asyncio.gather(*(self._nominate(uid, name) for uid, name in homes.items()))
            open_up = MergePatch({"spec": {"taints": None}})
            await asyncio.gather(*(self._client.patch(NODES, name, open_up) for name in names.values()))
        progress, left = time.monotonic(), len(wanted)
        while missing := [uid for uid in wanted if not self._pods[uid].node_name]:
            if len(missing) < left:
                progress, left = time.monotonic(), len(missing)
            if time.monotonic() - progress > PATIENCE_SECONDS:
                return Broken(draft, self._story(missing, wanted, solution), may_heal=True)
            for uid in missing if not self._by_toleration else ():
                if uid in homes and self._pods[uid].status.nominated_node_name != homes[uid]:
                    tally.renominated += 1
                    await self._nominate(uid, homes[uid])
            await asyncio.sleep(_POLL_SECONDS)
        # One may stray: while its own node is still tainted, another one that has room beyond its own pods takes it.
        tally.strayed += sum(self._pods[uid].node_name != home for uid, home in homes.items())
        used = {pod.node_name for pod in self._pods.values() if pod.metadata.namespace == draft.name}
        empty = sorted(
            {node.metadata.name for node in await self._nodes(draft) if "planned" in node.metadata.name} - used
        )
        return Broken(draft, f"stand empty: {', '.join(empty)}") if empty else None

    def _story(self, uids: list[str], wanted: dict[str, str], solution: PlacementSolution) -> str:
        told = [
            f"{self._pods[uid].metadata.name} wanted on {wanted[uid]}, is on {self._pods[uid].node_name or 'none'}"
            f"{' (nominated)' if uid in solution.nominate else ''}"
            for uid in uids
        ]
        others = [
            f"{self._pods[uid].metadata.name} {home} -> {self._pods[uid].node_name}"
            for uid, home in wanted.items()
            if self._pods[uid].node_name not in ("", home)
        ]
        return "; ".join(told) + (f"; strayed: {'; '.join(others)}" if others else "")

    def _is_judged(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        if pod is None:
            return False
        condition = pod.condition("PodScheduled")
        return bool(pod.node_name) or (condition is not None and condition.reason == "Unschedulable")

    async def _nominate(self, uid: str, node: str) -> None:
        meta = self._pods[uid].metadata
        patch = MergePatch({"status": {"nominatedNodeName": node}})
        try:
            await self._client.patch(PODS, meta.name, patch, meta.namespace, subresource="status")
        except Exception as error:  # bound meanwhile: the API server refuses to nominate such a pod
            if "nominatedNodeName" not in str(error):
                raise

    async def _let_in(self, uid: str, node: str) -> None:
        """The other way: the node stays tainted, and only the pods meant for it are given a toleration."""
        meta = self._pods[uid].metadata
        path = PODS.path(meta.name, meta.namespace)
        seen = msgspec.json.decode((await self._client.request(Request(Method.GET, path))).body)
        mine = {"key": STARTING, "operator": "Equal", "value": node, "effect": "NoSchedule"}
        patch = MergePatch({"spec": {"tolerations": [*seen["spec"].get("tolerations", []), mine]}})
        await self._client.patch(PODS, meta.name, patch, meta.namespace)

    async def _until(self, condition: Any, seconds: float) -> bool:  # noqa: ANN401
        deadline = time.monotonic() + seconds
        while not condition():
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

    async def _clear(self, draft: Draft) -> None:
        body = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})
        await self._client.request(Request(Method.DELETE, PODS.collection(draft.name), body=body))
        listed = await self._client.list(NODES, label_selector=f"growth.dev/pool={draft.name}")
        for node in listed.items:
            try:
                await self._client.delete(NODES, node.metadata.name)
            except NotFound:
                continue


def _manifest(node: Node) -> dict[str, Any]:
    """The node as it registers, with the start-up taint that keeps the scheduler off it."""
    manifest: dict[str, Any] = json.loads(msgspec.json.encode(node))
    manifest["metadata"].pop("uid", None)
    taints = manifest.setdefault("spec", {}).setdefault("taints", [])
    taints.append({"key": STARTING, "value": node.metadata.name, "effect": "NoSchedule"})
    return manifest


async def carry_out(
    seed: int, plans: int, *, clusters: int = 2, seconds: float | None = None, by_toleration: bool = False
) -> Tally:
    """Carry out so many plans, or as many as the time allows."""
    tally = Tally(seed)
    numbers = count()
    started = time.monotonic()

    async def play(theatre: Theatre) -> None:
        while tally.plans < plans and (seconds is None or time.monotonic() - started < seconds):
            tally.plans += 1
            broken = await theatre.carry_out(draw(seed, next(numbers)), tally)
            if broken is not None:
                tally.broken.append(broken)
                print(broken, file=sys.stderr, flush=True)  # noqa: T201 - a command's output

    async def work() -> None:
        async with an_arena() as arena:
            theatre = Theatre(arena.cluster.admin, by_toleration=by_toleration)
            following = asyncio.create_task(theatre.follow())
            try:
                await asyncio.gather(*(play(theatre) for _ in range(AT_ONCE)))
            finally:
                following.cancel()
                await asyncio.gather(following, return_exceptions=True)

    await asyncio.gather(*(work() for _ in range(clusters)))
    tally.seconds = time.monotonic() - started
    return tally


async def show(seed: int, index: int) -> int:
    """Carry out one plan and tell what happened."""
    tally = Tally(seed, plans=1)
    draft = draw(seed, index)
    for manifest in (*draft.nodes, *draft.pods):
        print(json.dumps(manifest))  # noqa: T201
    async with an_arena() as arena:
        theatre = Theatre(arena.cluster.admin)
        following = asyncio.create_task(theatre.follow())
        broken = await theatre.carry_out(draft, tally)
        following.cancel()
        await asyncio.gather(following, return_exceptions=True)
    print(broken or "came true")  # noqa: T201
    return 1 if broken else 0


def main() -> int:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--plans", type=int, default=300)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--clusters", type=int, default=2)
    parser.add_argument("--only", type=int, help="the number of one plan to carry out and tell about")
    parser.add_argument("--by-toleration", action="store_true", help="reserve by tolerations instead of nominations")
    given = parser.parse_args()
    if given.only is not None:
        return asyncio.run(show(given.seed, given.only))
    tally = asyncio.run(carry_out(given.seed, given.plans, clusters=given.clusters, by_toleration=given.by_toleration))
    print(tally.line())  # noqa: T201
    return 1 if tally.broken else 0


if __name__ == "__main__":
    sys.exit(main())
