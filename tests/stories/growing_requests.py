"""Stories of NodeRequests that a person writes."""

from typing import Any

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.offering import POOL
from growth.api.status import condition_of
from growth.decide.capacity.provider_failures import MET
from growth.decide.pool_status.conditions import HEALTHY
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("requests", alone=True)
# With no node at all the real scheduler looks again only every ten seconds.
TAINTED = ("dedicated=other:NoSchedule",)


@STORIES.story(is_first=True, ignores="refused")
async def a_request_that_names_its_pool_by_its_owner_gets_a_machine(play: Play) -> None:
    """Its pool counts it, and a pod that fits there waits for it instead of getting another one."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, "web", types="small")
        await _write(play, "by-hand", await _owner(play, "web"))
        await play.pod("app", cpu="1500m", nodeSelector={POOL: "web"})
        await play.until(play.pod_is("app"), "the pod runs")
        assert play.trace.pods["app"].node_name == "by-hand"
        assert _phases(play) == {"by-hand": "Ready"}

        async def is_counted() -> bool:
            nodes = (await play.client.get(NODE_POOLS, "web")).status.nodes
            return nodes is not None and nodes.ready == 1

        await play.until_found(is_counted, "the pool counts its node")


@STORIES.story(ignores="refused,remembered")
async def a_request_whose_pool_is_unclear_launches_nothing(play: Play) -> None:
    """No pool, and a pool that its owner contradicts: both say why, in their condition."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, "web", types="small")
        await a_pool(play, "batch", types="small")
        await _write(play, "nowhere")
        await _write(play, "torn", await _owner(play, "web"), pool="batch")
        await play.until(lambda: _phases(play) == {"nowhere": "Unmet", "torn": "Unmet"}, "both are Unmet")
        assert "names no NodePool" in _why(play, "nowhere")
        assert "spec.pool is 'batch'" in _why(play, "torn")
        assert "NodePool 'web'" in _why(play, "torn")
        await play.until(lambda: _healthy(play) == {"web", "batch"}, "both pools are well")
        assert [*play.trace.nodes] == ["other"]


async def _owner(play: Play, pool: str) -> dict[str, str]:
    found = await play.client.get(NODE_POOLS, pool)
    return {
        "apiVersion": NODE_POOLS.api_version,
        "kind": NODE_POOLS.name,
        "name": pool,
        "uid": found.metadata.uid,
    }


async def _write(play: Play, name: str, *owners: dict[str, str], **spec: Any) -> None:  # noqa: ANN401
    body = {
        "metadata": {"name": name, "ownerReferences": list(owners)},
        "spec": {"targetOffering": "kwok-small-fsn1", **spec},
    }
    await play.create(NODE_REQUESTS, body)


def _phases(play: Play) -> dict[str, str]:
    return {one.metadata.name: one.status.phase for one in play.trace.objects[NODE_REQUESTS].values()}


def _healthy(play: Play) -> set[str]:
    found: set[str] = set()
    for pool in play.trace.objects[NODE_POOLS].values():
        healthy = condition_of(pool.status.conditions, HEALTHY)
        if healthy is not None and healthy.status == "True":
            found.add(pool.metadata.name)
    return found


def _why(play: Play, name: str) -> str:
    request = next(one for one in play.trace.objects[NODE_REQUESTS].values() if one.metadata.name == name)
    met = condition_of(request.status.conditions, MET)
    return met.message if met is not None and met.reason == "PoolUnclear" else ""
