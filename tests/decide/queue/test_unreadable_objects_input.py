"""Whatever somebody writes into the objects of a queue: that is said, and the other queues go on."""

from typing import Any

import msgspec
import pytest

from growth.api.decoding import Reader, Unreadable
from growth.api.interning import InternTables
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, RESOURCE_FLAVORS, WORKLOADS
from growth.decide.queue.decider import CAPABILITY
from tests.builders import Json
from tests.decide.passes import Given, deciding
from tests.decide.queue.stage import Stage, a_stage, settings, snapshot_of

decide = deciding(CAPABILITY)

UNCAPPED = settings(backoff_limit_count=None, backoff_max_seconds=None)


def two_queues(terms: Any = None) -> Stage:  # noqa: ANN401 - settings, or the usual ones
    """One with a job in it that was admitted, and another one."""
    stage = a_stage(terms)
    stage.a_queue("other")
    stage.a_door("other-door", "other")
    stage.a_job("hurt")
    stage.settle()
    assert stage.admitted() == ["hurt"]
    return stage


def goes_on(stage: Stage) -> None:
    """Somebody in the other queue is served."""
    stage.a_job("well", local_queue="other-door")
    stage.settle()
    assert "well" in stage.running()


def hurt(stage: Stage, patch: Json) -> None:
    stage.change(WORKLOADS, stage.workload("hurt").metadata.name, patch)


ASSIGNED = {"name": "main", "flavors": {"cpu": "any"}, "resourceUsage": {"cpu": "1"}, "count": 1}
SINCE = "2026-03-02T09:00:00Z"
FAR = "9999-12-31T23:59:59Z"


def given(**fields: Any) -> Json:  # noqa: ANN401
    return {"admission": {"clusterQueue": "all", "podSetAssignments": [{**ASSIGNED, **fields}]}}


def said(kind: str, status: str = "True", reason: str = "ByHand", since: str | None = SINCE) -> Json:
    return {"type": kind, "status": status, "reason": reason, "message": "", "lastTransitionTime": since}


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({"admission": None}, id="admission removed"),
        pytest.param(given(resourceUsage={"cpu": "lots"}), id="nonsense for a quantity"),
        pytest.param(given(resourceUsage={"cpu": "-7"}), id="less than nothing"),
        pytest.param(given(resourceUsage={"cpu": "9" * 400}), id="more than there can be"),
        pytest.param(given(resourceUsage={}), id="no usage"),
        pytest.param(given(flavors={"cpu": "gone"}), id="a flavor that is not there"),
        pytest.param(given(flavors={"moons": "any"}), id="a resource that is not there"),
        pytest.param(given(name="unknown"), id="a pod set that is not there"),
        pytest.param(given(count=2_000_000_000), id="too many pods"),
        pytest.param({"admission": {"clusterQueue": "gone", "podSetAssignments": []}}, id="a queue that is not there"),
        pytest.param({"admission": {"clusterQueue": "all", "podSetAssignments": []}}, id="nothing assigned"),
        pytest.param({"conditions": []}, id="conditions deleted"),
        pytest.param({"conditions": [said("Evicted", since=None)]}, id="evicted, nobody knows when"),
        pytest.param({"conditions": [said("Admitted", since=FAR)]}, id="admitted at the end of time"),
        pytest.param(
            {"conditions": [said("Admitted"), said("PodsReady", "False", "WaitForStart", FAR)]}, id="waits for ever"
        ),
        pytest.param({"conditions": [said(f"Own{number}") for number in range(16)]}, id="full of others' conditions"),
        pytest.param({"requeueState": {"count": 2**31 - 1}}, id="a silly count"),
        pytest.param({"requeueState": {"count": 2**31 - 1, "requeueAt": FAR}}, id="back at the end of time"),
        pytest.param({"requeueState": {"requeueAt": "0001-01-01T00:00:00Z"}}, id="back at the beginning of time"),
        pytest.param({"reclaimablePods": [{"name": "main", "count": 7}]}, id="more spare than there are"),
        pytest.param({"reclaimablePods": [{"name": "unknown", "count": 7}]}, id="spare of nobody"),
    ],
)
@pytest.mark.parametrize("terms", [settings(), UNCAPPED], ids=["capped", "uncapped"])
def test_a_status_that_was_edited_by_hand_hurts_nobody_else(terms: Any, status: Json) -> None:  # noqa: ANN401
    stage = two_queues(terms)
    hurt(stage, {"status": status})
    stage.settle()
    goes_on(stage)
    stage.wait(301)
    stage.wait(3_700)
    assert "well" in stage.admitted() or stage.says("well", "Evicted")[1] == "PodsReadyTimeout"


