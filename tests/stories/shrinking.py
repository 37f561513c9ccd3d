"""Growth gives machines back: nodes that nobody needs are marked, wait, and go, unless somebody needs them again."""

import re
from datetime import timedelta

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    CONFIG_MAPS,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    POD_DISRUPTION_BUDGETS,
    PODS,
    VOLUME_ATTACHMENTS,
)
from growth.api.machine import MachineRequest
from growth.api.node_removal_request import RETRY
from growth.api.offering import POOL
from growth.api.taints import is_tainted
from growth.cloud.kwok.catalog import MachineBehavior, read_catalogue
from growth.cloud.kwok.machine_record import manifest
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.stories.cluster_life import claim, driver, storage
from tests.stories.growing_nodes import machines, runs

STORIES = Stories("shrinking", alone=True)
# With no node at all the real scheduler looks again only every ten seconds; nobody in these stories may use this one.
TAINTED = ("dedicated=other:NoSchedule",)
SOON = {"emptyAfter": "3s", "unreadyAfter": "6s", "delayAfterScaleUp": "0s"}
LATER = {**SOON, "emptyAfter": "8s"}
ANYWHERE = [{"operator": "Exists"}]


def launched(play: Play) -> list[str]:
    """Nodes of pools, by name."""
    return sorted(name for name, node in play.trace.nodes.items() if POOL in node.metadata.labels)


def marked(play: Play) -> list[str]:
    """Of these, the ones that are to go."""
    return [name for name in launched(play) if is_tainted(play.trace.nodes[name])]


def removals(play: Play) -> dict[str, str]:
    """Removals by name, and how far they are."""
    return {name: one.status.phase for name, one in play.trace.objects[NODE_REMOVAL_REQUESTS].items()}


def happened(play: Play, *words: str) -> list[str]:
    """Of these words, those that were seen, in the order in which they last were."""
    told = [f"{one.subject} {one.what}" for one in play.trace.seen]
    found = {word: number for number, line in enumerate(told) for word in words if re.search(word, line)}
    return sorted(found, key=lambda word: found[word])


@STORIES.story(is_first=True, ignores="refused")
async def a_node_that_nobody_needs_goes(play: Play) -> None:
    """Its pod ends; it is marked, waits, and its machine is given back before its Node object goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, scaleDown=SOON)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        (name,) = launched(play)
        await play.delete(PODS, "app", grace_seconds=0)
        await play.until(lambda: is_tainted(play.trace.nodes[name]), "the node is marked")
        await play.until(lambda: removals(play), "its removal is asked for")
        await play.until(lambda: not launched(play), "the node is gone")
        await play.until(lambda: not removals(play), "nothing is left of it")
        assert await machines(play) == []


@STORIES.story(ignores="refused")
async def a_pod_that_tolerates_everything_slips_in_and_the_node_stays(play: Play) -> None:
    """The mark keeps nobody away who tolerates it. Then the node is needed, and nothing of the mark stays."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        play.always(lambda: not removals(play), "that nothing is removed")
        await a_pool(play, scaleDown=LATER)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        (name,) = launched(play)
        await play.delete(PODS, "app", grace_seconds=0)
        await play.until(lambda: marked(play), "the node is marked")
        await play.pod("daring", nodeSelector={POOL: "default"}, tolerations=ANYWHERE)
        await play.until(play.pod_is("daring", node=name), "a pod runs there all the same")
        await play.until(lambda: not marked(play), "the mark is taken off")
        await until_told(play, name, "ScaleDownCancelled")


