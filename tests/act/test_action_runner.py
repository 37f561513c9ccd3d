"""One action: what the other side says, and what that means."""

import msgspec
import pytest

from growth.act.action_runner import carry_out
from growth.act.effect_hooks import EffectPoint
from growth.api.actions import Action, DeleteMachine, FenceMachine, Outcome, PatchObject, Result
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.references import reference_by_name
from growth.cloud.errors import OutOfStock, ProviderError, RateLimited, Unavailable
from growth.kube.errors import (
    ApiError,
    Conflict,
    Forbidden,
    Invalid,
    KubeError,
    NotFound,
    ServerTrouble,
    TooManyRequests,
)
from growth.kube.transport import Request
from tests.act.workshop import (
    NOON,
    REQUEST,
    Workshop,
    a_create,
    a_delete,
    a_patch,
    a_purchase,
    an_edit,
    an_event,
    an_eviction,
)
from tests.builders import a_list
from tests.kube.replica import virtual

PATH = NODE_REQUESTS.path("default-1")


def failing(workshop: Workshop, error: KubeError) -> None:
    async def fail(_: Request) -> None:
        raise error

    workshop.send.before = fail


@virtual
async def test_an_object_is_made_under_the_name_of_its_subject() -> None:
    workshop = Workshop()
    outcome = await carry_out(a_create(), workshop.doors)
    assert outcome.result is Result.DONE
    there = workshop.api.objects[PATH]
    assert there["kind"] == "NodeRequest"
    assert there["metadata"]["name"] == "default-1"
    assert there["spec"] == {"pool": "default", "targetOffering": "kwok-small-a"}


@virtual
async def test_made_twice_is_made_once() -> None:
    workshop = Workshop()
    await carry_out(a_create(), workshop.doors)
    version = workshop.api.version
    assert (await carry_out(a_create(), workshop.doors)).result is Result.DONE
    assert workshop.api.version == version


@virtual
async def test_a_name_that_somebody_else_uses_is_refused() -> None:
    workshop = Workshop()
    await carry_out(a_create(offering="kwok-large-a"), workshop.doors)
    outcome = await carry_out(a_create(), workshop.doors)
    assert (outcome.result, outcome.error) == (Result.REFUSED, "AlreadyExists")
    assert "somebody else uses the name" in outcome.message


@virtual
async def test_a_create_whose_answer_was_lost_failed_and_is_found_done_when_tried_again() -> None:
    workshop = Workshop()
    workshop.lose_answers()
    assert (await carry_out(a_create(), workshop.doors)).result is Result.FAILED
    workshop.send.after = workshop.send.before
    assert (await carry_out(a_create(), workshop.doors)).result is Result.DONE
    assert len(workshop.api.objects) == 1


@virtual
async def test_a_patch_carries_uid_and_version() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    outcome = await carry_out(a_patch(node, version=workshop.version_of()), workshop.doors)
    assert outcome.result is Result.DONE
    (request,) = workshop.writes
    assert f'"uid":"{node.uid}"'.encode() in request.body
    assert b'"resourceVersion":"1"' in request.body


@virtual
async def test_a_patch_on_an_old_version_changes_nothing() -> None:
    workshop = Workshop()
    node, version = workshop.a_node(), workshop.version_of()
    await carry_out(a_patch(node, version=version), workshop.doors)
    outcome = await carry_out(a_patch(node, version=version, value="y"), workshop.doors)
    assert outcome.result is Result.STALE
    assert workshop.api.objects[NODES.path("n")]["metadata"]["labels"] == {"growth.dev/pool": "x"}


@virtual
async def test_a_patch_of_another_object_of_that_name_is_stale_and_other_nonsense_is_refused() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    failing(workshop, Invalid("metadata.uid: Invalid value: field is immutable", status=422, reason="Invalid"))
    assert (await carry_out(a_patch(node), workshop.doors)).result is Result.STALE
    failing(workshop, Invalid("metadata.labels: Invalid value", status=422, reason="Invalid"))
    assert (await carry_out(a_patch(node), workshop.doors)).result is Result.REFUSED


@virtual
async def test_the_status_of_our_own_kinds_is_never_patched_without_its_version() -> None:
    workshop = Workshop()
    action = PatchObject(subject=REQUEST, why="", body={"status": {"phase": "Ready"}}, subresource="status")
    with pytest.raises(ValueError, match="NodeRequest default-1/status is not patched"):
        await carry_out(action, workshop.doors)
    assert workshop.writes == []


@virtual
async def test_a_patch_of_what_is_gone_is_stale() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    del workshop.api.objects[NODES.path("n")]
    assert (await carry_out(a_patch(node), workshop.doors)).result is Result.STALE


@virtual
async def test_what_is_gone_already_was_deleted() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    for _ in range(2):
        assert (await carry_out(a_delete(node), workshop.doors)).result is Result.DONE
    assert NODES.path("n") not in workshop.api.objects


@virtual
async def test_nothing_is_deleted_by_name_alone() -> None:
    workshop = Workshop()
    with pytest.raises(ValueError, match="without its uid"):
        await carry_out(a_delete(REQUEST), workshop.doors)
    assert workshop.writes == []


@virtual
async def test_a_pod_that_is_gone_already_was_evicted() -> None:
    workshop = Workshop()
    assert (await carry_out(an_eviction(), workshop.doors)).result is Result.DONE