@pytest.mark.parametrize(
    ("template", "words"),
    [
        pytest.param({"spec": {"containers": 7}}, "cannot be read", id="no list"),
        pytest.param({"spec": None}, "", id="no spec"),
        pytest.param({}, "", id="nothing"),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "resources": {"requests": {"cpu": "much"}}}]}},
            "cannot be read",
            id="nonsense",
        ),
        pytest.param(
            {"spec": {"containers": [{"name": "a", "resources": {"requests": {"pods": "2"}}}]}},
            "pods",
            id="asks for pods",
        ),
    ],
)
@pytest.mark.parametrize("is_admitted", [False, True], ids=["waiting", "admitted"])
def test_a_workload_whose_template_cannot_be_read_says_so(template: Json, words: str, is_admitted: bool) -> None:  # noqa: FBT001
    stage = two_queues()
    status = given(resourceUsage={"cpu": "nonsense"}) if is_admitted else {}
    stage.put(
        WORKLOADS,
        {
            "metadata": {"name": "odd"},
            "spec": {"queueName": "other-door", "podSets": [{"name": "main", "count": 1, "template": template}]},
            "status": status,
        },
    )
    stage.settle()
    odd = next(one for one in stage.workloads() if one.metadata.name == "odd")
    condition = odd.condition("QuotaReserved")
    assert condition is not None
    if words and not is_admitted:
        assert (condition.status, condition.reason) == ("False", "Misconfigured")
        assert words in condition.message
    if words or is_admitted:
        goes_on(stage)


def test_a_job_that_names_no_local_queue_is_told_what_to_do() -> None:
    stage = two_queues()
    stage.a_job("lost", local_queue="nowhere")
    stage.settle()
    condition = stage.workload("lost").condition("QuotaReserved")
    assert condition is not None
    assert condition.reason == "Misconfigured"
    assert condition.message == "there is no LocalQueue default/nowhere: create it, or name another one"
    goes_on(stage)


def test_a_sentence_is_never_too_long_for_its_condition() -> None:
    stage = two_queues()
    stage.a_queue("long", flavors={f"flavor-that-is-not-there-{'x' * 50}-{n}": "1" for n in range(60)})
    stage.settle()
    (condition,) = [one for one in stage.queue("long").status.conditions if one.type == "Active"]
    assert condition.reason == "FlavorNotFound"
    assert len(condition.message) <= 1_024
    goes_on(stage)


def test_others_conditions_make_room_for_ours() -> None:
    stage = two_queues()
    stage.a_job("second")
    stage.settle()
    name = stage.workload("second").metadata.name
    stage.change(WORKLOADS, name, {"status": {"conditions": [said(f"Own{number}") for number in range(16)]}})
    stage.settle()
    conditions = stage.workload("second").status.conditions
    assert len(conditions) == 16
    assert stage.says("second", "QuotaReserved") == ("False", "WaitingForQuota")


# Cohorts


def quota_of(**amounts: Any) -> Json:  # noqa: ANN401
    resources = [{"name": "cpu", **amounts}]
    return {"coveredResources": ["cpu"], "flavors": [{"name": "any", "resources": resources}]}


@pytest.mark.parametrize(
    ("cohorts", "words"),
    [
        ({"team": {"parentName": "company"}, "company": {"parentName": "team"}}, "(team in company in team)"),
        ({"team": {"parentName": "team"}}, "its cohorts are in each other (team in team): change one's parentName"),
        (
            {
                "team": {
                    "resourceGroups": [
                        {
                            "coveredResources": ["cpu"],
                            "flavors": [
                                {"name": "any", "resources": [{"name": "cpu", "nominalQuota": 1, "lendingLimit": 5}]}
                            ],
                        }
                    ]
                }
            },
            "Cohort team: lendingLimit of cpu in flavor any needs a cohort (parentName)",
        ),
        (
            {
                "team": {"parentName": "company"},
                "company": {
                    "resourceGroups": [
                        {
                            "coveredResources": ["cpu"],
                            "flavors": [{"name": "any", "resources": [{"name": "cpu", "nominalQuota": "some"}]}],
                        }
                    ]
                },
            },
            "Cohort company: nominalQuota of cpu in flavor any is 'some'",
        ),
    ],
)
def test_a_queue_whose_cohorts_are_wrong_admits_nobody_and_says_why(cohorts: dict[str, Json], words: str) -> None:
    stage = two_queues()
    stage.a_queue("member", cohortName="team")
    stage.a_door("member-door", "member")
    for name, spec in cohorts.items():
        stage.put(COHORTS, {"metadata": {"name": name}, "spec": spec})
    stage.a_job("waits", local_queue="member-door")
    stage.settle()
    (condition,) = [one for one in stage.queue("member").status.conditions if one.type == "Active"]
    assert (condition.status, condition.reason) == ("False", "Misconfigured")
    assert words in condition.message
    assert stage.says("waits", "QuotaReserved") == ("False", "Misconfigured")
    goes_on(stage)


