"""What failover asks for: how machines are, that one is cut off, that a pod of a dead one ends."""

from datetime import timedelta

import msgspec
import pytest

from growth.act.action_runner import carry_out
from growth.act.concurrency import RetryBackoffs, door_of, lane_of
from growth.act.effect_hooks import EffectPoint
from growth.api.actions import EditObject, FenceMachine, Outcome, ReadPower, ReadPowers, ReleasePod, Result
from growth.api.core import ObjectReference
from growth.api.kinds import NODES, PODS
from growth.api.machine import Power, PowerReading
from growth.api.meta import ObjectMeta
from growth.api.references import reference_to
from growth.cloud.errors import RateLimited, Unavailable
from growth.kube.errors import NotFound, Unreachable
from growth.kube.transport import Method, Request, Response
from tests.act.workshop import NOON, Workshop, a_purchase
from tests.builders import Json, a_list, a_node
from tests.kube.fake_api import FakeApi
from tests.kube.replica import virtual

NODE = reference_to(NODES, ObjectMeta("default-1", uid="u"))
POD_PATH = PODS.path("db-0", "shop")


def a_question(machine_id: str = "id-default-1", *, seconds: float = 0) -> ReadPower:
    asked_at = NOON + timedelta(seconds=seconds)
    return ReadPower(subject=NODE, why="it is silent", provider="kwok", machine_id=machine_id, asked_at=asked_at)


def a_fence() -> FenceMachine:
    return FenceMachine(subject=NODE, why="it runs and is silent", provider="kwok", machine_id="id-default-1")


FOR_ALL = ReadPowers(subject=ObjectReference("Provider", "kwok"), why="many", provider="kwok", asked_at=NOON)


# Questions


@virtual
async def test_an_answer_comes_back_as_the_outcome() -> None:
    outcome = await carry_out(a_question(), Workshop().doors)
    assert (outcome.result, outcome.readings) == (Result.DONE, (PowerReading("id-default-1", Power.ON, NOON),))


@virtual
async def test_a_question_about_all_tells_of_each() -> None:
    workshop = Workshop()
    await carry_out(a_purchase(), workshop.doors)
    outcome = await carry_out(FOR_ALL, workshop.doors)
    assert [one.machine_id for one in outcome.readings] == ["id-default-1"]


@virtual
async def test_a_provider_that_does_not_answer_says_nothing() -> None:
    silent, busy = Unavailable("no answer", may_have_acted=False), RateLimited("too often", retry_after=7)
    for error, result in ((silent, Result.FAILED), (busy, Result.REFUSED)):
        workshop = Workshop()
        workshop.shop.trouble = error
        outcome = await carry_out(a_question(), workshop.doors)
        assert (outcome.result, outcome.readings) == (result, ())


@virtual
async def test_nobody_asks_after_the_fence() -> None:
    workshop = Workshop()
    workshop.api.objects[NODES.collection()] = a_list([])
    workshop.fence = workshop.clock()
    for action in (a_question(), FOR_ALL, a_fence()):
        assert (await carry_out(action, workshop.doors)).result is Result.FENCED
    assert workshop.shop.calls == []


def test_questions_have_lanes_and_a_door_of_their_own() -> None:
    lanes = [lane_of(one) for one in (a_question(), a_question("another"), FOR_ALL, a_fence())]
    assert len(set(lanes)) == 4
    assert {door_of(one) for one in (a_question(), FOR_ALL)} == {"kwok power"}
    assert door_of(a_fence()) == door_of(a_purchase()) == "kwok"


def test_the_same_question_is_asked_once_and_the_next_one_need_not_wait() -> None:
    rests = RetryBackoffs()
    rests.note(Outcome(action=a_question(), result=Result.DONE, at=NOON), 100)
    assert rests.seconds(a_question(), 100) == 5
    assert rests.seconds(a_question(seconds=5), 100) == 0


def an_edit(version: int, value: str) -> EditObject:
    test = {"op": "test", "path": "/metadata/resourceVersion", "value": str(version)}
    return EditObject(subject=NODE, why="", operations=(test, {"op": "add", "path": "/x", "value": value}))


@pytest.mark.parametrize("result", [Result.DONE, Result.STALE])
def test_an_edit_of_the_version_that_was_seen_is_not_sent_again_although_its_words_differ(result: Result) -> None:
    rests = RetryBackoffs()
    rests.note(Outcome(action=an_edit(3, "tainted at noon"), result=result, at=NOON), 100)
    assert rests.seconds(an_edit(3, "tainted a moment later"), 100) == 5
    assert rests.seconds(an_edit(4, "tainted a moment later"), 100) == 0


