"""Stories of demand: which pods are given machines, from which pool, when, and what is said to those that get none."""

from datetime import timedelta
from functools import partial

import msgspec

from growth.api.annotations import BACK_OFF, back_off_of
from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.node_request import NodeRequest
from growth.api.offering import POOL
from growth.api.settings.model import GrowSettings
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing, until_told
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("demand", alone=True)

# With no node at all the real scheduler looks again only every ten seconds; nobody in these stories may use this one.
TAINTED = ("dedicated=other:NoSchedule",)
SLOW_BOOT = CATALOGUE.replace("bootDelay: 1s", "bootDelay: 4s")
SOLD_OUT, NO_QUOTA = (f"{CATALOGUE}faults: [{fault}]\n" for fault in ("noStock", "quota"))
THREE = ("app-0", "app-1", "app-2")
# All pods are given up before what could not be had is tried again.
SHORT_BACK_OFF = msgspec.structs.replace(
    QUICK,
    grow=GrowSettings(
        count_failures_every=timedelta(milliseconds=300),
        back_off=timedelta(milliseconds=300),
        back_off_at_most=timedelta(milliseconds=600),
    ),
)


@STORIES.story(is_first=True, ignores="refused")
async def a_burst_of_pods_is_one_plan(play: Play) -> None:
    """Eight pods fill one large machine, which is the cheapest for all of them and for none of them alone."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play)
        await play.until(lambda: _is_usable(play, "default"), "the pool is usable")
        for number in range(8):
            await play.pod(f"app-{number}", cpu="900m", nodeSelector={})
        await play.until(lambda: _run(play, *(f"app-{number}" for number in range(8))), "all pods run")
    assert _bought(play) == ["kwok-large-fsn1"]


@STORIES.story(ignores="refused")
async def a_pool_that_is_not_there_is_told_and_planned_for_when_it_appears(play: Play) -> None:
    """A pod asks for a pool that does not exist. There is a default, which it never gets; then its pool appears."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play)
        await play.pod("trainer", cpu="1500m", nodeSelector={POOL: "gpu"})
        await until_told(play, "trainer", "NoSuchPool")
        assert _bought(play) == []
        await a_pool(play, "gpu", "medium")
        await play.until(play.pod_is("trainer"), "the pod runs")
    assert _bought(play) == ["kwok-medium-fsn1"]
    assert {one.spec.pool for one in _requests(play)} == {"gpu"}


@STORIES.story(ignores="refused")
async def without_a_default_pool_pods_must_ask_for_one(play: Play) -> None:
    """A pod that asks for no pool is told that there is no default; when there is one, it gets a machine."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, "gpu", "medium")
        await play.pod("app", cpu="1500m", nodeSelector={})
        await until_told(play, "app", "NoPool")
        assert _bought(play) == []
        await a_pool(play)
        await play.until(play.pod_is("app"), "the pod runs")
    assert _bought(play) == ["kwok-small-fsn1"]


@STORIES.story(ignores="refused")
async def node_affinity_chooses_the_pool(play: Play) -> None:
    """A pod may ask for pools by its required node affinity, too, and may say which it does not want."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play)
        await a_pool(play, "batch", "medium")
        terms = [
            {"matchExpressions": [{"key": POOL, "operator": "In", "values": ["nowhere"]}]},
            {
                "matchExpressions": [
                    {"key": POOL, "operator": "Exists"},
                    {"key": POOL, "operator": "NotIn", "values": ["default"]},
                ]
            },
        ]
        required = {"requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": terms}}
        await play.pod("job", cpu="1500m", nodeSelector={}, affinity={"nodeAffinity": required})
        await play.until(play.pod_is("job"), "the pod runs")
    assert [(one.spec.pool, one.spec.target_offering) for one in _requests(play)] == [("batch", "kwok-medium-fsn1")]


@STORIES.story(ignores="refused")
async def free_room_is_used_before_anything_is_bought(play: Play) -> None:
    """A node that stands takes two of three pods. One small machine is bought, for the third."""
    await play.node("own", cpu="2")
    await play.ready("own")
    async with growing(play):
        await a_pool(play)
        for number in range(3):
            await play.pod(f"app-{number}", cpu="1", nodeSelector={})
        await play.until(lambda: _run(play, "app-0", "app-1", "app-2"), "all pods run")
    assert _bought(play) == ["kwok-small-fsn1"]
    assert sorted(play.node_of(play.trace.pods[f"app-{number}"]) == "own" for number in range(3)) == [False, True, True]


@STORIES.story(ignores="refused")
async def pods_join_a_machine_that_is_coming(play: Play) -> None:
    """A machine takes its time to boot. A pod that comes meanwhile and fits it joins it, and nothing more is bought."""
    await play.node("other", taints=TAINTED)
    async with growing(play, catalogue=SLOW_BOOT):
        await a_pool(play)
        await play.pod("first", cpu="900m", nodeSelector={})
        await play.until(lambda: _phases(play) == ["Provisioning"], "the machine is coming")
        await play.pod("second", cpu="900m", nodeSelector={})
        await play.until(lambda: _run(play, "first", "second"), "both pods run")
    assert _bought(play) == ["kwok-small-fsn1"]
    assert len(_requests(play)[0].planned_for) == 2


