"""Stories of the cluster state registry: the use cases UC1 to UC8 of its seed, as somebody sees them who looks on."""

from collections.abc import Callable
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS
from growth.api.kinds import PODS
from growth.api.node_pool import NodeCounts, NodePool, NodePoolStatus
from growth.api.node_removal_request import RETRY
from growth.api.offering import OFFERING, POOL
from growth.api.settings.model import Settings
from growth.api.status import condition_of
from growth.decide.pool_status.conditions import HEALTHY
from growth_lab.scenarios.context import Json, Play
from growth_lab.scenarios.registry import cluster_status, until_status
from growth_lab.scenarios.replica import QUICK, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.stories.growing_nodes import HASTY, machines, offerings, phases, requests, runs, where_small
from tests.stories.shrinking import launched, marked, removals

STORIES = Stories("registry", alone=True)

# With no node at all the real scheduler looks again only every ten seconds. Who tells the time works here, too.
TAINTED: Final = ("dedicated=other:NoSchedule",)
# Taints of nodes that come and go, and how often a pod is tried, are left to chance; so is whether somebody sees each
# number that a pool says.
CHANCE: Final = "node.kubernetes.io,unknown,refused,Coming"
# An empty node stays as long as these stories last; one that is unready for long does not.
SCALE_DOWN: Final = {"emptyAfter": "2m", "unreadyAfter": "6s", "delayAfterScaleUp": "0s"}
# Nobody but Growth ends these.
PATIENT: Final = [
    {"key": f"node.kubernetes.io/{one}", "operator": "Exists", "effect": "NoExecute"}
    for one in ("unreachable", "not-ready")
]
# Two types of one size, so that each pod needs a machine of its own, whichever it is.
TWINS: Final = """
provider: kwok
bootDelay: 1s
locations: {fsn1: {}}
reserved: {cpu: 100m, memory: 256Mi}
serverTypes:
  - {name: cheap, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.01}, faults: [FAULTS]}
  - {name: dear, resources: {cpu: 2, memory: 4Gi}, prices: {fsn1: 0.02}}
"""
CHEAP, DEAR = "kwok-cheap-fsn1", "kwok-dear-fsn1"


@STORIES.story(is_first=True, ignores=CHANCE)
async def a_machine_that_is_coming_is_bought_once(play: Play) -> None:
    """UC1, UC2, S3: it is asked for, boots, registers, and is not ready yet. All that time it counts for its pods, also
    for one that comes later and for a Growth that was just started: there is no second machine."""
    slow = where_small("neverReady", boot_seconds=3)
    await play.node("other", taints=TAINTED)
    play.always(lambda: len(requests(play)) <= 1, "that nothing is bought twice")
    async with growing(play, catalogue=slow):
        await a_pool(play)
        await play.pod("app", cpu="900m", nodeSelector={})
        await play.until(lambda: phases(play) == ["Provisioning"], "a machine is coming")
        await until_pool(play, lambda said: count_of(said).coming == 1, "a machine is coming (UC1)")
    async with growing(play, catalogue=slow) as growth:
        await play.pod("late", cpu="800m", nodeSelector={})
        await play.until(lambda: launched(play), "its node has registered")
        await until_pool(play, lambda said: count_of(said).starting == 1, "its node is booting (UC2)")
        (name,) = launched(play)
        assert not play.trace.nodes[name].is_ready
        await growth.hurt(name, "")
        await play.until(lambda: runs(play, "app", "late"), "both pods run on it")
        assert await machines(play) == [name]
    assert offerings(play) == ["kwok-small-fsn1"]


