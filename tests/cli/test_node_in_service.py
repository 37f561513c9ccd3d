"""What is told after a node went out of service: what is left, what is stuck and why, and when it is free."""

import asyncio

import pytest

from growth.api.kinds import NODES, PODS, VOLUME_ATTACHMENTS
from growth.api.out_of_service import PROOF
from growth.cli.errors import NotDone
from growth.cli.node_in_service import follow
from growth.kube.patches import MergePatch
from tests.cli.node_scene import DEAD, Desk, at_a_desk


def following(desk: Desk) -> asyncio.Task[None]:
    return asyncio.create_task(follow(desk.client, DEAD, desk.now, desk.said.append))


async def is_out(desk: Desk) -> None:
    """The node is dead and out of service."""
    await desk.silence_for_long()
    await desk.take_out()
    desk.said.clear()


def test_pods_are_followed_until_the_node_is_free() -> None:
    async def tell(desk: Desk) -> None:
        await desk.run_pod()
        await is_out(desk)
        await following(desk)
        assert desk.said[0].strip() == "0s  left of its old life: a pod"
        assert desk.said[-2].endswith(f"node {DEAD} is free: nothing of its old life is left on it")
        assert desk.said[-1] == f"When it is back: growth node in-service {DEAD}"

    at_a_desk(tell)


def test_a_driver_that_does_not_answer_is_named_once() -> None:
    async def tell(desk: Desk) -> None:
        await desk.attach()
        await is_out(desk)
        await desk.client.delete(VOLUME_ATTACHMENTS, "csi-pvc-1")
        watching = following(desk)
        await asyncio.sleep(120)
        stuck = [line.strip() for line in desk.said if "stuck" in line]
        assert stuck == ["25s  stuck: volume pvc-1: the driver disk.example.org does not confirm"]
        await desk.detach()
        await watching
        assert "is free" in desk.words

    at_a_desk(tell)


def test_a_finalizer_that_keeps_a_pod_is_named() -> None:
    async def tell(desk: Desk) -> None:
        await desk.run_pod(finalizers=["example.org/tracking"])
        await is_out(desk)
        watching = following(desk)
        await asyncio.sleep(60)
        assert "stuck: pod default/db-0 ended, and is kept by example.org/tracking" in desk.words
        await desk.client.patch(PODS, "db-0", MergePatch({"metadata": {"finalizers": None}}), "default")
        await watching

    at_a_desk(tell)


def test_a_taint_that_ends_nothing_is_told() -> None:
    async def tell(desk: Desk) -> None:
        await desk.run_pod()
        await desk.silence_for_long()
        await desk.taint(effect="NoSchedule")
        watching = following(desk)
        await asyncio.sleep(40)
        watching.cancel()
        assert "stuck: pods are there because the taint has the effect NoSchedule" in desk.words

    at_a_desk(tell)


def test_a_node_that_is_deleted_took_everything_along() -> None:
    async def tell(desk: Desk) -> None:
        await desk.attach()
        await is_out(desk)
        watching = following(desk)
        await asyncio.sleep(3)
        await desk.client.delete(NODES, DEAD)
        await watching
        assert desk.said[-1].endswith("its Node object is gone, and everything with it")

    at_a_desk(tell)


def test_a_taint_that_somebody_takes_off_too_early_is_told() -> None:
    async def tell(desk: Desk) -> None:
        await desk.attach()
        await is_out(desk)
        watching = following(desk)
        await asyncio.sleep(3)
        body = {"metadata": {"annotations": {PROOF: None}}, "spec": {"taints": None}}
        await desk.client.patch(NODES, DEAD, MergePatch(body))
        with pytest.raises(NotDone, match=f"somebody took the taint off node {DEAD}, and left of its old life: a vol"):
            await watching

    at_a_desk(tell)