def test_a_cohort_that_is_only_named_is_none_to_complain_about() -> None:
    stage = two_queues()
    stage.a_queue("member", cohortName="unknown")
    stage.a_door("member-door", "member")
    stage.a_job("served", local_queue="member-door")
    stage.settle()
    assert "served" in stage.running()


# What cannot be read


def unreadable(kind: Any, manifest: Json) -> Any:  # noqa: ANN401
    found = Reader(kind, InternTables()).seen(msgspec.json.encode(manifest))
    assert isinstance(found, Unreadable), found
    return {kind: {"u": found}}


def looked(stage: Stage, strangers: Any) -> tuple[dict[str, str], list[str]]:  # noqa: ANN401
    """What is said on queues and workloads, and the notes of all events, if this is there and cannot be read."""
    seen = msgspec.structs.replace(snapshot_of(stage.objects, stage.now), unreadable=strangers)
    said_now = decide(seen, Given(carry=stage.memory), stage.settings).said
    conditions: dict[str, str] = {}
    for one in said_now:
        for condition in getattr(one, "body", {}).get("status", {}).get("conditions", ()):
            if condition["type"] in ("Active", "QuotaReserved"):
                conditions[one.subject.name] = condition.get("message", "")
    return conditions, [one.why for one in said_now if type(one).__name__ == "RecordEvent"]


def test_a_workload_that_cannot_be_read_closes_only_the_queue_that_it_holds_quota_of() -> None:
    stage = two_queues()
    stage.a_job("next", local_queue="other-door")
    stage.settle()
    stage.a_job("more", local_queue="other-door")
    manifest = {"metadata": {"name": "odd", "namespace": "default", "uid": "u"}, "spec": {"active": "perhaps"}}
    holding = {**manifest, "status": {"admission": {"clusterQueue": "all"}}}
    conditions, events = looked(stage, unreadable(WORKLOADS, holding))
    words = "Workload default/odd cannot be read"
    assert words in conditions["all"]
    assert "nobody knows how much" in conditions["all"]
    assert "other" not in conditions or words not in conditions["other"]
    assert any(words in one for one in events)
    conditions, _ = looked(stage, unreadable(WORKLOADS, manifest))
    assert words not in conditions.get("all", ""), "it holds nothing"


@pytest.mark.parametrize(
    ("kind", "manifest", "words"),
    [
        (
            RESOURCE_FLAVORS,
            {"metadata": {"name": "newer", "uid": "u"}, "spec": {"nodeLabels": 7}},
            "ResourceFlavor newer",
        ),
        (COHORTS, {"metadata": {"name": "team", "uid": "u"}, "spec": {"parentName": 7.5}}, "Cohort team"),
    ],
)
def test_a_queue_that_depends_on_what_cannot_be_read_says_so(kind: Any, manifest: Json, words: str) -> None:  # noqa: ANN401
    stage = two_queues()
    stage.a_queue("dependent", flavors={"newer": "1"} if kind is RESOURCE_FLAVORS else None, cohortName="team")
    if kind is not RESOURCE_FLAVORS:
        stage.settle()
    conditions, events = looked(stage, unreadable(kind, manifest))
    assert conditions["dependent"].startswith(f"{words} cannot be read: Expected")
    assert any(one.startswith(f"{words} cannot be read") for one in events)


def test_a_door_to_a_queue_that_cannot_be_read_says_so() -> None:
    stage = two_queues()
    stage.a_door("strange-door", "strange")
    manifest = {"metadata": {"name": "strange", "uid": "u"}, "spec": {"queueingStrategy": "ShortestFirst"}}
    conditions, _ = looked(stage, unreadable(CLUSTER_QUEUES, manifest))
    assert "ClusterQueue strange admits nobody: ClusterQueue strange cannot be read" in conditions["strange-door"]


@pytest.mark.parametrize("kind", [QUEUED_JOBS, LOCAL_QUEUES])
def test_a_job_or_a_door_that_cannot_be_read_is_told_about(kind: Any) -> None:  # noqa: ANN401
    stage = two_queues()
    manifest = {"metadata": {"name": "odd", "namespace": "default", "uid": "u"}, "spec": 7}
    _, (event,) = looked(stage, unreadable(kind, manifest))
    assert "default/odd cannot be read: Expected `object`, got `int`" in event