@STORIES.story(ignores=CHANCE, unless_stopped="who dies between giving it up and saying so takes that with him")
async def what_failed_to_start_is_given_up_and_not_launched_until_a_probe_works(play: Play) -> None:
    """UC3, S2: a node registers and never becomes ready. Its time over, its machine goes, and its type is not launched
    for the next pods either. Once its wait is over, one machine beside a working one shows that it works again."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=STRICT, catalogue=twins("neverReady")) as growth:
        await a_pool(play, types="cheap dear", scaleDown=SCALE_DOWN)
        await play.pod("first", cpu="1500m", nodeSelector={})
        await play.until(lambda: healthy(play) == "OfferingUnhealthy", "its pool says what is not bought")
        assert [one.offering for one in pool(play).status.unhealthy] == [CHEAP]
        growth.set_catalogue(twins())
        await play.until(play.pod_is("first"), "the pod runs elsewhere")
        await play.pod("second", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("second"), "so does the next one")
        assert healthy(play) == "OfferingUnhealthy"
        await play.until(lambda: healthy(play) == "Healthy", "all was well for a while")
        await play.pod("third", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("third"), "the third runs")
        await play.until(lambda: not pool(play).status.failed_launches, "a probe has shown that the type works")
        await play.pod("fourth", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("fourth"), "the fourth runs")
        await play.until(lambda: not removals(play), "the machine that failed is gone")
    assert [launched_as(play, name) for name in ("first", "second")] == [DEAR, DEAR]
    assert CHEAP in {launched_as(play, name) for name in ("third", "fourth")}


@STORIES.story(ignores=CHANCE)
async def only_what_did_not_arrive_is_given_up(play: Play) -> None:
    """UC4, S4: a provider accepts two machines and never creates the one. The pool says since when it is missing; its
    time over, that request is Unmet and its pod gets another machine. The one that came is not touched."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=HASTY, catalogue=where_small("vanishes")):
        play.always(lambda: not removals(play), "that nothing is removed")
        await a_pool(play)
        await play.pod("little", cpu="1500m", nodeSelector={})
        await play.pod("big", cpu="3500m", nodeSelector={})
        await play.until(lambda: runs(play, "big"), "the one that came is used")
        await until_pool(play, lambda said: said.missing_since is not None, "a machine is missing since some time")
        await play.until(lambda: runs(play, "little"), "the other pod runs, too")
        await until_pool(play, lambda said: said.missing_since is None, "nothing is missing any more")
    asked = asked_for(play)
    assert {asked[one.uid] for one in play.trace.seen if one.what == "Unmet"} == {"asks for kwok-small-fsn1"}
    assert list(asked.values()).count("asks for kwok-medium-fsn1") == 2


@STORIES.story(ignores=CHANCE, unless_stopped="a machine that is gone holds nobody up, whether that is noted or not")
async def machines_that_never_register_go_one_by_one(play: Play) -> None:
    """UC5: three machines run and no node comes of them. The oldest goes first, the next one when nothing of it is
    left; their pods get machines of another offering."""
    await play.node("other", taints=TAINTED)
    gone: list[str] = []
    play.trace.when_seen.append(lambda: gone.extend(one for one in removals(play) if one not in gone))
    play.always(lambda: len(removals(play)) <= 1, "that they go one by one")
    async with growing(play, settings=HASTY, catalogue=twins("neverRegisters")):
        await a_pool(play, types="cheap dear", scaleDown=SCALE_DOWN)
        for number in range(3):
            await play.pod(f"app-{number}", cpu="1500m", nodeSelector={})
            await play.until(lambda count=number + 1: phases(play) == ["Provisioning"] * count, "its machine is there")
        ages = {one.metadata.name: one.status.phase_since for one in requests(play)}
        await play.until(lambda: runs(play, "app-0", "app-1", "app-2"), "the three pods run")
        await play.until(lambda: len(gone) == 3 and not removals(play), "all three have gone")
        assert gone == sorted(ages, key=lambda name: (ages[name], name))
        assert await machines(play) == launched(play)
    assert {launched_as(play, f"app-{number}") for number in range(3)} == {DEAR}


