"""``growth node out-of-service``: proven first, then written in one edit; and all that is refused."""

import asyncio
from collections.abc import Sequence
from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from growth.api.kinds import NODES
from growth.api.machine import Power
from growth.api.offering import POOL
from growth.api.out_of_service import HARDWARE, PROOF, SHUTDOWN, out_of_service_taint, proof_on
from growth.api.timestamp import format_time
from growth.cli.errors import NotDone, UsageError
from growth.cli.main import main
from growth.cloud.errors import ProviderError, Unavailable
from growth.kube.patches import MergePatch
from tests.cli.node_scene import DEAD, WELL, Desk, at_a_desk
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence


async def is_untouched(desk: Desk) -> bool:
    node = await desk.node()
    return out_of_service_taint(node) is None and PROOF not in node.metadata.annotations


def test_a_machine_that_is_off_is_proven_and_its_node_taken_out() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        began = desk.now()
        await desk.take_out()
        node = await desk.node()
        proof = proof_on(node)
        assert out_of_service_taint(node) == SHUTDOWN
        assert proof is not None
        assert (proof.by, proof.is_forced, proof.readings, proof.power) == ("anna@desk", False, 3, Power.OFF)
        assert proof.last_reading - proof.first_reading >= timedelta(seconds=10)
        assert proof.last_sign < began <= proof.first_reading
        assert proof.provider_id == f"oracle://{DEAD}"
        assert proof.last_reading <= proof.tainted_at <= desk.now()
        assert desk.said == [
            "oracle says: off (answer 1, 3 are needed)",
            "oracle says: off (answer 2, 3 are needed)",
            "oracle says: off (answer 3, 3 are needed)",
            f"node {DEAD} is out of service",
        ]

    at_a_desk(tell)


@pytest.mark.parametrize(
    ("power", "reason", "value"),
    [
        (Power.FAILED, "", HARDWARE),
        (Power.OFF, "hardwarefailure", HARDWARE),
        (Power.FAILED, "nodeshutdown", SHUTDOWN),
    ],
)
def test_the_reason_is_what_the_provider_says_or_the_person(power: Power, reason: str, value: object) -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        desk.oracle.powers = [power]
        await desk.take_out(reason=reason)
        assert out_of_service_taint(await desk.node()) == value

    at_a_desk(tell)


def test_a_node_that_is_still_ready_must_miss_two_renewals_before_our_eyes() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence()
        began = desk.now()
        await desk.take_out()
        assert (await desk.node()).is_ready
        assert out_of_service_taint(await desk.node()) == SHUTDOWN
        assert desk.now() - began >= timedelta(seconds=20)
        assert "Kubernetes still calls it Ready" in desk.words

    at_a_desk(tell)


@pytest.mark.parametrize(
    ("powers", "is_changing", "words"),
    [
        (
            [Power.ON],
            False,
            f"oracle://{DEAD} runs, says oracle.*--fence powers it off first.*kubectl drain",
        ),
        ([Power.OFF, Power.OFF, Power.ON], False, "runs, says oracle"),
        ([Power.STOPPING], False, "is stopping, which is neither on nor off; nothing was done. Ask again when"),
        ([Power.UNKNOWN], False, "is unknown, which is neither on nor off"),
        ([Power.OFF], True, "is off, and something is being done to it; nothing was done"),
        (
            [Unavailable("no route", may_have_acted=False)],
            False,
            "nobody can tell how its machine is: oracle: no route",
        ),
    ],
    ids=["runs", "runs after all", "stops", "is moved", "is rebooted", "nobody answers"],
)
def test_what_is_not_proven_is_refused(powers: Sequence[Power | ProviderError], is_changing: bool, words: str) -> None:  # noqa: FBT001
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        desk.oracle.powers, desk.oracle.is_changing = powers, is_changing
        with pytest.raises(NotDone, match=words) as refused:
            await desk.take_out()
        assert refused.value.exit_code == 1
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_a_provider_that_stumbles_once_is_asked_again() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        desk.oracle.powers = [Unavailable("busy", may_have_acted=False), Power.OFF]
        await desk.take_out()
        assert "oracle does not answer (1 of 3): busy" in desk.words
        assert not await is_untouched(desk)

    at_a_desk(tell)