@STORIES.story(ignores="refused")
async def demand_that_fits_takes_a_marked_node_back(play: Play) -> None:
    """A node that is to go is free room: who needs that gets it back at once, and nothing is bought."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        play.always(lambda: len(launched(play)) <= 1, "that no second machine is bought")
        await a_pool(play, scaleDown=LATER)
        await play.pod("early", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("early"), "the pod runs")
        (name,) = launched(play)
        await play.delete(PODS, "early", grace_seconds=0)
        await play.until(lambda: marked(play), "the node is marked")
        await play.pod("late", cpu="1200m", nodeSelector={})
        await play.until(play.pod_is("late", node=name), "the next pod runs there")
        assert not marked(play)
        assert await machines(play) == [name]
    assert len(play.trace.objects[NODE_REQUESTS]) == 1


@STORIES.story(ignores="refused", any_node=True)
async def what_a_pool_keeps_ready_stays(play: Play) -> None:
    """Two nodes stand empty and the pool keeps one: one goes, and the other is never marked."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, serverTypes=[{"name": "small", "min": 1}], scaleDown=SOON)
        await play.pod("app-0", cpu="1500m", nodeSelector={})
        await play.pod("app-1", cpu="1500m", nodeSelector={})
        await play.until(lambda: runs(play, "app-0", "app-1"), "both pods run")
        play.always(lambda: len(launched(play)) > len(marked(play)), "that a node is ready for whoever comes")
        for name in ("app-0", "app-1"):
            await play.delete(PODS, name, grace_seconds=0)
        await play.until(lambda: len(launched(play)) == 1 and not removals(play), "one of the two is gone")
        assert await machines(play) == launched(play)


@STORIES.story(ignores="refused")
async def what_must_not_be_disturbed_stays_until_that_is_over(play: Play) -> None:
    """Of two empty nodes one bears do-not-disrupt: the other goes, and this one when the annotation is taken off."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small", scaleDown=SOON)
        await play.pod("app-0", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app-0"), "the first pod runs")
        (kept,) = launched(play)
        await play.change(NODES, kept, {"metadata": {"annotations": {"growth.dev/do-not-disrupt": "true"}}})
        await play.pod("app-1", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app-1"), "the second pod runs")
        for name in ("app-0", "app-1"):
            await play.delete(PODS, name, grace_seconds=0)
        await play.until(lambda: launched(play) == [kept], "the other node is gone")
        assert not marked(play)
        await play.change(NODES, kept, {"metadata": {"annotations": {"growth.dev/do-not-disrupt": None}}})
        await play.until(lambda: not launched(play), "so is this one")


@STORIES.story(ignores="refused")
async def a_machine_that_cannot_be_deleted_waits_for_a_person(play: Play) -> None:
    """The provider refuses: after some attempts the removal has failed, which is told on it and on its node. The node
    stays marked. When a person has mended it and says so, it is tried again, and goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play) as growth:
        await a_pool(play, scaleDown=SOON)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        (name,) = launched(play)
        await growth.hurt(name, "deleteFails")
        await play.delete(PODS, "app", grace_seconds=0)
        await play.until(lambda: removals(play) == {name: "RemovalFailed"}, "the removal has failed")
        await until_told(play, name, "RemovalFailed")
        removal = play.trace.objects[NODE_REMOVAL_REQUESTS][name]
        assert removal.status.removal_attempt == QUICK.removal.attempts
        assert marked(play) == [name]
        await growth.hurt(name, "")
        await play.change(NODE_REMOVAL_REQUESTS, name, {"metadata": {"annotations": {RETRY: "mended"}}})
        await play.until(lambda: not launched(play), "the node is gone")
        await play.until(lambda: not removals(play), "nothing is left of it")
        assert await machines(play) == []


@STORIES.story(ignores="refused")
async def a_pool_is_drained_as_budgets_allow(play: Play) -> None:
    """A pool is deleted: its nodes take nobody any more, pods leave one after the other, machines go, then the pool."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, "going", types="small", scaleDown=SOON, disruption={"maxUnavailable": "100%"})
        await budgeted(play, "web", pool="going", replicas=2)
        await play.until(lambda: len(play.running("web")) == 2, "both pods run")
        await play.until(lambda: len(launched(play)) == 2, "on nodes of their own")
        await play.node("home", labels={POOL: "going"})
        await play.ready("home")
        play.always(lambda: len(play.running("web")) >= 1, "that one of them runs")
        await play.delete(NODE_POOLS, "going")
        await play.until(lambda: all(play.node_of(pod) == "home" for pod in play.running("web")), "all have moved")
        await play.until(lambda: "going" not in play.trace.objects[NODE_POOLS], "the pool is gone")
        assert launched(play) == ["home"]
        assert await machines(play) == []


@STORIES.story(ignores="refused")
async def an_orphaned_pool_leaves_everything_as_it_is(play: Play) -> None:
    """A pool that is deleted with Orphan goes at once; its machine, its node and who works there stay, unmarked."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small", scaleDown=LATER, deletionPolicy="Orphan")
        for name in ("app-0", "app-1"):
            await play.pod(name, cpu="1500m", nodeSelector={})
        await play.until(lambda: runs(play, "app-0", "app-1"), "both pods run")
        await play.delete(PODS, "app-0", grace_seconds=0)
        await play.until(lambda: marked(play), "one node is marked")
        await play.delete(NODE_POOLS, "default")
        await play.until(lambda: not play.trace.objects[NODE_POOLS], "the pool is gone")
        await play.until(lambda: not play.trace.objects[NODE_REQUESTS], "the garbage collector took its requests")
        assert not marked(play)
        assert await machines(play) == launched(play)
        assert (len(launched(play)), play.pod_is("app-1")(), removals(play)) == (2, True, {})


