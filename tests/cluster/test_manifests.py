"""What ``growth manifests`` prints, applied to a real control plane: kwok's nodes run the pods.

It stands on a control plane of its own: its roles are the cluster's, and only its own nodes may be there.
"""

import asyncio
import json
import secrets
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from datetime import UTC, datetime

import pytest
import pytest_asyncio
import yaml

from growth.api.crd import definitions
from growth.api.kinds import LEASES, NODES, PODS
from growth.api.offering import POOL, ZONE
from growth.api.pod import Pod
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.settings.loading import read_settings
from growth.cli.manifests import DEFAULT_IMAGE, render
from growth.kube.client import Client
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.errors import KubectlFailed
from growth_lab.local_cluster.timings import Timings
from tests.builders import Json
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster

LEASE = "chief"
QUEUE = "queue: {enabled: true}"
KUEUES = [definition["metadata"]["name"] for definition in definitions(QUEUE_KINDS)]


@dataclass(frozen=True, slots=True)
class Site:
    """A cluster without nodes, and a namespace to install Growth in."""

    cluster: LocalCluster
    namespace: str

    def manifests(self, *settings: str) -> str:
        lines = [f"namespace: {self.namespace}", f"leaderElection: {{leaseName: {LEASE}}}", *settings]
        return render(read_settings("\n".join(lines)), DEFAULT_IMAGE)

    async def install(self, *settings: str) -> None:
        """As the page says it."""
        await self.cluster.kubectl("apply", "--server-side", "--filename=-", text=self.manifests(*settings))

    async def replicas(self) -> list[Pod]:
        pods = (await self.cluster.admin.list(PODS, self.namespace)).items
        return [pod for pod in pods if pod.metadata.deletion_timestamp is None]

    async def hosts(self) -> list[str]:
        """Where both replicas run."""

        async def two_run() -> bool:
            return [pod.status.phase for pod in await self.replicas()] == ["Running", "Running"]

        await wait_until(two_run, "both replicas run")
        return sorted(pod.node_name for pod in await self.replicas())

    async def written(self, *settings: str) -> list[Json]:
        """Every object that was applied, as it was written, with who wrote what when; not its status."""
        text = self.manifests(*settings)
        shown = await self.cluster.kubectl("get", "--filename=-", "--output=json", "--show-managed-fields", text=text)
        objects: list[Json] = json.loads(shown)["items"]
        assert len(objects) == len(list(yaml.safe_load_all(text)))
        for each in objects:
            each.pop("status", None)
            metadata = each["metadata"]
            del metadata["resourceVersion"]  # a new status raises it, too
            writers = metadata.get("managedFields", [])
            metadata["managedFields"] = [writer for writer in writers if writer.get("subresource") != "status"]
        return objects


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def cluster() -> AsyncGenerator[LocalCluster]:
    async with LocalCluster(timings=Timings.fast()) as cluster:
        yield cluster


@pytest_asyncio.fixture(loop_scope="session")
async def site(cluster: LocalCluster) -> AsyncGenerator[Site]:
    site = Site(cluster, f"autoscaler-{secrets.token_hex(4)}")
    yield site
    await cluster.kubectl("delete", "namespace", site.namespace, "--wait=false")
    await cluster.kubectl("delete", "nodes", "--all")


async def test_two_replicas_run_in_two_zones_even_where_pods_are_restricted(site: Site) -> None:
    for zone in ("a", "b"):
        await site.cluster.add_nodes(2, labels={ZONE: zone}, prefix=zone)
    await site.cluster.add_namespace(site.namespace)
    await site.cluster.kubectl("label", "namespace", site.namespace, "pod-security.kubernetes.io/enforce=restricted")
    await site.install()
    nodes = (await site.cluster.admin.list(NODES)).items
    zones = {node.metadata.name: node.metadata.labels[ZONE] for node in nodes}
    assert sorted(zones[host] for host in await site.hosts()) == ["a", "b"]


