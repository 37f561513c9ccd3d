"""What holds for all queues is said first: that a Kueue is alive, and what cannot be read."""

import asyncio
from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.decoding import Unreadable
from growth.api.kinds import Kind
from growth.api.queue.kinds import CLUSTER_QUEUES
from growth.api.queue.kueue_installation import KUEUE_DEPLOYMENTS, KUEUE_LEASES, LEASE_NAME
from growth.api.settings.model import Settings
from growth.cli import queue as command
from growth.cli.errors import UsageError
from growth.cli.queue_explain import explain_workload
from growth.cli.queue_notices import notices_in
from growth.cli.queue_reader import looking
from growth.cli.queue_report import QueueReport
from growth.kube.client import Client
from growth.kube.transport import Request, Response
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from tests.builders import Json
from tests.cli.test_queue import Bare, a_queue, on_a_cluster, printed, run
from tests.cli.test_queue_view import shown
from tests.decide.queue.stage import a_stage, snapshot_of


async def a_lease(client: Client, renewed: datetime) -> None:
    spec = {"holderIdentity": "manager-0", "leaseDurationSeconds": 15, "renewTime": f"{renewed:%Y-%m-%dT%H:%M:%S.%fZ}"}
    await client.create(KUEUE_LEASES, {"metadata": {"name": LEASE_NAME}, "spec": spec}, "default")


async def a_deployment(client: Client, replicas: int) -> None:
    labels = {"app.kubernetes.io/name": "kueue", "control-plane": "controller-manager"}
    meta = {"name": "kueue-controller-manager", "labels": labels}
    await client.create(KUEUE_DEPLOYMENTS, {"metadata": meta, "spec": {"replicas": replicas}}, "default")


def test_a_kueue_that_renews_its_lease_is_told_first() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_queue(admin)
        await a_lease(admin, now() - timedelta(seconds=3))
        words = await printed(admin, now)
        assert words.startswith("! the queue decides nothing as long as Kueue is alive: Lease default/c1f6bfd2.kueue")
        assert "is held by manager-0" in words

    on_a_cluster(tell)


def test_a_lease_that_nobody_renews_is_none_of_a_living_kueue() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_queue(admin)
        await a_lease(admin, now() - timedelta(minutes=3))
        await a_deployment(admin, 0)
        assert (await printed(admin, now)).startswith("1 queue ")

    on_a_cluster(tell)


def test_a_deployment_of_kueue_is_told_also_where_there_is_no_queue_yet() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_deployment(admin, 1)
        words = await printed(admin, now)
        assert words.startswith("! the queue decides nothing as long as Kueue is alive: Deployment default/kueue-contr")
        assert "There is no ClusterQueue" in words

    on_a_cluster(tell)


def test_while_it_is_followed_a_kueue_that_went_is_forgotten() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_deployment(admin, 1)
        async with looking(admin, Settings(), now) as reader:
            assert len(reader.seen().notices) == 1
            await admin.delete(KUEUE_DEPLOYMENTS, "kueue-controller-manager", "default")
            await reader.look_around()
            assert len(reader.seen().notices) == 1  # not asked again within a few seconds
            await asyncio.sleep(11)
            await reader.look_around()
            assert reader.seen().notices == ()

    on_a_cluster(tell)


def test_who_may_not_see_kueue_sees_the_rest() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_queue(admin)
        await a_deployment(admin, 1)
        assert (await printed(cluster.client(service_account("default", "looks")), now)).startswith("1 queue ")

    on_a_cluster(tell)


def test_what_cannot_be_read_is_named_a_few_by_name() -> None:
    stage = a_stage()
    strange: dict[Kind[Any], dict[str, Unreadable]] = {CLUSTER_QUEUES: {}}
    queue = stage.queue().metadata
    for number in range(5):
        meta = msgspec.structs.replace(queue, name=f"odd-{number}", uid=f"odd-{number}")
        strange[CLUSTER_QUEUES][meta.uid] = Unreadable(meta, "spec.x is no number", b"{}")
    snapshot = msgspec.structs.replace(snapshot_of(stage.objects, stage.now), unreadable=strange)
    told = list(notices_in(snapshot))
    assert told[0] == (
        "ClusterQueue odd-0 cannot be read: spec.x is no number. Until it can be, Growth does nothing for it"
    )
    assert (len(told), told[-1]) == (4, "2 more objects cannot be read: kubectl get events -A shows which")
    assert shown(QueueReport(stage.now, notices=("a", "b")))[:2] == ["! a", "! b"]


class Broken(Bare):
    """A server that cannot give out workloads, because nobody converts them."""

    async def send(self, request: Request) -> Response:
        if request.path.endswith("/workloads"):
            message = "conversion webhook for kueue.x-k8s.io/v1beta1, Kind=Workload failed: no endpoints available"
            status: Json = {"kind": "Status", "code": 500, "reason": "InternalError", "message": message}
            return Response(500, msgspec.json.encode(status), {})
        return await self._send.send(request)


@pytest.mark.parametrize("is_story", [False, True], ids=["all", "one"])
def test_where_a_kind_cannot_be_given_out_it_ends_with_what_to_do(*, is_story: bool) -> None:
    async def tell(cluster: VirtualCluster) -> None:
        client, now = Client(Broken(cluster.admin().transport)), cluster.clock.now
        await a_queue(cluster.admin())
        words = r"Growth decides nothing, because workloads.kueue.x-k8s.io cannot be read: .*Kueue is gone"
        with pytest.raises(UsageError, match=words):
            await (explain_workload(client, Settings(), "sum", "", now) if is_story else printed(client, now))

    on_a_cluster(tell)


def interrupted(monkeypatch: pytest.MonkeyPatch) -> None:
    async def interrupt(*_: object, **__: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(command, "_connected", interrupt)


def test_ctrl_c_ends_following_and_breaks_off_looking_once(monkeypatch: pytest.MonkeyPatch) -> None:
    interrupted(monkeypatch)
    following = run("--follow")
    assert (following.exit_code, following.output) == (0, "")
    once = run()
    assert once.exit_code == 1
    assert "Aborted" in once.output
    assert "Traceback" not in once.output
