"""``growth status`` on a virtual cluster: what it reads, what it prints, and with which exit code it ends."""

import asyncio
import io
import json
from collections.abc import Callable, Coroutine
from datetime import datetime, timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from bench.status_scene import a_night
from growth.api.growth_kinds import NODE_POOLS
from growth.api.growth_status import GROWTH_STATUS, STATUS, ClusterStatus
from growth.api.kinds import CONFIG_MAPS, LEASES, NAMESPACES
from growth.api.settings.model import Settings
from growth.api.timestamp import format_micro_time
from growth.cli.errors import sentence_for
from growth.cli.main import main
from growth.cli.status import read_report, show, stay
from growth.cli.status_report import HealthSummary
from growth.kube.client import Client
from growth.kube.errors import Forbidden
from growth.kube.patches import MergePatch
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence

Json = dict[str, Any]
NAMESPACE = "growth-system"
RIGHTS = {
    "get configmaps": {
        "apiGroups": [""],
        "resources": ["configmaps"],
        "resourceNames": [GROWTH_STATUS],
        "verbs": ["get"],
    },
    "get leases": {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["get"]},
    "list nodepools": {"apiGroups": ["growth.dev"], "resources": ["nodepools"], "verbs": ["list"]},
}


def roles(*rights: str) -> list[Json]:
    """Somebody who may look, and has these rights."""
    subjects = [{"kind": "ServiceAccount", "namespace": "default", "name": "looks"}]
    return [
        {"kind": "ClusterRole", "metadata": {"name": "looks"}, "rules": [RIGHTS[one] for one in rights]},
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "looks"},
            "roleRef": {"kind": "ClusterRole", "name": "looks"},
            "subjects": subjects,
        },
    ]


def on_a_cluster(tell: Callable[[VirtualCluster], Coroutine[Any, Any, None]], *rights: str) -> None:
    async def play() -> None:
        cluster = VirtualCluster(1, roles=roles(*rights))
        await cluster.admin().create(NAMESPACES, {"metadata": {"name": NAMESPACE}})
        await tell(cluster)

    run_virtually(play())


async def lead(client: Client, renewed_at: datetime, holder: str = "growth-1") -> None:
    """Somebody holds the Lease, and renewed it then."""
    at = format_micro_time(renewed_at)
    spec = {"holderIdentity": holder, "leaseDurationSeconds": 15, "renewTime": at}
    await client.create(LEASES, {"metadata": {"name": "growth"}, "spec": spec}, NAMESPACE)


async def renew(client: Client, at: datetime) -> None:
    await client.patch(LEASES, "growth", MergePatch({"spec": {"renewTime": format_micro_time(at)}}), NAMESPACE)


async def write(client: Client, status: ClusterStatus) -> None:
    data = {STATUS: msgspec.json.encode(status).decode()}
    await client.create(CONFIG_MAPS, {"metadata": {"name": GROWTH_STATUS}, "data": data}, NAMESPACE)


async def printed(client: Client, now: Callable[[], datetime], output: str = "text") -> tuple[int, str]:
    out = io.StringIO()
    code = await show(client, Settings(), Console(file=out, width=140, highlight=False), output, now)
    return code, out.getvalue()


def test_a_healthy_cluster_ends_with_0() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await lead(admin, now())
        await write(admin, ClusterStatus(states={"Ready": 3}, ready=3))
        code, out = await printed(admin, now)
        assert code == 0
        assert out.splitlines()[0].strip() == "HEALTHY   Growth is at work"
        assert "led by growth-1" in out

    on_a_cluster(tell)


def test_an_unhealthy_cluster_ends_with_1_and_tells_everything_as_json() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        status, pools = a_night()
        await lead(admin, now())
        await write(admin, status)
        for pool in pools:
            await admin.create(NODE_POOLS, json.loads(msgspec.json.encode(pool)))
        code, out = await printed(admin, now, "json")
        told = json.loads(out)
        assert code == 1
        assert (told["health"], told["is_halted"], told["alarm"]) == ("unhealthy", True, status.alarm)
        assert told["leader"] == {
            "is_alive": True,
            "holder": "growth-1",
            "renewed_at": told["leader"]["renewed_at"],
            "why": "",
        }
        assert [pool["name"] for pool in told["pools"]] == ["batch", "default", "gpu"]
        assert len(told["troubled"]) == told["troubled_in_all"] == status.troubled_in_all
        assert told["troubled"][0]["name"] == "default-93c5d7e118"

    on_a_cluster(tell)


def test_where_growth_is_not_installed_it_ends_with_1() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        code, out = await printed(cluster.admin(), cluster.clock.now)
        assert code == 1
        assert "Growth is not running: there is no Lease growth-system/growth, so it is not installed" in out

    on_a_cluster(tell)


def test_a_leader_that_has_said_nothing_yet_ends_with_1() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await lead(admin, now())
        code, out = await printed(admin, now)
        assert code == 1
        assert "there is no ConfigMap growth-system/growth-status" in out

    on_a_cluster(tell)


@pytest.mark.parametrize("holder", ["growth-1", ""], ids=["silent", "given up"])
def test_a_lease_that_nobody_renews_is_a_leader_that_is_gone(holder: str) -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await write(admin, ClusterStatus())
        await lead(admin, now() - timedelta(minutes=14), holder)
        code, out = await printed(admin, now)
        assert code == 1
        assert "Growth is not running" in out
        assert "14m4s ago" in out
        assert "led by" not in out

    on_a_cluster(tell)


