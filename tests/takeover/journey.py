"""A journey: versions of Growth that take over from each other, each in the middle of what the one before it began.

The next version runs already and follows, as in a rolling update. The leader is ended with SIGKILL within the very
change that the watch reports, so it has no time to finish, or to release its Lease.
"""

import asyncio
import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from bench.failover_cluster import NAMESPACE, Scene
from bench.growth_process import GrowthProcess, start
from growth.api.crd import definitions
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.takeover.moments import DATABASE, NODES_KEPT, POWER_CUTS, Moment, Scenarios
from tests.takeover.sight import WEB, Sight
from tests.takeover.terms import Terms
from tests.takeover.version import Version

PROVIDER: Final = "hetzner"
_PATIENCE_SECONDS: Final = 150.0


class Takeover(msgspec.Struct, frozen=True):
    """One version took over from another."""

    moment: Moment
    before: str
    after: str
    leads_s: float
    """From the kill until the next version led and its provider answered."""
    finished_s: float
    """From the kill until the next version had finished what was begun."""
    running_s: float | None = None
    """From the power cut until the database ran elsewhere, if the moment has a power cut."""


class _Kill(msgspec.Struct, frozen=True):
    """What held when a leader was killed."""

    at: float
    leader: str
    had_finished: bool


class Journey:
    """All takeovers on one cluster."""

    def __init__(self, scene: Scene, sight: Sight, terms: Terms, report: Callable[[str], None]) -> None:
        self._scene, self._sight, self._terms, self._report = scene, sight, terms, report
        self._scenarios = Scenarios(scene, sight)
        self.started: list[GrowthProcess] = []
        """Every process, in the order of the starts."""

    async def travel(self, versions: Sequence[Version]) -> list[Takeover]:
        """From the first version to the last, a moment for each step; every process is ended."""
        try:
            return await self._travel(versions)
        finally:
            for growth in self.started:
                growth.kill()

    async def _travel(self, versions: Sequence[Version]) -> list[Takeover]:
        if (older := versions[0].definitions) is not None:
            await self._scene.cluster.apply(older)
        leader = self._start(versions[0])
        await leader.wait_until_at_work(PROVIDER)
        await self._set_up(leader)
        # What an operator does first: the newer definitions, under the version that leads. They stay.
        await self._scene.cluster.apply(definitions())
        takeovers: list[Takeover] = []
        for moment, before, after in zip(Moment, versions, versions[1:], strict=False):
            next_leader = self._start(after)
            await next_leader.wait_until_ready()
            takeover = await self._take_over(moment, (before, after), leader, next_leader)
            self._report(f"    {after.name} leads after {takeover.leads_s} s, finished after {takeover.finished_s} s")
            takeovers.append(takeover)
            leader = next_leader
        return takeovers

    async def _set_up(self, growth: GrowthProcess) -> None:
        await self._scene.launch(NODES_KEPT, growth)
        await self._scene.add_databases([DATABASE], growth)
        await self._scene.cluster.admin.create(DEPLOYMENTS, _web(), NAMESPACE)
        node = self._scenarios.home().node
        await self._until(
            lambda: any(one.status.phase == "Running" and one.node_name == node for one in self._sight.web.values()),
            f"the Deployment's pod runs beside the database on {node}",
            growth,
        )
        # A machine that no list shows yet cannot be proven dead before the next one.
        lists = await self._lists()
        while await self._lists() == lists:
            growth.check()
            await asyncio.sleep(0.2)

    async def _lists(self) -> int:
        return (await self._scene.sandbox.calls())["GET /servers"]

    async def _take_over(
        self, moment: Moment, versions: tuple[Version, Version], leader: GrowthProcess, following: GrowthProcess
    ) -> Takeover:
        scenario, identity = self._scenarios.of(moment), identity_of(leader)
        kills: list[_Kill] = []

        def kill() -> None:
            leader.kill()
            kills.append(_Kill(time.monotonic(), self._sight.leader, scenario.is_finished()))

        self._report(f"{moment}: {versions[0].name} leads, {versions[1].name} follows")
        await scenario.begin()
        self._sight.at_once(scenario.is_middle, kill)
        await self._until(lambda: bool(kills), f"the moment {moment} came", following)
        (killed,) = kills
        if killed.leader != identity:
            raise RuntimeError(f"{killed.leader} led at the moment {moment}; expected {identity}, which was killed")
        if killed.had_finished:
            raise RuntimeError(f"{identity} had finished at the moment {moment}: nothing was left to take over")
        await following.wait_until_at_work(PROVIDER)
        leads_s = time.monotonic() - killed.at
        await self._until(scenario.is_finished, f"{versions[1].name} finished after {moment}", following)
        finished_s = time.monotonic() - killed.at
        return Takeover(
            moment=moment,
            before=versions[0].name,
            after=versions[1].name,
            leads_s=round(leads_s, 1),
            finished_s=round(finished_s, 1),
            running_s=self._scenarios.running_seconds() if moment in POWER_CUTS else None,
        )

    def _start(self, version: Version) -> GrowthProcess:
        content = self._scene.settings(mode="act", speed="fast")
        for section, stated in self._terms.growth.items():
            content[section] = {**content.get(section, {}), **stated}
        name = f"growth-{len(self.started)}-{version.name}"
        growth = start(self._scene.cluster, self._scene.kubeconfig, content, name=name, source=version.source)
        self.started.append(growth)
        return growth

    async def _until(self, condition: Callable[[], bool], what: str, growth: GrowthProcess) -> None:
        deadline = time.monotonic() + _PATIENCE_SECONDS
        while not condition():
            growth.check()
            if time.monotonic() > deadline:
                seen = f"{self._sight.summary()}; {growth.last_words()}"
                raise TimeoutError(f"within {_PATIENCE_SECONDS:g} s it did not happen that {what}: {seen}")
            await asyncio.sleep(0.05)


def identity_of(growth: GrowthProcess) -> str:
    """What it calls itself in the Lease."""
    return next(str(line["identity"]) for line in growth.lines() if "identity" in line)


def _web() -> dict[str, object]:
    """One pod without a volume that prefers the database's node, so that both lose their machine at once."""
    near = {
        "weight": 100,
        "podAffinityTerm": {
            "labelSelector": {"matchLabels": {"kind": "database"}},
            "topologyKey": "kubernetes.io/hostname",
        },
    }
    container = {"name": "main", "image": "none", "resources": {"requests": {"cpu": "100m", "memory": "128Mi"}}}
    spec = {
        "containers": [container],
        "affinity": {"podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": [near]}},
    }
    labels = {"app": WEB}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    return {"metadata": {"name": WEB}, "spec": body}