def test_a_node_that_renews_its_lease_lives_whatever_its_provider_says() -> None:
    async def tell(desk: Desk) -> None:
        with pytest.raises(NotDone, match=f"node {DEAD} lives: it renewed its Lease at .*; nothing was done"):
            await desk.take_out()
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_a_provider_that_has_forgotten_a_machine_that_works_is_not_believed() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        desk.oracle.listed, desk.oracle.powers = ["another"], [Power.GONE]
        with pytest.raises(NotDone, match=f"knows neither its machine nor that of {WELL}.*the right account of oracle"):
            await desk.take_out()
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_a_provider_that_may_never_have_had_the_machine_is_not_believed() -> None:
    async def tell(desk: Desk) -> None:
        await desk.client.patch(NODES, DEAD, MergePatch({"metadata": {"labels": {POOL: None}}}))
        await desk.silence_for_long()
        desk.oracle.listed, desk.oracle.powers = [WELL], [Power.GONE]
        with pytest.raises(NotDone, match="it may never have had it"):
            await desk.take_out()
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_a_machine_that_is_gone_is_dead() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        desk.oracle.listed, desk.oracle.powers = [WELL], [Power.GONE]
        await desk.take_out()
        assert out_of_service_taint(await desk.node()) == SHUTDOWN

    at_a_desk(tell)


def test_where_nobody_can_be_asked_it_says_what_to_do() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        with pytest.raises(NotDone, match=r"providers\.enabled names no provider.*--settings FILE.*--force"):
            await desk.take_out(alone=True)
        desk.oracle.listed = []
        with pytest.raises(NotDone, match="oracle lists no machine whose id begins like it"):
            await desk.take_out()
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_a_machine_that_hangs_is_powered_off_first_and_that_is_proven() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        desk.oracle.powers = [Power.ON]
        await desk.take_out(fence=True)
        proof = proof_on(await desk.node())
        assert desk.oracle.fenced == [DEAD]
        assert proof is not None
        assert (proof.power, proof.readings) == (Power.OFF, 3)
        assert desk.said[:2] == ["its machine is on: oracle is asked to power it off", "it is powered off"]

    at_a_desk(tell)


def test_a_machine_that_is_off_already_is_not_powered_off() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        await desk.take_out(fence=True)
        assert desk.oracle.fenced == []
        assert not await is_untouched(desk)

    at_a_desk(tell)


def test_a_node_that_is_ready_is_not_powered_off() -> None:
    async def tell(desk: Desk) -> None:
        desk.oracle.powers = [Power.ON]
        with pytest.raises(NotDone, match=f"node {DEAD} is ready, so its machine is not powered off.*kubectl drain"):
            await desk.take_out(fence=True)
        assert desk.oracle.fenced == []
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_force_says_what_may_be_lost_and_asks() -> None:
    async def tell(desk: Desk) -> None:
        await desk.run_pod()
        await desk.attach()
        desk.oracle.powers, desk.answer = [Power.ON], False
        with pytest.raises(NotDone, match="nothing was done"):
            await desk.take_out(force=True)
        assert await is_untouched(desk)
        assert "oracle says: on" in desk.said
        assert "data may be lost" in desk.words
        assert "pods that are ended:       default/db-0" in desk.words
        assert "volumes that are detached: pvc-1" in desk.words
        assert desk.questions == [f"Take node {DEAD} out of service without proof?"]

    at_a_desk(tell)


def test_what_is_forced_is_written_down_as_such() -> None:
    async def tell(desk: Desk) -> None:
        await desk.take_out(force=True, alone=True)
        proof = proof_on(await desk.node())
        assert proof is not None
        assert (proof.by, proof.is_forced, proof.readings, proof.power) == ("anna@desk", True, 0, Power.UNKNOWN)
        assert "nobody can tell how its machine is: providers.enabled names no provider" in desk.words

    at_a_desk(tell)