ANSWERS = [
    pytest.param(Conflict("", status=409, reason=""), Result.STALE, id="it changed meanwhile"),
    pytest.param(TooManyRequests("", status=429, reason="", retry_after=7), Result.REFUSED, id="a budget says no"),
    pytest.param(Invalid("", status=422, reason=""), Result.REFUSED, id="it makes no sense to the server"),
    pytest.param(Forbidden("", status=403, reason=""), Result.REFUSED, id="the role lacks the verb"),
    pytest.param(ServerTrouble("", status=500, reason=""), Result.FAILED, id="the server failed, perhaps afterwards"),
]


@pytest.mark.parametrize(("error", "result"), ANSWERS)
def test_every_answer_has_one_meaning(error: ApiError, result: Result) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        failing(workshop, error)
        outcome = await carry_out(an_eviction(), workshop.doors)
        assert outcome.result is result
        assert outcome.error == type(error).__name__
        assert outcome.retry_after_seconds == error.retry_after

    story()


@virtual
async def test_a_machine_is_bought_once_however_often_it_is_asked_for() -> None:
    workshop = Workshop()
    outcomes = [await carry_out(a_purchase(), workshop.doors) for _ in range(2)]
    assert [outcome.machine and outcome.machine.id for outcome in outcomes] == ["id-default-1"] * 2
    giving_back = DeleteMachine(subject=REQUEST, why="", provider="kwok", machine_id="id-default-1")
    assert (await carry_out(giving_back, workshop.doors)).result is Result.DONE
    assert workshop.shop.machines == {}


REFUSALS = [
    pytest.param(OutOfStock("none left", offering="kwok-small-a"), Result.REFUSED, None, id="no stock"),
    pytest.param(RateLimited("slow down", retry_after=30), Result.REFUSED, 30, id="asked too often"),
    pytest.param(Unavailable("no answer", may_have_acted=True), Result.FAILED, None, id="no answer"),
]


@pytest.mark.parametrize(("error", "result", "retry_after"), REFUSALS)
def test_a_providers_words_are_passed_on(error: ProviderError, result: Result, retry_after: float | None) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        workshop.shop.trouble = error
        outcome = await carry_out(a_purchase(), workshop.doors)
        expected = (result, type(error).__name__, str(error), retry_after)
        assert (outcome.result, outcome.error, outcome.message, outcome.retry_after_seconds) == expected

    story()


@pytest.mark.parametrize(
    "action", [a_create(), an_edit(REQUEST), an_eviction(), a_purchase()], ids=["create", "edit", "evict", "buy"]
)
def test_nothing_leaves_after_the_fence(action: Action) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        workshop.fence = workshop.clock()
        assert (await carry_out(action, workshop.doors)).result is Result.FENCED
        assert workshop.writes == []
        assert workshop.shop.calls == []

    story()


@virtual
async def test_every_side_effect_passes_its_point() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    giving_back = DeleteMachine(subject=REQUEST, why="", provider="kwok", machine_id="id")
    changes: list[Action] = [a_create(), a_patch(node), an_edit(node), a_delete(node)]
    workshop.api.objects[NODES.collection()] = a_list([])
    fencing = FenceMachine(subject=reference_by_name(NODES, "gone"), why="", provider="kwok", machine_id="id")
    for action in (*changes, an_eviction(), an_event(), a_purchase(), giving_back, fencing):
        await carry_out(action, workshop.doors)
    assert [point for when, point, _ in workshop.passed if when == "before"] == list(EffectPoint)
    assert [point for when, point, _ in workshop.passed if when == "after"] == list(EffectPoint)


@virtual
async def test_a_provider_that_is_not_open_has_done_nothing() -> None:
    workshop = Workshop()
    outcome = await carry_out(msgspec.structs.replace(a_purchase(), provider="kwook"), workshop.doors)
    assert (outcome.result, outcome.error) == (Result.FAILED, "Unavailable")
    assert outcome.message == "the provider 'kwook' is not open; open are: kwok"


@virtual
async def test_an_item_of_a_list_is_changed_if_it_is_still_the_one_that_was_seen() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    outcome = await carry_out(an_edit(node), workshop.doors)
    assert outcome.result is Result.DONE
    again = await carry_out(an_edit(node), workshop.doors)
    assert (again.result, again.error) == (Result.STALE, "Conflict")
    left = workshop.api.objects[NODES.path("n")]["spec"]["taints"]
    assert [taint["key"] for taint in left] == ["example.com/gpu"]


@virtual
async def test_an_item_of_another_object_of_that_name_is_not_changed() -> None:
    workshop = Workshop()
    before = workshop.a_node()
    workshop.api.objects.clear()
    workshop.a_node()
    outcome = await carry_out(an_edit(before), workshop.doors)
    assert (outcome.result, outcome.error) == (Result.STALE, "Conflict")
    assert len(workshop.api.objects[NODES.path("n")]["spec"]["taints"]) == 2


@virtual
async def test_an_edit_of_what_is_gone_is_stale_and_one_that_makes_no_sense_is_refused() -> None:
    workshop = Workshop()
    node = workshop.a_node()
    failing(workshop, Invalid("spec.taints[0].key: Invalid value", status=422, reason="Invalid"))
    assert (await carry_out(an_edit(node), workshop.doors)).result is Result.REFUSED
    failing(workshop, NotFound("", status=404, reason="NotFound"))
    assert (await carry_out(an_edit(node), workshop.doors)).result is Result.STALE


def test_actions_and_outcomes_can_be_written_down_and_read_again() -> None:
    for action in (a_create(), an_edit(REQUEST), an_eviction(), an_event(), a_purchase()):
        assert msgspec.json.decode(msgspec.json.encode(action), type=Action) == action
        outcome = Outcome(action=action, result=Result.DONE, at=NOON)
        assert msgspec.json.decode(msgspec.json.encode(outcome), type=Outcome) == outcome
