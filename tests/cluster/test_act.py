"""The executor's reading of answers, where the answers are the real API server's."""

from datetime import UTC, datetime

import pytest

from growth.act.action_runner import Clients, carry_out
from growth.api.actions import Action, CreateObject, DeleteObject, EditObject, EvictPod, Outcome, PatchObject, Result
from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, POD_DISRUPTION_BUDGETS, PODS
from growth.api.references import reference_by_name, reference_to
from growth.kube.event_recorder import EventRecorder
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.test_role import install_kinds

pytestmark = pytest.mark.cluster


class Hands:
    """Actions in one namespace, as the administrator."""

    def __init__(self, cluster: LocalCluster, namespace: str) -> None:
        self.admin = cluster.admin
        self.namespace = namespace
        recorder = EventRecorder(self.admin, "test", now=lambda: datetime.now(UTC))
        self._doors = Clients(self.admin, recorder, lambda: datetime.now(UTC))

    async def do(self, action: Action) -> tuple[Result, str]:
        outcome: Outcome = await carry_out(action, self._doors)
        return outcome.result, outcome.error

    async def a_map(self, name: str) -> tuple[ObjectReference, int]:
        made = await self.admin.create(CONFIG_MAPS, {"metadata": {"name": name}, "data": {"x": "1"}}, self.namespace)
        return reference_to(CONFIG_MAPS, made.metadata), made.metadata.resource_version

    def another(self, subject: ObjectReference) -> ObjectReference:
        """One of the same name that was there before."""
        uid = "00000000-0000-0000-0000-000000000000"
        return ObjectReference(subject.kind, subject.name, subject.namespace, uid, subject.api_version)


@pytest.fixture
def hands(control_plane: LocalCluster, namespace: str) -> Hands:
    return Hands(control_plane, namespace)


async def test_made_twice_is_done_and_a_name_in_use_is_refused(hands: Hands) -> None:
    subject = reference_by_name(CONFIG_MAPS, "wanted", hands.namespace)
    wanted = CreateObject(subject=subject, why="", body={"metadata": {"labels": {"a": "b"}}, "data": {"x": "1"}})
    other = CreateObject(subject=subject, why="", body={"data": {"x": "2"}})
    assert await hands.do(wanted) == (Result.DONE, "")
    assert await hands.do(wanted) == (Result.DONE, "")
    assert await hands.do(other) == (Result.REFUSED, "AlreadyExists")


async def test_a_patch_holds_for_its_version_and_its_object_only(hands: Hands) -> None:
    subject, version = await hands.a_map("patched")
    body = {"data": {"x": "2"}}
    assert await hands.do(PatchObject(subject=hands.another(subject), why="", body=body)) == (Result.STALE, "Conflict")
    on_version = PatchObject(subject=subject, why="", body=body, resource_version=version)
    assert await hands.do(on_version) == (Result.DONE, "")
    again = PatchObject(subject=subject, why="", body={"data": {"x": "3"}}, resource_version=version)
    assert await hands.do(again) == (Result.STALE, "Conflict")
    assert (await hands.admin.get(CONFIG_MAPS, "patched", hands.namespace)).data == {"x": "2"}