def test_one_that_is_out_already_says_by_whom_and_since_when() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        await desk.take_out()
        before = await desk.node()
        proof = proof_on(before)
        since = format_time(proof.tainted_at) if proof else ""
        await asyncio.sleep(60)
        await desk.take_out()
        assert desk.said[-1] == f"node {DEAD} is out of service already, by anna@desk, since {since}"
        assert (await desk.node()).spec == before.spec

    at_a_desk(tell)


def test_one_that_somebody_tainted_with_kubectl_says_that_nobody_wrote_down_when() -> None:
    async def tell(desk: Desk) -> None:
        await desk.taint()
        await desk.take_out()
        (words,) = desk.said
        assert "by somebody without Growth, such as with kubectl taint, since when, nobody wrote down" in words

    at_a_desk(tell)


def test_a_node_that_is_replaced_meanwhile_is_left_alone() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        asking = asyncio.create_task(desk.take_out())
        await asyncio.sleep(7)
        uid = (await desk.node()).metadata.uid
        await desk.client.delete(NODES, DEAD)
        while True:
            try:
                await desk.node()
            except Exception:
                break
            await asyncio.sleep(0.1)
        body = {"metadata": {"name": DEAD}, "spec": {"providerID": f"oracle://{DEAD}"}}
        await desk.client.create(NODES, body)
        assert (await desk.node()).metadata.uid != uid
        with pytest.raises(NotDone, match="is another one by now"):
            await asking
        assert await is_untouched(desk)

    at_a_desk(tell)


def test_two_people_at_once_are_one_taint() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        await asyncio.gather(desk.take_out(), desk.take_out())
        assert desk.said[-2] == f"node {DEAD} is out of service"
        assert desk.said[-1].startswith(f"node {DEAD} is out of service already, by anna@desk, since ")
        assert sum(one.key == SHUTDOWN.key for one in (await desk.node()).spec.taints) == 1

    at_a_desk(tell)


def test_an_edit_in_between_is_kept() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        asking = asyncio.create_task(desk.take_out())
        while not asking.done():
            body = {"metadata": {"annotations": {"looked-at": format_time(desk.now())}}}
            await desk.client.patch(NODES, DEAD, MergePatch(body))
            await asyncio.sleep(0.01)
        await asking
        node = await desk.node()
        assert {one.key for one in node.spec.taints} >= {SHUTDOWN.key, "node.kubernetes.io/unreachable"}
        assert "looked-at" in node.metadata.annotations

    at_a_desk(tell)


def test_an_unknown_node_is_answered_with_close_names() -> None:
    async def tell(desk: Desk) -> None:
        with pytest.raises(UsageError, match="there is no node 'defalt-1'; close to it are default-1, default-2"):
            await desk.take_out("defalt-1")
        with pytest.raises(UsageError, match="there is no node 'zzz'; there are 2: kubectl get nodes"):
            await desk.take_out("zzz")

    at_a_desk(tell)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["node", "out-of-service", DEAD, *arguments])


def test_force_and_fence_exclude_each_other() -> None:
    assert is_one_sentence(run("--force", "--fence"), "--force does it without proof", "leave out one of them")


def test_force_needs_somebody_who_can_answer() -> None:
    assert is_one_sentence(run("--force"), "nobody can answer here", "add --yes")


def test_a_provider_that_is_not_installed_is_refused() -> None:
    assert is_one_sentence(run("--providers-enabled", "kwock"), "providers.enabled 'kwock'", "the closest is kwok")


def test_another_reason_is_refused() -> None:
    result = run("--reason", "boredom")
    assert result.exit_code == 2
    assert "hardwarefailure" in result.stderr


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()))
    assert is_one_sentence(result, "unreachable", "Connection refused")