@STORIES.story(ignores=CHANCE)
async def nodes_that_are_unready_for_long(play: Play) -> None:
    """UC6: an empty one is removed, and so is one whose machine is off. One with pods whose machine is on is only told
    of, unless its pool allows more: then its pods run elsewhere. One that comes back in time keeps its machine."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=TOLERANT) as growth:
        await a_pool(play, types="small", scaleDown=SCALE_DOWN)
        await a_pool(play, "bold", types="small", scaleDown={**SCALE_DOWN, "removeUnreachable": True})
        await a_deployment(play, "web", pool="bold")
        await play.until(lambda: len(play.running("web")) == 1, "the Deployment's pod runs")
        names = [f"{one}-pod" for one in ("empty", "off", "busy", "back")]
        for name in names:
            await play.pod(name, cpu="1500m", nodeSelector={POOL: "default"}, tolerations=PATIENT)
        await play.until(lambda: runs(play, *names), "all pods run")
        empty, off, busy, back = (play.trace.pods[name].node_name for name in names)
        (lost,) = [play.node_of(pod) for pod in play.running("web")]
        await play.delete(PODS, "empty-pod", grace_seconds=0)
        silent = (empty, off, busy, back, lost)
        for name in silent:
            await growth.hurt(name, "powerOff" if name == off else "neverReady")
        await play.until(lambda: not any(play.trace.nodes[name].is_ready for name in silent), "all five are silent")
        await growth.hurt(back, "")
        await play.ready(back)
        await until_told(play, busy, "Unreachable")
        await play.until(lambda: not {empty, off, lost} & play.trace.nodes.keys(), "three of them are gone")
        await play.until(lambda: elsewhere(play, "web", lost), "the Deployment's pod runs elsewhere")
        await play.until(lambda: "off-pod" not in play.trace.pods, "who cannot run any more is let go")
        await play.until(lambda: not removals(play), "nothing is left of the three")
        assert {busy, back} == {name for name in launched(play) if in_pool(play, name) == "default"}
        assert await machines(play) == launched(play)
        assert runs(play, "back-pod")
        assert "busy-pod" in play.trace.pods


@STORIES.story(ignores=CHANCE)
async def a_node_that_is_being_removed_is_not_unready(play: Play) -> None:
    """UC7: its machine cannot be deleted, and it falls silent. Where one unready node would halt everything, this one
    does not: the next pod gets its machine."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=STRICT) as growth:
        play.always(lambda: healthy(play) in ("", "Healthy"), "that nobody speaks of an unhealthy cluster")
        await a_pool(play, types="small", scaleDown={**SCALE_DOWN, "emptyAfter": "1s"})
        await play.pod("early", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("early"), "the pod runs")
        (name,) = launched(play)
        await growth.hurt(name, "deleteFails")
        await play.delete(PODS, "early", grace_seconds=0)
        await play.until(lambda: removals(play), "its removal is asked for")
        await growth.hurt(name, "deleteFails, neverReady")
        await play.until(lambda: not play.trace.nodes[name].is_ready, "the node is silent")
        await play.until(lambda: removals(play) == {name: "RemovalFailed"}, "its removal has failed")
        await until_status(play, lambda said: said.states.get("RemovalFailed") == 1, "it could not be removed")
        assert (await cluster_status(play)).unready == 0
        await play.pod("late", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("late"), "the next pod runs")
        await growth.hurt(name, "neverReady")
        await play.change(NODE_REMOVAL_REQUESTS, name, {"metadata": {"annotations": {RETRY: "mended"}}})
        await play.until(lambda: name not in play.trace.nodes and not removals(play), "it is gone after all")


# Whether one look finds the first of them silent, or all four, is left to chance.
@STORIES.story(ignores=f"{CHANCE},OfferingUnhealthy")
async def most_nodes_fall_silent_and_everything_halts(play: Play) -> None:
    """UC8, S1: that may be a partition. Nothing is bought for a new pod and nothing removed, however long it lasts; who
    was on the way out stays. When the nodes are back, it goes on: the pod gets its machine, and nobody's is gone."""
    await play.node("other", taints=TAINTED)
    async with growing(play) as growth:
        play.always(lambda: not removals(play), "that nothing is removed")
        await a_pool(play, scaleDown={**SCALE_DOWN, "emptyAfter": "15s"})
        silent = await small_nodes(play, 4)
        await play.pod("spare", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("spare"), "a fifth node is there")
        before = launched(play)
        await play.delete(PODS, "spare", grace_seconds=0)
        await play.until(lambda: marked(play), "the node that nobody needs is marked")
        for name in silent:
            await growth.hurt(name, "neverReady")
        await until_status(play, lambda said: said.is_halted and said.unready == 4, "everything halts")
        await play.until(lambda: healthy(play) == "ClusterUnhealthy", "the pool says so, too")
        await play.until(lambda: not marked(play), "the mark is taken off")
        await play.pod("new", cpu="3500m", nodeSelector={})
        await some_time(play, "10s")
        assert (launched(play), len(asked_for(play))) == (before, 5)
        for name in silent:
            await growth.hurt(name, "")
        await play.ready(*silent)
        await play.until(play.pod_is("new"), "the new pod runs")
        await play.until(lambda: healthy(play) == "Healthy", "the pool is healthy")
        said = await cluster_status(play)
        assert (said.is_healthy, said.is_halted, said.healthy_since is not None) == (True, False, True)
        assert len(launched(play)) == 6
        assert set(before) < set(launched(play))