# The machine's id is in the reason.
@STORIES.story(ignores="is ours")
async def a_leaked_machine_goes_after_its_grace(play: Play) -> None:
    """A machine of ours that no request and no node knows, and that its pool would not buy, is told of and goes."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small")
        large = next(one for one in read_catalogue(CATALOGUE).offerings if one.id == "kwok-large-fsn1")
        request = MachineRequest("default-0123456789", large, "default")
        never = MachineBehavior(timedelta(minutes=5))
        await play.client.create(CONFIG_MAPS, manifest(request, never, play.now()), QUICK.namespace)
        await until_told(play, "default", "LeakedMachine")
        await play.until(lambda: removals(play), "its removal is asked for")
        await play.until(lambda: not removals(play), "it is gone")
        assert await machines(play) == []


@STORIES.story(ignores="refused", unless_stopped="who finds the machine gone already never writes Deprovisioning")
async def a_volume_is_detached_before_its_node_goes(play: Play) -> None:
    """A volume hangs on an empty node, and its kubelet never says that it is unmounted. The machine goes, the node is
    out of service, the volume is let go at once, and only then the Node object goes."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    await play.create(PERSISTENT_VOLUME_CLAIMS, {"metadata": {"name": "data"}, "spec": claim(play)})
    async with growing(play):
        await a_pool(play, types="small", scaleDown=SOON)
        await play.pod("first", cpu="500m", nodeSelector={})
        await play.until(play.pod_is("first"), "the first pod runs")
        (name,) = launched(play)
        managed = {"volumes.kubernetes.io/controller-managed-attach-detach": "true"}
        await play.change(NODES, name, {"metadata": {"annotations": managed}})
        disk = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
        await play.pod("db", cpu="500m", nodeSelector={}, volumes=[disk])
        await play.until(play.pod_is("db", node=name), "the second one, too")
        attachments = play.trace.objects[VOLUME_ATTACHMENTS]
        await play.until(lambda: any(one.status.attached for one in attachments.values()), "its volume is attached")
        in_use = [f"kubernetes.io/csi/{driver(play)}^handle-0"]
        await play.change(NODES, name, {"status": {"volumesInUse": in_use}}, subresource="status")
        for pod in ("first", "db"):
            await play.delete(PODS, pod, grace_seconds=0)
        await play.until(lambda: not launched(play), "the node is gone")
        await play.until(lambda: not removals(play), "nothing is left of it")
        steps = ("Removal.* Deprovisioning", "out-of-service", "VolumeAttachment.* gone", "Node .* gone")
        assert happened(play, *steps) == list(steps)


async def budgeted(play: Play, app: str, *, pool: str, replicas: int) -> None:
    """A Deployment whose pods fill a node each, and a budget that lets one of them be missing."""
    labels = {"matchLabels": {"app": app}}
    template = {"metadata": {"labels": {"app": app}}, "spec": play.pod_spec("1500m", nodeSelector={POOL: pool})}
    await play.create(
        DEPLOYMENTS,
        {"metadata": {"name": app}, "spec": {"replicas": replicas, "selector": labels, "template": template}},
    )
    await play.create(
        POD_DISRUPTION_BUDGETS, {"metadata": {"name": app}, "spec": {"maxUnavailable": 1, "selector": labels}}
    )
