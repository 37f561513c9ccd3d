"""``growth run --only memory``: in a cluster that has none of our kinds, under a role of just its own verbs.

Nodes are seen and written to; ConfigMaps only in its two namespaces; Leases only those of shards, none is contended
for; Events tell what it cannot do. A verb that is missing is refused by the server, and one too many fails the test.
"""

import asyncio
import signal
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path
from typing import Any

import msgspec
import pytest
import yaml

from growth.api.kinds import CONFIG_MAPS, EVENTS, LEASES, NODES
from growth.api.node_memory import MARKER, MEMORIES, SHARD_LEASES
from growth.api.settings.model import Settings
from growth.decide.pipeline import chosen
from growth.kube.client import Client
from growth.kube.errors import NotFound
from growth.kube.patches import MergePatch
from growth.kube.verbs import Permission
from growth.observe.cache import ClusterCache
from growth.run.informers import watching
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import this_process
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.timings import Timings
from growth_lab.scenarios.replica import QUICK
from tests.cluster.conftest import wait_until
from tests.cluster.test_role import RBAC, Recording, tell_twice
from tests.cluster.test_run import running

pytestmark = pytest.mark.cluster

ACCOUNT = "memory"
SYSTEM, KEPT, HAPPENED = "growth-system", QUICK.memory.namespace, QUICK.memory.transaction_namespace
TEAM = "example.com/team"
SETTINGS = msgspec.structs.replace(
    QUICK, memory=msgspec.structs.replace(QUICK.memory, checkpoint_after=timedelta(milliseconds=200))
)
FORGETTING = msgspec.structs.replace(
    SETTINGS, memory=msgspec.structs.replace(SETTINGS.memory, forget_after=timedelta(milliseconds=100))
)
EVERYWHERE = [
    {"apiGroups": [""], "resources": ["nodes"], "verbs": ["list", "watch", "patch"]},
    {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]},
]
SHARDS = [
    {"apiGroups": ["coordination.k8s.io"], "resources": ["leases"], "verbs": ["list", "watch", "create", "patch"]}
]


def shipped(namespace: str) -> list[dict[str, Any]]:
    """The rules that the chart has for this namespace."""
    documents = [one for one in yaml.safe_load_all(RBAC.read_text()) if one["kind"] == "Role"]
    return [rule for one in documents if one["metadata"]["namespace"] == namespace for rule in one["rules"]]


RULES = {"": EVERYWHERE, SYSTEM: SHARDS, KEPT: shipped(KEPT), HAPPENED: shipped(HAPPENED)}


def role(namespace: str) -> list[dict[str, Any]]:
    """What it may do there, as manifests."""
    prefix = "" if namespace else "Cluster"
    place = {"namespace": namespace} if namespace else {}
    version = "rbac.authorization.k8s.io/v1"
    who = {"kind": "ServiceAccount", "name": ACCOUNT, "namespace": SYSTEM}
    what = {"apiGroup": "rbac.authorization.k8s.io", "kind": f"{prefix}Role", "name": ACCOUNT}
    head = {"apiVersion": version, "metadata": {"name": ACCOUNT, **place}}
    return [
        *([{"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": namespace}}] if namespace else []),
        {**head, "kind": f"{prefix}Role", "rules": RULES[namespace]},
        {**head, "kind": f"{prefix}RoleBinding", "roleRef": what, "subjects": [who]},
    ]


def granted() -> set[tuple[str, Permission]]:
    return {
        (namespace, Permission(group, resource, verb))
        for namespace, rules in RULES.items()
        for rule in rules
        for group in rule["apiGroups"]
        for resource in rule["resources"]
        for verb in rule["verbs"]
    }


@asynccontextmanager
async def remembering(recording: Recording, settings: Settings) -> AsyncGenerator[None]:
    """Memory at work, alone."""
    client, health = Client(recording), new_health()
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=settings,
        capabilities=chosen(["memory"]),
        host=this_process("memory-alone"),
    )
    running_it = asyncio.create_task(control(plant, health))
    try:
        yield
        assert not running_it.done(), running_it
        assert health.readyz().body == b"ok: every replica acts\n"
    finally:
        running_it.cancel()
        await asyncio.gather(running_it, return_exceptions=True)


