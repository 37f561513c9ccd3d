"""Events on a real API server, under a role that may only create and patch them."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime

import pytest

from growth.api.core import ObjectReference
from growth.api.kinds import CONFIG_MAPS, EVENTS, NAMESPACES
from growth.kube.client import Client
from growth.kube.event_recorder import EventRecorder, EventType
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.conftest import wait_until

pytestmark = pytest.mark.cluster


async def a_reporter(cluster: LocalCluster, namespace: str) -> Client:
    """A client whose account has the two verbs and nothing else."""
    role = {"apiGroups": ["events.k8s.io"], "resources": ["events"], "verbs": ["create", "patch"]}
    subject = {"kind": "ServiceAccount", "name": "reporter", "namespace": namespace}
    kind, group = "ClusterRole", "rbac.authorization.k8s.io"
    name = f"reporter-{namespace}"
    client = await cluster.client_as(namespace, "reporter")
    await cluster.apply(
        [
            {"apiVersion": f"{group}/v1", "kind": kind, "metadata": {"name": name}, "rules": [role]},
            {
                "apiVersion": f"{group}/v1",
                "kind": f"{kind}Binding",
                "metadata": {"name": name},
                "roleRef": {"apiGroup": group, "kind": kind, "name": name},
                "subjects": [subject],
            },
        ]
    )
    return client


@asynccontextmanager
async def recording(client: Client) -> AsyncGenerator[EventRecorder]:
    recorder = EventRecorder(client, "growth-0", now=lambda: datetime.now(UTC))
    task = asyncio.create_task(recorder.run())
    try:
        yield recorder
    finally:
        task.cancel()
        await asyncio.wait({task})


def a_config_map(namespace: str) -> ObjectReference:
    return ObjectReference(kind="ConfigMap", api_version="v1", namespace=namespace, name="thing", uid="uid-1")


async def told(cluster: LocalCluster, regarding: ObjectReference) -> list[tuple[int, str]]:
    """Count and note of each Event about an object."""
    listing = await cluster.admin.list(EVENTS, regarding.namespace or "default")
    events = [event for event in listing.items if event.regarding.uid == regarding.uid]
    return [(event.series.count if event.series else 1, event.note) for event in events]


async def test_a_flood_is_one_event_that_outlives_restarts_and_oblivion(
    control_plane: LocalCluster, namespace: str
) -> None:
    client = await a_reporter(control_plane, namespace)
    thing = a_config_map(namespace)

    async def is_reported(count: int, note: str) -> bool:
        return await told(control_plane, thing) == [(count, note)]

    async with recording(client) as recorder:
        for _ in range(500):
            recorder.record(thing, EventType.WARNING, "Held", "Hold", "7 of 500 pods")
        await wait_until(lambda: is_reported(500, "7 of 500 pods"), "one event stands for all")
    async with recording(client) as recorder:
        recorder.record(thing, EventType.WARNING, "Held", "Hold", "7 of 500 pods")
        await wait_until(lambda: is_reported(501, "7 of 500 pods"), "a restart counts on")
        await control_plane.kubectl("delete", "events.events.k8s.io", "--all", f"--namespace={namespace}")
        recorder.record(thing, EventType.WARNING, "Held", "Hold", "9 of 500 pods")
        await wait_until(lambda: is_reported(502, "9 of 500 pods"), "the event is made again after it was deleted")
        assert recorder.dropped == 0


async def test_another_flavor_is_another_event_at_once(control_plane: LocalCluster, namespace: str) -> None:
    client = await a_reporter(control_plane, namespace)
    job = a_config_map(namespace)
    async with recording(client) as recorder:
        for flavor, count in (("one", 1), ("two", 2)):
            for _ in range(count):
                recorder.record(job, EventType.NORMAL, "Admitted", "Queueing", f"admitted, on {flavor}")

        async def both_are_shown() -> bool:
            return sorted(await told(control_plane, job)) == [(1, "admitted, on one"), (2, "admitted, on two")]

        await wait_until(both_are_shown, "each flavor has its event", seconds=8)
        shown = await control_plane.kubectl("events", "--for", "configmap/thing", f"--namespace={namespace}")
        assert "on one" in shown
        assert "on two" in shown
        assert recorder.dropped == 0


async def test_events_about_nodes_are_found_by_kubectl(control_plane: LocalCluster, namespace: str) -> None:
    client = await a_reporter(control_plane, namespace)
    node = ObjectReference(kind="Node", api_version="v1", name=f"node-{namespace}", uid=f"uid-{namespace}")
    async with recording(client) as recorder:
        recorder.record(node, EventType.NORMAL, "Bought", "Buy", "ä" * 2000)
        await wait_until(lambda: _found(control_plane, node), "kubectl shows the event")


async def _found(cluster: LocalCluster, node: ObjectReference) -> bool:
    return "Bought" in await cluster.kubectl("events", "--for", f"node/{node.name}", "--all-namespaces")


async def test_a_namespace_that_is_being_deleted_hears_nothing_and_the_rest_goes_on(
    control_plane: LocalCluster, namespace: str
) -> None:
    client = await a_reporter(control_plane, namespace)
    leaving = f"{namespace}-leaving"
    await control_plane.add_namespace(leaving)
    body = {"metadata": {"name": "anchor", "finalizers": ["growth.dev/test"]}}
    await control_plane.admin.create(CONFIG_MAPS, body, leaving)
    await control_plane.admin.delete(NAMESPACES, leaving)
    gone, here = a_config_map(leaving), a_config_map(namespace)
    try:
        async with recording(client) as recorder:
            for _ in range(3):
                recorder.record(gone, EventType.NORMAL, "Held", "Hold", "nobody listens")
            recorder.record(here, EventType.NORMAL, "Held", "Hold", "somebody does")

            async def here_is_told() -> bool:
                return await told(control_plane, here) == [(1, "somebody does")]

            await wait_until(here_is_told, "the other event is told")
            assert recorder.dropped == 3
    finally:
        release = MergePatch({"metadata": {"finalizers": None}})
        await control_plane.admin.patch(CONFIG_MAPS, "anchor", release, leaving)