# Fencing


@virtual
async def test_a_machine_is_cut_off_if_its_node_is_still_not_ready() -> None:
    workshop = Workshop()
    workshop.api.objects[NODES.collection()] = a_list([a_node("default-1", ready=False)])
    outcome = await carry_out(a_fence(), workshop.doors)
    assert (outcome.result, outcome.readings[0].power) == (Result.DONE, Power.OFF)
    assert [point for _, point, _ in workshop.passed] == [EffectPoint.FENCE_MACHINE] * 2


@virtual
async def test_a_machine_whose_node_came_back_in_the_last_second_keeps_its_power() -> None:
    workshop = Workshop()
    workshop.api.objects[NODES.collection()] = a_list([a_node("default-1")])
    outcome = await carry_out(a_fence(), workshop.doors)
    assert outcome.result is Result.STALE
    assert outcome.message == "node default-1 is ready again: its machine is not powered off"
    assert workshop.passed == []


@virtual
async def test_a_machine_keeps_its_power_while_nobody_says_how_its_node_is() -> None:
    workshop = Workshop()

    async def fail(_: Request) -> None:
        raise Unreachable("no answer", sent=False)

    workshop.send.before = fail
    outcome = await carry_out(a_fence(), workshop.doors)
    assert outcome.result is Result.STALE
    assert workshop.passed == []


# Pods of dead machines


class PodApi(FakeApi):
    """A server that has statuses, and minds the uid in a patch as the real one does."""

    def handle(self, request: Request) -> Response:
        request = msgspec.structs.replace(request, path=request.path.removesuffix("/status"))
        if request.method is Method.PATCH and "merge" in request.content_type and request.path in self.objects:
            wanted = msgspec.json.decode(request.body)["metadata"]["uid"]
            if wanted != self.objects[request.path]["metadata"]["uid"]:
                body = {"kind": "Status", "code": 422, "reason": "Invalid", "message": "metadata.uid: it is immutable"}
                return Response(422, msgspec.json.encode(body))
        return super().handle(request)


def a_pod_there(workshop: Workshop, status: Json) -> ReleasePod:
    body = workshop.api.put(POD_PATH, {"metadata": {"name": "db-0", "namespace": "shop"}, "status": status})
    meta = ObjectMeta("db-0", "shop", body["metadata"]["uid"])
    return ReleasePod(subject=reference_to(PODS, meta), why="its machine is off")


def written(workshop: Workshop) -> list[tuple[str, str]]:
    return [(request.method.value, request.path) for request in workshop.writes]


@virtual
async def test_a_pod_fails_first_and_is_deleted_then_without_grace() -> None:
    for status in ({"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]}, {"phase": "Running"}):
        workshop = Workshop(api=PodApi())
        release = a_pod_there(workshop, status)
        assert (await carry_out(release, workshop.doors)).result is Result.DONE
        first, last = workshop.writes[0], workshop.writes[-1]
        assert (first.method, first.path) == (Method.PATCH, f"{POD_PATH}/status")
        assert (last.method, last.path) == (Method.DELETE, POD_PATH)
        asked = msgspec.json.decode(last.body)
        assert asked["gracePeriodSeconds"] == 0
        assert asked["preconditions"] == {"uid": release.subject.uid}


@virtual
async def test_a_pod_that_is_gone_already_was_released() -> None:
    workshop = Workshop(api=PodApi())
    release = ReleasePod(subject=reference_to(PODS, ObjectMeta("db-0", "shop", "u")), why="")
    assert (await carry_out(release, workshop.doors)).result is Result.DONE


@virtual
async def test_a_pod_that_goes_between_two_attempts_was_released_as_well() -> None:
    workshop = Workshop(api=PodApi())
    release = a_pod_there(workshop, {"phase": "Running"})

    async def gone(request: Request) -> None:
        if request.method is Method.PATCH and "merge" in request.content_type:
            raise NotFound("gone", status=404, reason="NotFound")

    workshop.send.before = gone
    assert (await carry_out(release, workshop.doors)).result is Result.DONE


@virtual
async def test_another_pod_of_that_name_is_not_touched() -> None:
    workshop = Workshop(api=PodApi())
    release = a_pod_there(workshop, {"phase": "Running", "conditions": []})
    another = msgspec.structs.replace(release, subject=msgspec.structs.replace(release.subject, uid="another"))
    assert (await carry_out(another, workshop.doors)).result is Result.STALE
    assert workshop.api.objects[POD_PATH]["status"]["phase"] == "Running"
    assert (Method.DELETE.value, POD_PATH) not in written(workshop)
