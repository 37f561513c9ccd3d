"""One control plane on which plans are carried out as Growth would, and watched."""

import asyncio
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass

import msgspec

from growth.api.change import Change, ChangeType
from growth.api.kinds import NAMESPACES, NODES, PODS
from growth.api.pod import Pod
from growth.decide.fit import SimulatedCluster
from growth.decide.fit.template_node import TemplateNodes
from growth.decide.solver.node_options import node_options_of
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.planner import plan
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.kube.informer import Informer
from growth.kube.transport import Method, Request
from tests.decide.stages import a_snapshot
from tests.fidelity.keeping import ByKey, ByNomination, Keeping, closed_manifest
from tests.fidelity.plan_drawing import Draft

VERDICT_SECONDS = 40.0
# A pod that the scheduler refused is tried again after 10 s at most, if something happened that could help it.
PATIENCE_SECONDS = 14.0
_POLL_SECONDS = 0.03
_AT_ONCE = msgspec.json.encode({"kind": "DeleteOptions", "apiVersion": "v1", "gracePeriodSeconds": 0})


@dataclass(frozen=True)
class Performance:
    """What became of one plan."""

    draft: Draft
    solution: PlacementSolution | None = None
    unbound: tuple[str, ...] = ()
    empty: tuple[str, ...] = ()
    strayed: tuple[str, ...] = ()
    again: int = 0

    @property
    def came_true(self) -> bool:
        """Whether every planned pod is bound and no planned node stands empty."""
        return self.solution is not None and not self.unbound and not self.empty

    def __str__(self) -> str:
        if self.solution is None:
            told = "the scheduler did not try all pods"
        else:
            found = (("unbound", self.unbound), ("stand empty", self.empty), ("strayed", self.strayed))
            told = "; ".join(f"{what}: {', '.join(names)}" for what, names in found if names) or "came true"
        again = f"python -m tests.fidelity.plans --seed {self.draft.seed} --only {self.draft.index}"
        return f"plan {self.draft.index} of seed {self.draft.seed}: {told}\n  again: {again}"


class Theatre:
    """Create, plan, buy, keep the places, wait, tell."""

    def __init__(self, client: Client, *, by_nomination: bool) -> None:
        self._client = client
        self._pods: dict[str, Pod] = {}
        self._keeping: Callable[[Client], Keeping] = ByNomination if by_nomination else ByKey

    async def follow(self) -> None:
        """Watch all pods, for ever."""
        await Informer(self._client, PODS, self._hear).run()

    def _hear(self, changes: list[Change[Pod]]) -> None:
        for change in changes:
            if change.happened is ChangeType.DELETED:
                self._pods.pop(change.now.metadata.uid, None)
            else:
                self._pods[change.now.metadata.uid] = change.now

    async def carry_out(self, draft: Draft) -> Performance:
        """One plan, from its pods to its end; what it made is taken away again."""
        try:
            return await self._carry_out(draft)
        finally:
            await self._clear(draft)

    async def _carry_out(self, draft: Draft) -> Performance:
        await self._client.create(NAMESPACES, {"metadata": {"name": draft.name}})
        for node in draft.nodes:
            await self._client.create(NODES, node)
        made: list[Pod] = [await self._client.create(PODS, pod, draft.name) for pod in draft.pods]
        uids = [pod.metadata.uid for pod in made]
        if not await self._all_judged(uids):
            return Performance(draft)
        nodes = (await self._client.list(NODES, label_selector=f"growth.dev/pool={draft.name}")).items
        stage = SimulatedCluster.of(a_snapshot(list(nodes), [self._pods[uid] for uid in uids]))
        waiting = [self._pods[uid] for uid in uids if not self._pods[uid].node_name]
        solution = plan(stage, waiting, node_options_of(stage, [draft.pool], draft.offerings))
        return await self._enact(draft, stage, solution)

    async def _enact(self, draft: Draft, stage: SimulatedCluster, solution: PlacementSolution) -> Performance:
        maker = TemplateNodes(stage)
        names = {node.name: f"{draft.name}-{node.name}" for node in solution.launch}
        for planned in solution.launch:
            node = maker.make(names[planned.name], planned.pool, planned.offering).node
            await self._client.create(NODES, closed_manifest(node))
        launched = {pod.metadata.uid: names[node.name] for node in solution.launch for pod in node.pods}
        wanted = launched | {pod.metadata.uid: node.node for node in solution.existing for pod in node.pods}
        kept = {uid: node for uid, node in launched.items() if uid in solution.keep}
        keeping = self._keeping(self._client)
        await keeping.hand_over(kept, self._pods, list(names.values()))
        missing = await self._wait_for(wanted, kept, keeping)
        used = {self._pods[uid].node_name for uid in wanted}
        return Performance(
            draft,
            solution,
            unbound=tuple(f"{self._pods[uid].metadata.name} wanted on {wanted[uid]}" for uid in missing),
            empty=tuple(sorted(set(names.values()) - used)),
            strayed=tuple(
                f"{self._pods[uid].metadata.name} {home} -> {self._pods[uid].node_name}"
                for uid, home in kept.items()
                if self._pods[uid].node_name not in ("", home)
            ),
            again=keeping.again,
        )

    async def _wait_for(self, wanted: Mapping[str, str], kept: Mapping[str, str], keeping: Keeping) -> list[str]:
        """Until all are bound, or nothing moved for a while; who is not bound then."""
        progress, left = time.monotonic(), len(wanted)
        while missing := [uid for uid in wanted if not self._pods[uid].node_name]:
            if len(missing) < left:
                progress, left = time.monotonic(), len(missing)
            if time.monotonic() - progress > PATIENCE_SECONDS:
                return missing
            await keeping.tend(kept, self._pods)
            await asyncio.sleep(_POLL_SECONDS)
        return []

    async def _all_judged(self, uids: list[str]) -> bool:
        deadline = time.monotonic() + VERDICT_SECONDS
        while not all(self._is_judged(uid) for uid in uids):
            if time.monotonic() > deadline:
                return False
            await asyncio.sleep(_POLL_SECONDS)
        return True

    def _is_judged(self, uid: str) -> bool:
        pod = self._pods.get(uid)
        if pod is None:
            return False
        condition = pod.condition("PodScheduled")
        return bool(pod.node_name) or (condition is not None and condition.reason == "Unschedulable")

    async def _clear(self, draft: Draft) -> None:
        await self._client.request(Request(Method.DELETE, PODS.collection(draft.name), body=_AT_ONCE))
        listed = await self._client.list(NODES, label_selector=f"growth.dev/pool={draft.name}")
        for node in listed.items:
            try:
                await self._client.delete(NODES, node.metadata.name)
            except NotFound:
                continue
