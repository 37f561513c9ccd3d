"""``growth queue`` on virtual clusters: what it reads and prints, and the sentence with which it ends if it cannot."""

import asyncio
import io
import json
from collections.abc import Callable, Coroutine
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from bench.standin import running
from growth.api.kinds import JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from growth.api.queue.workload import QUEUE_NAME
from growth.api.settings.model import Settings
from growth.cli.errors import UsageError, sentence_for
from growth.cli.main import main
from growth.cli.queue import QueueOptions, show, stay
from growth.cli.queue_entry import WorkloadPhase
from growth.cli.queue_explain import explain_workload
from growth.kube.client import Client
from growth.kube.errors import Forbidden, NotFound
from growth.kube.transport import Request, Response, Send, Stream
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence
from tests.stories.queue_scene import queued, requeuing, some_quota

Json = dict[str, Any]


def rights() -> list[Json]:
    """Somebody who may look at everything that the command reads."""
    groups = ["kueue.x-k8s.io", "batch", "scheduling.k8s.io", "node.k8s.io"]
    rules: list[Json] = [
        {"apiGroups": groups, "resources": ["*"], "verbs": ["list", "watch"]},
        {"apiGroups": [""], "resources": ["namespaces", "limitranges", "pods"], "verbs": ["list", "watch"]},
    ]
    subjects = [{"kind": "ServiceAccount", "namespace": "default", "name": "looks"}]
    return [
        {"kind": "ClusterRole", "metadata": {"name": "looks"}, "rules": rules},
        {
            "kind": "ClusterRoleBinding",
            "metadata": {"name": "looks"},
            "roleRef": {"kind": "ClusterRole", "name": "looks"},
            "subjects": subjects,
        },
    ]


