"""Stories of trouble that is nobody's fault: a machine loses its power, somebody deletes what Growth holds on to."""

from datetime import timedelta

import msgspec

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import LEASES, PODS
from growth.api.offering import POOL
from growth.api.pod_classification import MIRROR
from growth.api.settings.model import LeaderElectionSettings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("troubles", alone=True)

# With no node at all the real scheduler looks again only every ten seconds; nobody in these stories may use this one.
TAINTED = ("dedicated=other:NoSchedule",)
SOON = {"emptyAfter": "3s", "delayAfterScaleUp": "0s"}
SHORT_TERMS = msgspec.structs.replace(
    QUICK,
    leader_election=LeaderElectionSettings(
        lease_duration=timedelta(seconds=2), renew_deadline=timedelta(seconds=1.3), retry_period=timedelta(seconds=0.5)
    ),
)


# How often a node is tainted on its way down and up, and whether a pod is tried meanwhile, is left to chance.
@STORIES.story(is_first=True, ignores="node.kubernetes.io,refused")
async def a_machine_loses_its_power_and_comes_back(play: Play) -> None:
    """Its node falls silent. Nothing is given back, nothing is bought for it; when it boots again, it is used again."""
    await play.node("other", taints=TAINTED)
    async with growing(play) as growth:
        await a_pool(play)
        await play.pod("first", cpu="900m", nodeSelector={})
        await play.until(play.pod_is("first"), "the pod runs")
        (name,) = [name for name, node in play.trace.nodes.items() if POOL in node.metadata.labels]
        before = play.trace.nodes[name].status.node_info.boot_id
        await growth.hurt(name, "powerOff")
        await play.until(lambda: not play.trace.nodes[name].is_ready, "its node is silent")
        await growth.hurt(name, "")
        await play.ready(name)
        assert play.trace.nodes[name].status.node_info.boot_id != before
        await play.pod("second", cpu="800m", nodeSelector={})
        await play.until(play.pod_is("second", node=name), "the next pod runs there")


@STORIES.story(ignores="refused")
async def somebody_deletes_the_lease(play: Play) -> None:
    """The leader steps down, because another one may lead by now. When a whole term has passed, it leads again."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=SHORT_TERMS):
        await a_pool(play)
        await play.pod("first", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("first"), "the pod runs")
        await play.client.delete(LEASES, QUICK.leader_election.lease_name, QUICK.namespace)
        await play.pod("second", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("second"), "the next pod runs, too")


@STORIES.story(ignores="refused")
async def a_static_pod_is_released_with_its_machine(play: Play) -> None:
    """A kubelet made it from a file and no controller ends it. It is no work, so its node goes, and Growth ends it."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, scaleDown=SOON)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        (name,) = [name for name, node in play.trace.nodes.items() if POOL in node.metadata.labels]
        spec = play.pod_spec("10m", nodeSelector={}, nodeName=name, tolerations=[{"operator": "Exists"}])
        await play.create(PODS, {"metadata": {"name": "proxy", "annotations": {MIRROR: "from a file"}}, "spec": spec})
        await play.until(play.pod_is("proxy", node=name), "the static pod runs")
        await play.delete(PODS, "app", grace_seconds=0)
        await play.until(lambda: "proxy" not in play.trace.pods, "the static pod is released")
        await play.until(lambda: not play.trace.objects[NODE_REMOVAL_REQUESTS], "nothing is left of it")
    assert list(play.trace.nodes) == ["other"]