async def test_two_hosts_without_zones_have_a_replica_each_also_after_a_change_of_settings(site: Site) -> None:
    # By itself, the scheduler would like the large one better for both.
    names = [*await site.cluster.add_nodes(1, cpu="64", prefix="large"), *await site.cluster.add_nodes(1, cpu="1")]
    await site.install()
    assert await site.hosts() == sorted(names)
    before = {pod.metadata.uid for pod in await site.replicas()}
    await site.install("providers: {enabled: kwok}")
    rollout = ("rollout", "status", "deployment/growth", f"--namespace={site.namespace}", "--timeout=60s")
    await site.cluster.kubectl(*rollout)
    assert await site.hosts() == sorted(names)
    assert before.isdisjoint({pod.metadata.uid for pod in await site.replicas()})


async def test_one_control_plane_node_is_enough_for_both(site: Site) -> None:
    taints = ["node-role.kubernetes.io/control-plane:NoSchedule", "CriticalAddonsOnly=true:NoExecute"]
    (name,) = await site.cluster.add_nodes(1, taints=taints)
    await site.install()
    assert await site.hosts() == [name, name]


async def test_growth_never_runs_on_nodes_that_it_plays_itself(site: Site) -> None:
    await site.cluster.add_nodes(2, labels={POOL: "default"}, prefix="played")
    (home,) = await site.cluster.add_nodes(1, cpu="1", prefix="home")
    await site.install()
    assert await site.hosts() == [home, home]


async def test_applied_again_it_changes_nothing_and_takes_nothing_from_the_leader(site: Site) -> None:
    await site.cluster.add_nodes(1)
    await site.install()
    await site.hosts()
    # A lease that is missing or held would be waited for, for a minute. No renewal comes while we compare.
    terms = LeaseTerms(lease_duration_seconds=60, renew_deadline_seconds=50, retry_period_seconds=40)
    client = site.cluster.admin
    lease = LeaderLease(client, LEASE, site.namespace, "first", work=client, terms=terms, now=lambda: datetime.now(UTC))

    async def lead(_: Client) -> None:
        before = await site.written()
        await site.install()
        assert await site.written() == before
        held = await client.get(LEASES, LEASE, site.namespace)
        assert (held.spec.holder_identity, held.spec.lease_transitions) == ("first", 1)

    async with asyncio.timeout(terms.lease_duration_seconds / 2):
        await lease.run(lead)


async def test_the_queue_applied_again_changes_nothing(site: Site) -> None:
    await site.install(QUEUE)
    before = await site.written(QUEUE)
    await site.install(QUEUE)
    assert await site.written(QUEUE) == before
    await forget_the_queue(site)


async def test_definitions_that_kueue_brought_are_left_as_they_are_and_the_rest_is_applied(site: Site) -> None:
    kueues = definitions(QUEUE_KINDS)
    for definition in kueues:
        definition["spec"]["names"]["shortNames"] = ["kueues"]
        definition["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["description"] = "As Kueue has it."
    # As its documentation says it.
    await site.cluster.kubectl("apply", "--server-side", "--filename=-", text=yaml.safe_dump_all(kueues))
    how = ("apply", "--server-side", "--field-manager=growth", "--filename=-")
    with pytest.raises(KubectlFailed, match='with "kubectl"'):
        await site.cluster.kubectl(*how, text=site.manifests(QUEUE))
    shown = await site.cluster.kubectl("get", "crd", "--output=json", *KUEUES)
    assert {tuple(one["spec"]["names"]["shortNames"]) for one in json.loads(shown)["items"]} == {("kueues",)}
    await site.cluster.kubectl("get", "clusterrole/growth-queue")
    await site.cluster.kubectl("get", "deployment/growth", f"--namespace={site.namespace}")
    policies = await site.cluster.kubectl("get", "--output=json", "mutatingadmissionpolicybinding")
    selectors = [one["spec"]["matchResources"]["namespaceSelector"] for one in json.loads(policies)["items"]]
    assert [one["matchExpressions"][0]["values"] for one in selectors] == [["kube-system", site.namespace]] * 2
    await forget_the_queue(site)


async def forget_the_queue(site: Site) -> None:
    """What others of these tests would find, written by somebody else."""
    await site.cluster.kubectl("delete", "crd", *KUEUES)
    await site.cluster.kubectl("delete", "mutatingadmissionpolicy,mutatingadmissionpolicybinding", "--all")