def on_a_cluster(tell: Callable[[VirtualCluster], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        await tell(VirtualCluster(1, roles=rights()))

    run_virtually(play())


async def a_queue(client: Client, name: str = "team") -> None:
    quota = {"name": "any", "resources": [{"name": "cpu", "nominalQuota": "4"}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    await client.create(RESOURCE_FLAVORS, {"metadata": {"name": "any"}, "spec": {}})
    await client.create(CLUSTER_QUEUES, {"metadata": {"name": name}, "spec": {"resourceGroups": groups}})
    await client.create(LOCAL_QUEUES, {"metadata": {"name": "jobs"}, "spec": {"clusterQueue": name}}, "default")


async def a_job(client: Client, name: str) -> None:
    template = {"spec": {"containers": [{"name": "main", "image": "main"}], "restartPolicy": "Never"}}
    meta = {"name": name, "labels": {QUEUE_NAME: "jobs"}}
    await client.create(JOBS, {"metadata": meta, "spec": {"suspend": True, "template": template}}, "default")


async def printed(client: Client, now: Callable[[], Any], options: QueueOptions | None = None, width: int = 120) -> str:
    out = io.StringIO()
    console = Console(file=out, width=width, highlight=False)
    await show(client, Settings(), options or QueueOptions(), console, now)
    return out.getvalue()


def test_a_cluster_without_queues_is_told_how_to_begin() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        assert (await printed(cluster.admin(), cluster.clock.now)).startswith("There is no ClusterQueue")

    on_a_cluster(tell)


def test_a_queue_that_nobody_runs_is_shown_with_its_jobs() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_queue(admin)
        await a_job(admin, "sum")
        words = await printed(admin, now)
        assert "team  BestEffortFIFO  ? nobody has said yet whether it is at work" in words
        assert "1 job names a queue and has no Workload yet (default/sum): does growth run" in words
        told = json.loads(await printed(admin, now, QueueOptions(output="json"), width=40))
        assert told["unmade"] == ["default/sum"]
        assert told["queues"][0]["shares"][0] | {"used": 0, "nominal": 4000} == told["queues"][0]["shares"][0]

    on_a_cluster(tell)


def test_a_name_that_nobody_bears_ends_it() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now = cluster.admin(), cluster.clock.now
        await a_queue(admin)
        with pytest.raises(UsageError, match="--queue tem: there is no such ClusterQueue; close to it is team"):
            await printed(admin, now, QueueOptions(queue="tem"))
        with pytest.raises(UsageError, match="--namespace defualt: there is no such namespace; close to it is default"):
            await printed(admin, now, QueueOptions(namespace="defualt"))
        with pytest.raises(UsageError, match=r"there is no workload 'sum'.*there is no workload at all"):
            await explain_workload(admin, Settings(), "sum", "", now)

    on_a_cluster(tell)


def test_looking_needs_list_and_watch_and_says_which_is_missing() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        await a_queue(cluster.admin())
        now = cluster.clock.now
        assert "team" in await printed(cluster.client(service_account("default", "looks")), now)
        with pytest.raises(Forbidden) as refused:
            await printed(cluster.client(service_account("default", "nobody")), now)
        assert sentence_for(refused.value).startswith("the role lacks the verb")

    on_a_cluster(tell)


def test_following_shows_changes_as_they_come() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        admin, now, out = cluster.admin(), cluster.clock.now, io.StringIO()
        await a_queue(admin)
        console = Console(file=out, width=120, height=40, force_terminal=True, color_system=None, highlight=False)
        staying = asyncio.create_task(stay(admin, Settings(), QueueOptions(), console, now))
        await asyncio.sleep(5)
        assert "default/sum" not in out.getvalue()
        await a_job(admin, "sum")
        await asyncio.sleep(5)
        staying.cancel()
        await asyncio.wait({staying})
        assert "default/sum" in out.getvalue()

    on_a_cluster(tell)


def test_it_tells_what_growth_does_with_a_job_that_cannot_start() -> None:
    settings = requeuing(timeout=4, base=30, backoff_limit_count=1)

    async def tell(play: Play) -> None:
        async def is_reported(job: str, phase: WorkloadPhase) -> bool:
            try:
                told = await explain_workload(play.client, settings, job, "", play.now)
            except UsageError:
                return False  # it has no workload yet
            return told.entry.standing is phase

        async def until(job: str, phase: WorkloadPhase) -> None:
            await play.until_found(lambda: is_reported(job, phase), f"{job} is {phase}")

        await play.node("worker", taints=("dedicated=other:NoSchedule",))
        await some_quota(play, {"cpu": "1"})
        async with growing(play, settings=settings):
            await queued(play, "lost")
            await until("lost", WorkloadPhase.STARTING)
            await queued(play, "next")
            await until("next", WorkloadPhase.QUEUED)
            starting = await explain_workload(play.client, settings, "lost", "", play.now)
            assert starting.next.endswith("its pods must be ready, or it is put back, and waits for 30s.")
            assert [pod.phase for pod in starting.pods] == ["Pending"]
            waiting = await explain_workload(play.client, settings, "next", "", play.now)
            assert (waiting.entry.position, waiting.line) == (1, 1)
            assert waiting.holders[0].endswith("/lost (1 cpu)")
            await until("lost", WorkloadPhase.BACKOFF)
            await until("next", WorkloadPhase.STARTING)
            out = io.StringIO()
            console = Console(file=out, width=160, highlight=False)
            await show(play.client, settings, QueueOptions(), console, play.now)
            assert "tried once, again at " in out.getvalue()
            await until("lost", WorkloadPhase.INACTIVE)
            aside = await explain_workload(play.client, settings, "lost", "", play.now)
            assert aside.entry.remedy.startswith(
                f"kubectl -n {play.namespace} patch workloads.kueue.x-k8s.io job-lost-"
            )

    play_virtually(tell, alone=True)


class Bare:
    """A server that does not know the kinds of the queue."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.clock, self.close = send.clock, send.close

    async def send(self, request: Request) -> Response:
        return await self._send.send(self._unknown(request))

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._send.stream(self._unknown(request))

    def _unknown(self, request: Request) -> Request:
        return msgspec.structs.replace(request, path=request.path.replace("kueue.x-k8s.io", "nowhere.example.com"))


def test_where_the_kinds_are_missing_it_says_how_to_install_them() -> None:
    async def tell(cluster: VirtualCluster) -> None:
        client, now = Client(Bare(cluster.admin().transport)), cluster.clock.now
        for asked in (printed(client, now), explain_workload(client, Settings(), "sum", "", now)):
            with pytest.raises(NotFound) as missing:
                await asked
            words = "the kinds of the queue are not installed: growth crds --queue | kubectl create -f -"
            assert sentence_for(missing.value).endswith(words)

    on_a_cluster(tell)


def test_an_empty_cluster_is_looked_at_through_a_kubeconfig() -> None:
    with running(nodes=1, pods=1) as kubeconfig:
        assert run("--kubeconfig", kubeconfig).stdout.startswith("There is no ClusterQueue")
        assert json.loads(run("--kubeconfig", kubeconfig, "--output", "json").stdout)["queues"] == []
        result = run("explain", "sum", "--kubeconfig", kubeconfig)
    assert is_one_sentence(result, "there is no workload 'sum'", "there is no workload at all")


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["queue", *arguments])


def test_following_is_for_people() -> None:
    assert is_one_sentence(run("--follow", "--output", "json"), "--follow shows text", "leave out --output json")


def test_options_of_the_table_are_not_taken_for_those_of_a_story() -> None:
    assert is_one_sentence(run("--namespace", "shop", "explain", "sum"), "--namespace stands before explain", "behind")


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    result = run("--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()))
    assert is_one_sentence(result, "unreachable", "Connection refused")
