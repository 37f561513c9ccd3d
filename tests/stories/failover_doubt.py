"""Work never leaves a machine that may be alive: what is no proof, and which brakes hold what is proven."""

import msgspec

from growth.api.kinds import CONFIG_MAPS, PODS
from growth.api.out_of_service import proof_on
from growth.api.settings.model import RegistrySettings
from growth.cloud.kwok.machine_record import FENCED_AT, config_map_name
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, Growth, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.cluster_life import storage
from tests.stories.failover_scene import (
    CHANCE,
    HELD,
    LONG,
    OUT,
    a_database,
    acting,
    on_one_node,
    out,
    some_nodes,
    until_it_moved,
    until_noted,
    until_out,
    until_silent,
)
from tests.stories.registry import PATIENT
from tests.stories.shrinking import TAINTED

STORIES = Stories("failover", alone=True)
# Four may be silent at once, and the cluster is healthy.
TOLERANT = msgspec.structs.replace(
    QUICK, registry=msgspec.structs.replace(QUICK.registry, ok_unready=RegistrySettings().ok_unready + 1)
)


@STORIES.story(ignores=CHANCE)
async def a_partition_is_told_of_and_a_reboot_is_waited_for(play: Play) -> None:
    """One machine runs and is cut off; another one is without power for a while and boots again. People hear of the
    first one. Neither is taken out of service, however long it takes, and both work again."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=acting(proven_after=LONG)) as growth:
        play.always(lambda: not out(play), "that nothing is out of service")
        cut_off, reboots = await some_nodes(play, 2)
        for name in (cut_off, reboots):
            await play.pod(f"on-{name}", nodeSelector={}, nodeName=name, tolerations=PATIENT)
        await play.until(lambda: all(play.pod_is(f"on-{name}")() for name in (cut_off, reboots)), "both are used")
        before = play.trace.nodes[reboots].status.node_info.boot_id
        await growth.hurt(cut_off, "neverReady")
        await growth.hurt(reboots, "powerOff")
        await until_silent(play, cut_off, reboots)
        await until_told(play, cut_off, "Unreachable")
        await until_noted(play, reboots, "Off")
        for name in (cut_off, reboots):
            await growth.hurt(name, "")
        await play.ready(cut_off, reboots)
        assert play.trace.nodes[reboots].status.node_info.boot_id != before
        assert len([pod for pod in play.trace.pods.values() if pod.status.phase == "Running"]) == 2


@STORIES.story(ignores=CHANCE)
async def a_machine_that_is_cut_off_is_fenced_where_that_is_allowed(play: Play) -> None:
    """It runs, so nothing is proven. Growth powers it off, proves that, and only then moves the database."""
    await play.node("other", taints=TAINTED)
    await storage(play)
    on_one_node(play)
    async with growing(play, settings=acting(fence=True)) as growth:
        names = await some_nodes(play, 2)
        dies = await a_database(play)
        (heir,) = set(names) - {dies}
        await growth.hurt(dies, "neverReady")
        await until_out(play, dies)
        record = await play.client.get(CONFIG_MAPS, config_map_name(dies), QUICK.namespace)
        proof = proof_on(play.trace.nodes[dies])
        assert FENCED_AT in record.metadata.annotations
        assert proof is not None
        assert proof.power == "off"
        await until_it_moved(play, heir)
        await until_told(play, dies, "Fencing")


@STORIES.story(ignores=CHANCE)
async def a_provider_that_shows_no_machines_proves_nothing(play: Play) -> None:
    """It says of all its machines that they are not there, one of which has no power. As soon as it shows them again,
    that one is failed over."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=acting()) as growth:
        names = await some_nodes(play, 3)
        dies, *others = names
        await play.pod("app", nodeSelector={}, nodeName=dies, tolerations=PATIENT)
        await play.until(play.pod_is("app"), "a pod runs there")
        for name in others:
            await growth.hurt(name, "listEmpty")
        await growth.hurt(dies, "listEmpty, powerOff")
        await until_silent(play, dies)
        await until_noted(play, dies, "Unknowable")
        assert not out(play)
        await growth.hurt(dies, "powerOff")
        await until_out(play, dies)
        await play.until(lambda: "app" not in play.trace.pods, "its pod is let go")
        assert out(play) == [dies]


@STORIES.story(ignores=CHANCE, unless_stopped="Growth plays the machines: they die one by one if it dies in between")
async def half_of_a_zone_is_not_failed_over(play: Play) -> None:
    """Three of five nodes of a zone lose their power at once. That is no trouble of single machines: nothing is
    tainted, and people hear of it. When one of them is back, the other two go one by one."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=acting()) as growth:
        first, second, third, *_ = await some_nodes(play, 5)
        for name in (first, second, third):
            await growth.hurt(name, "powerOff")
        await until_told(play, first, "ZoneFailure")
        await until_told(play, third, "ZoneFailure")
        await until_silent(play, first, second, third)
        assert not out(play)
        await growth.hurt(third, "")
        await play.until(lambda: out(play) == [first, second], "the other two are out of service")
        await play.ready(third)


@STORIES.story(ignores=CHANCE)
async def too_many_at_once_wait_for_their_turn(play: Play) -> None:
    """Four of eight lose their power, one after the other, and pods that nobody lets go hang on them. Two are failed
    over; the others wait until something is finished, and whoever is silent for longer comes first."""
    await play.node("other", taints=TAINTED)
    async with growing(play, settings=acting(TOLERANT)) as growth:
        names = (await some_nodes(play, 8))[:4]
        for name in names:
            await _a_kept_pod(play, name)
        await _cut_one_by_one(play, growth, names)
        await until_noted(play, names[3], "TooMany")
        assert _went_out(play) == names[:2]
        for number, name in enumerate(names[:2]):
            await play.change(PODS, f"on-{name}", {"metadata": {"finalizers": None}})
            await until_out(play, names[number + 2])
            assert _went_out(play) == names[: number + 3]
        for name in names[2:]:
            await play.change(PODS, f"on-{name}", {"metadata": {"finalizers": None}})
        await play.until(lambda: not play.trace.pods, "in the end all pods are gone")


async def _a_kept_pod(play: Play, node: str) -> None:
    spec = play.pod_spec(nodeSelector={}, nodeName=node, tolerations=PATIENT)
    await play.create(PODS, {"metadata": {"name": f"on-{node}", "finalizers": [HELD]}, "spec": spec})
    await play.until(play.pod_is(f"on-{node}"), "a pod runs there")


async def _cut_one_by_one(play: Play, growth: Growth, names: list[str]) -> None:
    for name in names:
        await growth.hurt(name, "powerOff")
        await until_noted(play, name, "Off")


def _went_out(play: Play) -> list[str]:
    """In the order in which they did."""
    by_uid = {node.metadata.uid: name for name, node in play.trace.nodes.items()}
    return [by_uid[one.uid] for one in play.trace.seen if one.what.startswith(OUT)]
