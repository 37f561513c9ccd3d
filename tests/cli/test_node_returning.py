"""``growth node in-service``: only when nothing of the old life is left, whoever took the node out."""

from pathlib import Path

import pytest
from click.testing import CliRunner

from growth.api.kinds import VOLUME_ATTACHMENTS
from growth.api.out_of_service import PROOF, out_of_service_taint
from growth.cli.errors import NotDone, UsageError
from growth.cli.main import main
from growth.cli.node_in_service import take_in
from tests.cli.node_scene import DEAD, Desk, at_a_desk
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence


async def back(desk: Desk, *, force: bool = False) -> str:
    return await take_in(desk.client, DEAD, desk.now, force=force)


async def has_taint(desk: Desk) -> bool:
    return out_of_service_taint(await desk.node()) is not None


def test_taint_and_note_go_in_one_edit_and_other_taints_stay() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        await desk.take_out()
        await desk.wake()
        assert await back(desk) == f"node {DEAD} is in service: taint and note are gone"
        assert not await has_taint(desk)
        assert PROOF not in (await desk.node()).metadata.annotations

    at_a_desk(tell)


def test_a_taint_that_somebody_set_with_kubectl_goes_as_well() -> None:
    async def tell(desk: Desk) -> None:
        await desk.taint()
        await back(desk)
        assert not await has_taint(desk)

    at_a_desk(tell)


def test_a_node_that_is_in_service_is_left_alone() -> None:
    async def tell(desk: Desk) -> None:
        before = await desk.node()
        assert "is in service already" in await back(desk)
        assert (await desk.node()).spec == before.spec

    at_a_desk(tell)


@pytest.mark.parametrize("force", [False, True])
def test_volumes_of_its_old_life_keep_it_out_even_by_force(force: bool) -> None:  # noqa: FBT001
    async def tell(desk: Desk) -> None:
        await desk.attach()
        await desk.silence_for_long()
        await desk.take_out()
        await desk.client.delete(VOLUME_ATTACHMENTS, "csi-pvc-1")
        await desk.wake()
        words = "left of its old life: a volume: volume pvc-1. Why: .*disk.example.org does not confirm"
        with pytest.raises(NotDone, match=words) as refused:
            await back(desk, force=force)
        assert refused.value.exit_code == 1
        assert await has_taint(desk)
        await desk.detach()
        await back(desk)
        assert not await has_taint(desk)

    at_a_desk(tell)


def test_pods_of_its_old_life_keep_it_out() -> None:
    async def tell(desk: Desk) -> None:
        await desk.run_pod(finalizers=["example.org/tracking"])
        await desk.taint()
        with pytest.raises(NotDone, match="a pod: pod default/db-0"):
            await back(desk)
        assert await has_taint(desk)

    at_a_desk(tell)


def test_a_node_that_is_not_ready_stays_out_unless_forced() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence_for_long()
        await desk.take_out()
        with pytest.raises(NotDone, match=f"node {DEAD} is not Ready; start its machine first"):
            await back(desk)
        assert await has_taint(desk)
        assert "it gets no pods before it is Ready" in await back(desk, force=True)
        assert {one.key for one in (await desk.node()).spec.taints} == {"node.kubernetes.io/unreachable"}

    at_a_desk(tell)


def test_an_unknown_node_is_answered_with_close_names() -> None:
    async def tell(desk: Desk) -> None:
        with pytest.raises(UsageError, match="close to it are default-1"):
            await take_in(desk.client, "default1", desk.now, force=False)

    at_a_desk(tell)


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    kubeconfig = a_kubeconfig(tmp_path / "shop", free_port())
    result = CliRunner().invoke(main, ["node", "in-service", DEAD, "--kubeconfig", kubeconfig])
    assert is_one_sentence(result, "unreachable", "Connection refused")
