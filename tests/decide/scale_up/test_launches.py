"""NodeRequests as they are written, whole."""

from growth.api.actions import CreateObject, PatchObject
from growth.api.annotations import mark_of
from growth.api.core import ObjectReference
from growth.decide.scale_up.launches import asked_for
from growth.decide.scale_up.planned_launch import PlannedLaunch
from tests.decide.marketplace import a_pool
from tests.decide.scale_up.town import SECOND, SMALL, Town, a_pod

OWNER = {"apiVersion": "growth.dev/v1alpha1", "kind": "NodePool", "name": "default", "uid": "pool-default"}
SPEC = {"pool": "default", "targetOffering": "kwok-small-fsn1", "location": "fsn1"}
MARKED = {"growth.dev/template": mark_of(a_pool())}
SUBJECT = ObjectReference("NodeRequest", "default-1", "", "", "growth.dev/v1alpha1")


def test_a_request_names_its_pool_its_offering_and_its_pods() -> None:
    wanted = PlannedLaunch("default-1", a_pool(), SMALL, ("a", "b"), hands_keys=True, wakes=("b",))
    named = {"growth.dev/planned-for": "a,b", "growth.dev/hands-keys": "true", "growth.dev/wakes": "b"}
    assert asked_for(wanted) == CreateObject(
        subject=SUBJECT,
        why="2 pods wait, and kwok-small-fsn1 is part of the cheapest plan",
        body={"metadata": {"ownerReferences": [OWNER], "annotations": {**MARKED, **named}}, "spec": SPEC},
    )


def test_a_request_that_is_larger_than_its_pods_need_says_why() -> None:
    asked = asked_for(PlannedLaunch("default-1", a_pool(), SMALL, ("a",), foresees=True))
    assert asked.why.endswith("is part of the cheapest plan with room for those who follow: more and more is wanted")
    named = {"growth.dev/planned-for": "a", "growth.dev/foresees": "true"}
    assert asked.body["metadata"]["annotations"] == {**MARKED, **named}


def test_a_request_for_nobody_names_no_pods() -> None:
    assert asked_for(PlannedLaunch("default-1", a_pool(), SMALL)) == CreateObject(
        subject=SUBJECT,
        why="the pool wants it even without load, and kwok-small-fsn1 is part of the cheapest plan",
        body={"metadata": {"ownerReferences": [OWNER], "annotations": MARKED}, "spec": SPEC},
    )


def test_a_request_says_that_pods_lose_their_machines() -> None:
    whys = [asked_for(PlannedLaunch("default-1", a_pool(), SMALL, uids)).why.partition(",")[0] for uids in (
        ("successor-of-a",), ("successor-of-a", "successor-of-b"), ("successor-of-a", "b"))]  # fmt: skip
    assert whys == ["a pod loses its machine", "2 pods lose their machines", "2 pods wait"]


def test_who_joins_is_added_to_those_that_the_machine_is_for() -> None:
    first, second = a_pod("first"), a_pod("second")
    town = Town(first)
    town.run()
    town.is_blind = True
    town.add(second)
    town.run(SECOND)
    request = town.requests[0]
    assert [one for one in town.look().said if isinstance(one, PatchObject)] == [
        PatchObject(
            subject=ObjectReference(
                "NodeRequest", request.metadata.name, "", request.metadata.uid, "growth.dev/v1alpha1"
            ),
            why="one more pod finds room on the machine that is coming",
            body={"metadata": {"annotations": {
                "growth.dev/planned-for": f"{first.metadata.uid},{second.metadata.uid}"}}},
            resource_version=request.metadata.resource_version,
        )
    ]  # fmt: skip


def test_who_has_gone_meanwhile_does_not_join() -> None:
    first, second = a_pod("first"), a_pod("second")
    town = Town(first)
    town.run()
    town.is_blind = True
    town.add(second)
    town.run(SECOND)
    town.remove(second)
    assert [one for one in town.look().said if isinstance(one, PatchObject)] == []


def test_nobody_joins_a_machine_that_could_not_be_had() -> None:
    town = Town(a_pod("first"))
    town.run()
    town.is_blind = True
    town.add(a_pod("second"))
    town.run(SECOND)
    town.move(town.requests[0], "Unmet")
    assert [one for one in town.look().said if isinstance(one, PatchObject)] == []


def test_those_that_have_gone_are_not_written_down_again() -> None:
    """Pods of a job that fails all the time come and go while a machine boots; its request must not grow with them."""
    town = Town()
    for number in range(20):
        pod = a_pod(f"job-{number}")
        town.add(pod)
        town.run(2 * SECOND)
        town.remove(pod)
    assert [len(one.planned_for) for one in town.requests] == [1]
