"""Webhooks of a Kueue that is gone, on a real API server: what they block is told, and the others go on."""

import asyncio
import secrets
from typing import Any

import msgspec
import pytest
import yaml

from growth.api.kinds import EVENTS, JOBS, NAMESPACES
from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from growth.api.queue.kueue_installation import KUEUE_VALIDATING
from growth.api.queue.workload import QUEUE_NAME
from growth.api.settings.model import QueueSettings
from growth.decide.pipeline import chosen
from growth.kube.client import Client
from growth.kube.errors import ServerTrouble
from growth.kube.patches import MergePatch
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import this_process
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.scenarios.replica import QUICK
from tests.builders import Json
from tests.cluster.conftest import wait_until
from tests.cluster.test_role import ACCOUNT, NAMESPACE, RBAC, install_kinds

pytestmark = pytest.mark.cluster

# Not the name that Kueue's manifests give it: it is recognised by what the server says.
WEBHOOKS = "renamed-by-a-chart"


def dead_webhooks(namespace: str) -> Json:
    """What validates jobs in one namespace, and nobody answers."""
    rules = [{"apiGroups": ["batch"], "apiVersions": ["v1"], "operations": ["CREATE", "UPDATE"], "resources": ["jobs"]}]
    webhook = {
        "name": "vjob.kb.io",
        "clientConfig": {"service": {"name": "kueue-webhook-service", "namespace": "kueue-system"}},
        "rules": rules,
        "failurePolicy": "Fail",
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
    }
    return {"metadata": {"name": WEBHOOKS}, "webhooks": [webhook]}


async def queue_a_job(admin: Client, namespace: str) -> None:
    await admin.create(LOCAL_QUEUES, {"metadata": {"name": "door"}, "spec": {"clusterQueue": "dead-all"}}, namespace)
    container = {"name": "main", "image": "main", "resources": {"requests": {"cpu": "1"}}}
    template = {"spec": {"containers": [container], "restartPolicy": "Never"}}
    body = {
        "metadata": {"name": "job", "labels": {QUEUE_NAME: "door"}},
        "spec": {"suspend": True, "template": template},
    }
    await admin.create(JOBS, body, namespace)


async def begin(control_plane: LocalCluster, blocked: str, free: str) -> None:
    admin = control_plane.admin
    await control_plane.apply(list(yaml.safe_load_all(RBAC.read_text())))
    await install_kinds(control_plane)
    await admin.create(RESOURCE_FLAVORS, {"metadata": {"name": "dead-any"}})
    quota = {"name": "dead-any", "resources": [{"name": "cpu", "nominalQuota": 9}]}
    groups = [{"coveredResources": ["cpu"], "flavors": [quota]}]
    spec: dict[str, Any] = {"namespaceSelector": {}, "resourceGroups": groups}
    await admin.create(CLUSTER_QUEUES, {"metadata": {"name": "dead-all"}, "spec": spec})
    for space in (blocked, free):
        await queue_a_job(admin, space)
    await admin.create(KUEUE_VALIDATING, dead_webhooks(blocked))


async def end(admin: Client, free: str) -> None:
    for kind, name in (
        (KUEUE_VALIDATING, WEBHOOKS),
        (CLUSTER_QUEUES, "dead-all"),
        (RESOURCE_FLAVORS, "dead-any"),
        (NAMESPACES, free),
    ):
        await admin.delete(kind, name)


async def test_what_they_block_is_told_and_the_others_go_on(control_plane: LocalCluster, namespace: str) -> None:
    admin, free = control_plane.admin, f"test-{secrets.token_hex(4)}"
    await control_plane.add_namespace(free)
    await begin(control_plane, namespace, free)

    async def is_blocked() -> bool:
        try:
            await admin.patch(JOBS, "job", MergePatch({"metadata": {"labels": {"tried": "yes"}}}), namespace)
        except ServerTrouble as error:
            return 'failed calling webhook "vjob.kb.io"' in str(error)
        return False

    async def runs(space: str) -> bool:
        return not (await admin.get(JOBS, "job", space)).spec.suspend

    async def is_reported() -> bool:
        events = (await admin.list(EVENTS, namespace)).items
        return any(one.reason == "KueueWebhooksLeftOver" and one.regarding.name == "job" for one in events)

    client = await control_plane.client_as(NAMESPACE, ACCOUNT)
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=msgspec.structs.replace(QUICK, queue=QueueSettings(enabled=True)),
        capabilities=chosen(["queue"]),
        host=this_process("webhook-test"),
    )
    try:
        await wait_until(is_blocked, "the webhook is in force")
        queueing = asyncio.create_task(control(plant, new_health()))
        try:
            await wait_until(lambda: runs(free), "a job that nobody asks Kueue about runs")
            await wait_until(is_reported, "the other one says what is in its way")
            assert not await runs(namespace)
            await admin.delete(KUEUE_VALIDATING, WEBHOOKS)
            await wait_until(lambda: runs(namespace), "it runs when the webhooks are removed", 90)
            await admin.create(KUEUE_VALIDATING, dead_webhooks(namespace))
        finally:
            queueing.cancel()
            await asyncio.gather(queueing, return_exceptions=True)
    finally:
        await end(admin, free)