async def labels_of(admin: Client, name: str) -> dict[str, str]:
    found = [node for node in (await admin.list(NODES)).items if node.metadata.name == name]
    return found[0].metadata.labels if found else {}


async def come(admin: Client, name: str, **labels: str) -> None:
    """A node registers; wait until it has its marker."""
    await admin.create(NODES, {"metadata": {"name": name, "labels": labels}})

    async def is_marked() -> bool:
        return MARKER in await labels_of(admin, name)

    await wait_until(is_marked, f"{name} has its marker")


async def is_kept(admin: Client, name: str, team: str) -> bool:
    try:
        return team in (await admin.get(CONFIG_MAPS, name, KEPT)).data.get("checkpoint", "")
    except NotFound:
        return False


async def remember_and_forget(recording: Recording, admin: Client) -> None:
    """A node comes, is labelled, goes, comes back; another one's memory cannot be read; then it is forgotten."""
    body = {"metadata": {"name": "spoilt"}, "data": {"memory": "nonsense"}}
    await admin.create(CONFIG_MAPS, body, KEPT)
    async with remembering(recording, SETTINGS):
        await come(admin, "steady")
        await admin.patch(NODES, "steady", MergePatch({"metadata": {"labels": {TEAM: "blue"}}}))
        await wait_until(lambda: is_kept(admin, "steady", "blue"), "its label is written down")
        await admin.patch(NODES, "steady", MergePatch({"metadata": {"labels": {TEAM: "red"}}}))
        await admin.delete(NODES, "steady")
        await come(admin, "steady")
        assert (await labels_of(admin, "steady"))[TEAM] == "red"
        await admin.create(NODES, {"metadata": {"name": "spoilt"}})

        async def is_reported() -> bool:
            events = (await admin.list(EVENTS, "default")).items
            return any(event.reason == "MemoryUnreadable" for event in events)

        await wait_until(is_reported, "people are told of the one that cannot be read")
    leases = (await admin.list(SHARD_LEASES, SYSTEM)).items
    assert leases
    assert {lease.spec.holder_identity for lease in leases} == {""}, "a replica that stops keeps no shard"
    async with remembering(recording, FORGETTING):
        await admin.delete(NODES, "steady")

        async def is_forgotten() -> bool:
            return all(one.metadata.name != "steady" for one in (await admin.list(MEMORIES, KEPT)).items)

        await wait_until(is_forgotten, "it is forgotten")


async def test_it_needs_no_kinds_of_ours_and_no_verb_but_its_own(tmp_path: Path) -> None:
    async with LocalCluster(timings=Timings.fast()) as cluster:
        kubeconfig = await cluster.kubeconfig_as(SYSTEM, ACCOUNT)
        for namespace in RULES:
            await cluster.apply(role(namespace))
        client = await cluster.client_as(SYSTEM, ACCOUNT)
        streaming, paging = Recording(client.transport), Recording(client.transport, streams_lists=False)
        kinds = chosen(["memory"])[0].watches
        async with watching(Client(paging), ClusterCache(remembers=True), kinds):
            pass
        await remember_and_forget(streaming, cluster.admin)
        await tell_twice(streaming, cluster.admin)
        used = streaming.used_in | paging.used_in
        used = {("" if what.group == "events.k8s.io" else place, what) for place, what in used}
        assert sorted(f"{what} in {place!r}" for place, what in granted() - used) == [], "granted and never used"
        assert sorted(f"{what} in {place!r}" for place, what in used - granted()) == [], "used and never granted"

        async with running(kubeconfig, tmp_path / "growth.log", "--only=memory") as growth:

            async def is_ready() -> bool:
                return await growth.ask("/readyz") == (200, "ok: every replica acts\n")

            await wait_until(is_ready, "the process is ready")
            await come(cluster.admin, "steady")
            assert await growth.end(signal.SIGTERM) < 10
            assert growth.process.returncode == 0, growth.text()
        with pytest.raises(NotFound):
            await cluster.admin.get(LEASES, "run-test", SYSTEM)