@STORIES.story(ignores="refused")
async def a_pod_that_nothing_fits_is_told_why_and_helped_when_its_pool_changes(play: Play) -> None:
    """No type of its pool is large enough: the reason is told, it is tried less and less often, then not at all. When
    a larger type is added to the pool it is planned for at once, and what was written on it is gone when it runs."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small medium")
        await play.pod("huge", cpu="6", nodeSelector={})
        await until_told(play, "huge", "NoPlacement")
        await until_told(play, "huge", "BackOff")
        await play.until_found(lambda: _is_given_up(play, "huge"), "BackOff is written on it")
        types = [{"name": name} for name in ("small", "medium", "large")]
        await play.change(NODE_POOLS, "default", {"spec": {"serverTypes": types}})
        await play.until(play.pod_is("huge"), "the pod runs")
        await play.until_found(lambda: _is_unmarked(play, "huge"), "nothing is written on it any more")
    assert _bought(play) == ["kwok-large-fsn1"]


# Whether the node is remembered before the scenario ends is left to chance.
@STORIES.story(ignores="refused,remembered")
async def back_off_survives_a_restart(play: Play) -> None:
    """Growth ends and starts anew: a pod in BackOff stays there, until a person adds a node that fits it."""
    await play.node("other", taints=TAINTED)
    async with growing(play):
        await a_pool(play, types="small")
        await play.pod("huge", cpu="6", nodeSelector={})
        await play.until_found(lambda: _is_given_up(play, "huge"), "BackOff is written on it")
    before = await _record(play, "huge")
    async with growing(play):
        # Somebody else's pod is served, so Growth has looked at everything.
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "another pod runs")
        assert await _record(play, "huge") == before
        await play.node("own", cpu="8")
        await play.until(play.pod_is("huge"), "the pod runs on the new node")
        await play.until_found(lambda: _is_unmarked(play, "huge"), "nothing is written on it any more")
    assert _bought(play) == ["kwok-small-fsn1"]


@STORIES.story(ignores="refused")
async def a_pool_whose_pods_are_all_in_back_off_comes_back_when_there_is_stock(play: Play) -> None:
    """All that the pool may buy is sold out, until all of its pods are given up. Then there are machines again."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=SHORT_BACK_OFF, catalogue=SOLD_OUT) as growth:
        await a_pool(play, types="small", locations=["fsn1"])
        await _give_up(play, *THREE)
        growth.set_catalogue(CATALOGUE)
        await _all_is_well(play, *THREE)
    assert _bought(play) == ["kwok-small-fsn1"] * 3


@STORIES.story(ignores="refused")
async def after_a_failure_one_machine_is_bought_to_see_whether_it_comes(play: Play) -> None:
    """The account may have no machines, and all pods are given up. Then it may: when the time of the failed purchases
    is over, one machine is bought, and when it could be had, those for all others."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=SHORT_BACK_OFF, catalogue=NO_QUOTA) as growth:
        await a_pool(play, types="small", locations=["fsn1"])
        await _give_up(play, *THREE)
        growth.set_catalogue(CATALOGUE)
        await _all_is_well(play, *THREE)
    assert _bought(play) == ["kwok-small-fsn1"] * 3
    told = [one.what for one in play.trace.seen if one.subject.startswith("NodeRequest ")]
    last = max(at for at, what in enumerate(told) if what == "Unmet")
    then = [what for what in told[last:] if what in ("asks for kwok-small-fsn1", "Provisioning")]
    assert then[:2] == ["asks for kwok-small-fsn1", "Provisioning"], "the first is waited for"


async def _give_up(play: Play, *names: str) -> None:
    for name in names:
        await play.pod(name, cpu="1500m", nodeSelector={})
    for name in names:
        await play.until_found(partial(_is_given_up, play, name), f"{name} is given up")


async def _all_is_well(play: Play, *names: str) -> None:
    await play.until(lambda: _run(play, *names), "all pods run")
    for name in names:
        await play.until_found(partial(_is_unmarked, play, name), f"nothing is written on {name} any more")


def _requests(play: Play) -> list[NodeRequest]:
    return list(play.trace.objects[NODE_REQUESTS].values())


def _bought(play: Play) -> list[str]:
    """What was asked for and not given up."""
    return sorted(one.spec.target_offering for one in _requests(play) if one.status.phase != "Unmet")


def _phases(play: Play) -> list[str]:
    return sorted(one.status.phase for one in _requests(play))


def _run(play: Play, *names: str) -> bool:
    return all(play.pod_is(name)() for name in names)


def _is_usable(play: Play, pool: str) -> bool:
    known = play.trace.objects[NODE_POOLS].get(pool)
    return known is not None and any(one.type == "Valid" and one.status == "True" for one in known.status.conditions)


async def _record(play: Play, name: str) -> object:
    return back_off_of(await play.client.get(PODS, name, play.namespace))


async def _is_given_up(play: Play, name: str) -> bool:
    record = back_off_of(await play.client.get(PODS, name, play.namespace))
    return record is not None and record.is_final


async def _is_unmarked(play: Play, name: str) -> bool:
    return BACK_OFF not in (await play.client.get(PODS, name, play.namespace)).metadata.annotations
