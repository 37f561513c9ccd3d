"""Webhooks of a Kueue that is gone are named, with the command that removes them."""

from datetime import UTC, datetime

import msgspec
import pytest

from growth.api.actions import Hold, Outcome, PatchObject, RecordEvent, Result, key_of
from growth.api.core import ObjectReference
from growth.api.kinds import PODS
from growth.api.queue.kueue_installation import KUEUE_MUTATING, KUEUE_VALIDATING
from growth.api.references import reference_by_name
from growth.decide.contract import Outcomes
from growth.decide.queue.kueue_coexistence import advice, told_of_leftovers
from tests.builders import Json
from tests.decide.queue.stage import Stage, snapshot_of

DEAD = (
    'Internal error occurred: failed calling webhook "mjob.kb.io": failed to call webhook: Post '
    '"https://kueue-webhook-service.kueue-system.svc:443/mutate-batch-v1-job?timeout=10s": '
    'service "kueue-webhook-service" not found'
)
POD = reference_by_name(PODS, "web", "default")


def webhooks(what: str, policy: str = "Fail") -> Json:
    hooks = [{"name": "mjob.kb.io", "failurePolicy": policy}, {"name": "mpod.kb.io", "failurePolicy": "Ignore"}]
    return {"metadata": {"name": f"kueue-{what}-webhook-configuration"}, "webhooks": hooks}


def reported(stage: Stage, *outcomes: Outcome) -> list[tuple[ObjectReference, str]]:
    outcomes_now = Outcomes({key_of(one.action): one for one in outcomes})
    said = told_of_leftovers(snapshot_of(stage.objects, stage.now), outcomes_now)
    events = [(one.subject, one.why) for one in said if isinstance(one, RecordEvent)]
    holds = [one for one in said if isinstance(one, Hold)]
    assert [(one.subject, one.why) for one in holds] == events
    assert {one.reason for one in holds} <= {"KueueWebhooksLeftOver"}
    return events


def an_outcome(message: str, result: Result = Result.FAILED) -> Outcome:
    action = PatchObject(subject=POD, why="", body={})
    return Outcome(action=action, result=result, at=datetime(2026, 3, 2, tzinfo=UTC), message=message)


def test_both_are_named_before_anything_fails() -> None:
    stage = Stage()
    stage.put(KUEUE_MUTATING, webhooks("mutating"))
    stage.put(KUEUE_VALIDATING, webhooks("validating"))
    (first, mutating), (second, validating) = reported(stage)
    assert (first.kind, second.kind) == ("MutatingWebhookConfiguration", "ValidatingWebhookConfiguration")
    assert "kubectl delete mutatingwebhookconfigurations kueue-mutating-webhook-configuration" in mutating
    assert "kubectl delete validatingwebhookconfigurations kueue-validating-webhook-configuration" in validating


def test_those_that_hold_up_nobody_are_left_alone() -> None:
    stage = Stage()
    stage.put(KUEUE_MUTATING, webhooks("mutating", "Ignore"))
    assert reported(stage) == []


def test_a_write_that_they_refused_says_so_under_any_name() -> None:
    ((subject, why),) = reported(Stage(), an_outcome(DEAD))
    assert subject == POD
    assert "--selector app.kubernetes.io/name=kueue" in why


@pytest.mark.parametrize(
    "message",
    [
        DEAD.replace('service "kueue-webhook-service" not found', "context deadline exceeded"),
        'failed calling webhook "vclusterqueue.kb.io": no endpoints available for service "kueue-webhook-service"',
    ],
)
def test_it_does_not_matter_how_they_are_dead(message: str) -> None:
    assert "Remove them" in advice(message)


def test_a_conversion_is_another_matter() -> None:
    words = advice(
        'conversion webhook for kueue.x-k8s.io/v1beta1, Kind=Workload failed: Post "https://kueue-webhook..."'
    )
    assert "take the conversion out of Kueue's definitions" in words


@pytest.mark.parametrize(
    "outcome",
    [
        an_outcome('failed calling webhook "policy.example.com": timeout'),
        an_outcome("etcdserver: leader changed"),
        msgspec.structs.replace(an_outcome(DEAD), result=Result.DONE),
    ],
)
def test_other_troubles_are_not_kueues(outcome: Outcome) -> None:
    assert reported(Stage(), outcome) == []