async def test_an_item_of_a_list_is_removed_if_it_is_still_the_one_that_was_seen(hands: Hands) -> None:
    # Taints are what edits are for, but the server's controllers change these, too. Nobody changes finalizers.
    body = {"metadata": {"name": "edited", "finalizers": ["growth.dev/first", "growth.dev/second"]}}
    made = await hands.admin.create(CONFIG_MAPS, body, hands.namespace)
    subject, place = reference_to(CONFIG_MAPS, made.metadata), "/metadata/finalizers"

    def edit(*operations: tuple[str, str, str], of: ObjectReference = subject) -> EditObject:
        written = tuple({"op": op, "path": f"{place}{path}", "value": value} for op, path, value in operations)
        return EditObject(subject=of, why="", operations=written)

    removing = (("test", "/0", "growth.dev/first"), ("remove", "/0", ""))
    assert await hands.do(edit(*removing, of=hands.another(subject))) == (Result.STALE, "Conflict")
    assert await hands.do(edit(*removing)) == (Result.DONE, "")
    left = await hands.admin.get(CONFIG_MAPS, "edited", hands.namespace)
    assert left.metadata.finalizers == ("growth.dev/second",)
    assert await hands.do(edit(*removing)) == (Result.STALE, "Conflict")
    assert await hands.do(edit(("test", "/9", "growth.dev/first"))) == (Result.STALE, "Conflict")
    assert await hands.do(edit(("add", "/-", "no name"))) == (Result.REFUSED, "Invalid")
    assert await hands.do(edit(("remove", "/0", ""))) == (Result.DONE, "")
    assert await hands.do(DeleteObject(subject=subject, why="")) == (Result.DONE, "")
    assert await hands.do(edit(*removing)) == (Result.STALE, "NotFound")


async def test_the_status_of_our_own_kinds_holds_for_its_version_only(
    control_plane: LocalCluster, hands: Hands
) -> None:
    await install_kinds(control_plane)
    body = {"metadata": {"name": hands.namespace}, "spec": {"pool": "none", "targetOffering": "none"}}
    made = await hands.admin.create(NODE_REQUESTS, body)
    subject, version = reference_to(NODE_REQUESTS, made.metadata), made.metadata.resource_version

    def patch(provider_id: str, version: int) -> PatchObject:
        body = {"status": {"providerID": provider_id}}
        return PatchObject(subject=subject, why="", body=body, subresource="status", resource_version=version)

    assert await hands.do(patch("kwok://1", version)) == (Result.DONE, "")
    assert await hands.do(patch("kwok://2", version)) == (Result.STALE, "Conflict")
    assert (await hands.admin.get(NODE_REQUESTS, hands.namespace)).status.provider_id == "kwok://1"
    assert await hands.do(DeleteObject(subject=subject, why="")) == (Result.DONE, "")


async def test_only_the_very_object_is_deleted_and_what_is_gone_is_done(hands: Hands) -> None:
    subject, version = await hands.a_map("deleted")
    assert await hands.do(DeleteObject(subject=hands.another(subject), why="")) == (Result.STALE, "Conflict")
    stale = DeleteObject(subject=subject, why="", resource_version=version - 1)
    assert await hands.do(stale) == (Result.STALE, "Conflict")
    for _ in range(2):
        assert await hands.do(DeleteObject(subject=subject, why="")) == (Result.DONE, "")
    assert await hands.do(PatchObject(subject=subject, why="", body={})) == (Result.STALE, "NotFound")


async def test_a_budget_refuses_and_a_pod_that_is_gone_was_evicted(hands: Hands) -> None:
    labels = {"app": "guarded"}
    spec = {"containers": [{"name": "app", "image": "none"}], "nodeName": "nowhere"}
    made = await hands.admin.create(
        PODS, {"metadata": {"name": "web", "labels": labels}, "spec": spec}, hands.namespace
    )
    status = {"status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}}
    subject = reference_to(PODS, made.metadata)
    await hands.do(PatchObject(subject=subject, why="", body=status, subresource="status"))
    budget = {"metadata": {"name": "all"}, "spec": {"minAvailable": 1, "selector": {"matchLabels": labels}}}
    await hands.admin.create(POD_DISRUPTION_BUDGETS, budget, hands.namespace)
    # Until the controller has counted, an eviction is refused for want of a count; never is it let through.
    assert await hands.do(EvictPod(subject=subject, why="")) == (Result.REFUSED, "TooManyRequests")
    await hands.do(DeleteObject(subject=subject, why="", grace_seconds=0))
    assert await hands.do(EvictPod(subject=subject, why="")) == (Result.DONE, "")