@pytest.mark.parametrize("off_by", [timedelta(hours=-2), timedelta(hours=2)], ids=["behind", "ahead"])
def test_a_lease_that_is_renewed_before_our_eyes_is_alive_whatever_our_clock_says(off_by: timedelta) -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await write(admin, ClusterStatus())
        await lead(admin, now() + off_by)
        asking = asyncio.create_task(read_report(admin, Settings(), now))
        await asyncio.sleep(2)
        await renew(admin, now() + off_by)
        report = await asking
        assert (report.health, report.leader.is_alive) == (HealthSummary.HEALTHY, True)

    on_a_cluster(tell)


def test_a_leader_that_seems_to_live_in_the_future_and_does_not_renew_is_gone() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await write(admin, ClusterStatus())
        await lead(admin, now() + timedelta(hours=2))
        assert (await read_report(admin, Settings(), now)).health is HealthSummary.UNKNOWN

    on_a_cluster(tell)


def test_three_rights_are_enough() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        await lead(cluster.admin(), cluster.clock.now())
        await write(cluster.admin(), ClusterStatus())
        code, _ = await printed(cluster.client(service_account("default", "looks")), cluster.clock.now)
        assert code == 0

    on_a_cluster(tell, *RIGHTS)


@pytest.mark.parametrize("missing", RIGHTS)
def test_a_missing_right_is_named(missing: str) -> None:
    async def tell(cluster: VirtualCluster) -> None:
        with pytest.raises(Forbidden) as refused:
            await printed(cluster.client(service_account("default", "looks")), cluster.clock.now)
        verb, resource = missing.split()
        assert sentence_for(refused.value).startswith(f"the role lacks the verb {verb!r} on {resource}")

    on_a_cluster(tell, *(right for right in RIGHTS if right != missing))


def test_it_follows_growth_from_its_start_through_a_broken_cluster_to_its_end() -> None:
    codes: dict[str, int] = {}

    async def tell(play: Play) -> None:
        async def reader(when: str) -> str:
            out = io.StringIO()
            console = Console(file=out, width=140, highlight=False)
            codes[when] = await show(play.client, QUICK, console, "text", play.now)
            return out.getvalue()

        async def is_healthy() -> bool:
            return (await read_report(play.client, QUICK, play.now)).health is HealthSummary.HEALTHY

        async def is_unhealthy() -> bool:
            return (await read_report(play.client, QUICK, play.now)).health is HealthSummary.UNHEALTHY

        await play.node("other")
        await play.ready("other")
        async with growing(play):
            await a_pool(play)
            await play.until_found(is_healthy, "Growth says that all is well")
            assert "1 not ours" in await reader("healthy")
            await play.silence("other")
            await play.until_found(is_unhealthy, "the only node is silent, and that is told")
            words = await reader("unhealthy")
            assert "1 of 1 nodes are unready without reason" in words
            assert "(not ours)" in words
            assert "Growth is HALTED" in words
            await play.wake("other")
            await play.until_found(is_healthy, "all is well again")
            assert "since it was halted" in await reader("recovered")
        assert "nobody holds its Lease" in await reader("stopped")

    play_virtually(tell, alone=True)
    assert codes == {"healthy": 0, "unhealthy": 1, "recovered": 0, "stopped": 1}


def test_on_a_small_screen_the_rest_is_counted() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await lead(admin, now())
        await write(admin, a_night()[0])
        out = io.StringIO()
        console = Console(file=out, width=80, height=40, force_terminal=True, color_system=None, highlight=False)
        await show(admin, Settings(), console, "text", now)
        lines = [line for line in out.getvalue().splitlines() if line.strip()]
        assert len(lines) <= 40
        assert any(line.startswith("and ") and "more: " in line for line in lines)

    on_a_cluster(tell)


def test_following_shows_changes_as_they_come() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now, out = cluster.admin(), cluster.clock.now, io.StringIO()
        await lead(admin, now())
        await write(admin, ClusterStatus())
        console = Console(file=out, width=140, height=60, force_terminal=True, color_system=None, highlight=False)
        staying = asyncio.create_task(stay(admin, Settings(), console, now))
        await asyncio.sleep(3)
        assert "UNHEALTHY" not in out.getvalue()
        data = {STATUS: msgspec.json.encode(a_night()[0]).decode()}
        await admin.patch(CONFIG_MAPS, GROWTH_STATUS, MergePatch({"data": data}), NAMESPACE)
        await asyncio.sleep(3)
        staying.cancel()
        await asyncio.wait({staying})
        assert " UNHEALTHY " in out.getvalue()

    on_a_cluster(tell)


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["status", *arguments])


def test_following_is_for_people() -> None:
    assert is_one_sentence(run("--follow", "--output", "json"), "--follow shows text", "leave out --output json")


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()))
    assert is_one_sentence(result, "unreachable", "Connection refused")


def test_a_namespace_that_cannot_be_one_is_refused() -> None:
    assert is_one_sentence(run("--namespace", "Growth System"), "--namespace", "Growth System", "a namespace's name")