@STORIES.story(ignores=CHANCE)
async def silent_nodes_of_others_halt_for_a_while_only(play: Play) -> None:
    """S1: they may be the sign of a partition, or nobody may ever mend them. So a new pod waits for its machine, but
    not for ever; the alarm stays."""
    await play.node("other", taints=TAINTED)
    foreign = [f"foreign-{number}" for number in range(4)]
    for name in foreign:
        await play.node(name, cpu="100m")
    await play.ready(*foreign)
    async with growing(play):
        await a_pool(play)
        for name in foreign:
            await play.silence(name)
        await until_status(play, lambda said: said.is_halted and said.foreign_unready == 4, "everything halts")
        await play.pod("app", cpu="1500m", nodeSelector={})
        await until_status(play, lambda said: not said.is_halted, "it goes on")
        assert requests(play) == []
        await play.until(play.pod_is("app"), "the pod runs")
        assert not (await cluster_status(play)).is_healthy
        assert healthy(play) == "ClusterUnhealthy"


def _with(settings: Settings, **registry: int | timedelta) -> Settings:
    return msgspec.structs.replace(settings, registry=msgspec.structs.replace(settings.registry, **registry))


# One that is amiss is too many.
STRICT: Final = msgspec.structs.replace(
    _with(HASTY, ok_unready=0, unready_percent=10, pool_ok_amiss=0, improves_after=timedelta(seconds=8)),
    provision=msgspec.structs.replace(HASTY.provision, unmet=timedelta(seconds=0.5)),
)
# Five are not.
TOLERANT: Final = _with(QUICK, ok_unready=5, pool_ok_amiss=5)


def twins(faults: str = "") -> str:
    """What is sold, where this goes wrong with the cheap ones."""
    return TWINS.replace("FAULTS", faults)


def pool(play: Play) -> NodePool:
    """The pool that most of these stories have."""
    return play.trace.objects[NODE_POOLS]["default"]


async def until_pool(play: Play, condition: Callable[[NodePoolStatus], bool], what: str) -> None:
    """Wait until it says so. Not all that it says is something to be seen by who looks on, so it is asked about."""

    async def is_said() -> bool:
        return condition(pool(play).status)

    await play.until_found(is_said, f"the pool says that {what}")


def count_of(said: NodePoolStatus) -> NodeCounts:
    return said.nodes or NodeCounts()


def healthy(play: Play) -> str:
    """What that pool says about its health, in a word; empty if nothing yet."""
    found: NodePool | None = play.trace.objects[NODE_POOLS].get("default")
    condition = condition_of(found.status.conditions, HEALTHY) if found is not None else None
    return condition.reason if condition is not None else ""


def asked_for(play: Play) -> dict[str, str]:
    """All requests that ever were, by uid."""
    return {one.uid: one.what for one in play.trace.seen if one.what.startswith("asks for")}


def elsewhere(play: Play, app: str, lost: str) -> bool:
    """Whether the one pod of an app runs, and not on the node that was lost."""
    return [play.node_of(pod) != lost for pod in play.running(app)] == [True]


def in_pool(play: Play, name: str) -> str:
    return play.trace.nodes[name].metadata.labels[POOL]


def launched_as(play: Play, pod: str) -> str:
    """What the machine is that a pod runs on."""
    return play.trace.nodes[play.trace.pods[pod].node_name].metadata.labels[OFFERING]


async def small_nodes(play: Play, count: int) -> list[str]:
    """So many small nodes, each with a pod of its own that stays whatever happens."""
    names = [f"app-{number}" for number in range(count)]
    for name in names:
        await play.pod(name, cpu="1500m", nodeSelector={}, tolerations=PATIENT)
        await play.until(play.pod_is(name), "the pod runs")
    return [play.trace.pods[name].node_name for name in names]


async def a_deployment(play: Play, app: str, *, pool: str) -> None:
    """One pod that fills a node, and is made anew when it is lost."""
    spec = play.pod_spec("1500m", nodeSelector={POOL: pool}, tolerations=PATIENT)
    labels: Json = {"app": app}
    template = {"metadata": {"labels": labels}, "spec": spec}
    body = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    await play.create(DEPLOYMENTS, {"metadata": {"name": app}, "spec": body})


async def some_time(play: Play, duration: str) -> None:
    """Somebody works for so long elsewhere: time passes, and what should not happen had its chance."""
    work = play.pod_spec("10m", nodeName=play.full("other"), tolerations=[{"operator": "Exists"}])
    meta = {"name": "clock", "annotations": {"growth.dev/finish-after": duration}}
    await play.create(PODS, {"metadata": meta, "spec": work})
    await play.until(play.pod_is("clock", "Succeeded"), f"{duration} have passed")
