"""What pods will ask for once the API server has made them."""

from typing import Any

import pytest

from growth.api.queue.kinds import WORKLOADS
from growth.api.queue.pod_defaults import LIMIT_RANGES, RUNTIME_CLASSES
from tests.builders import Json
from tests.decide.queue.stage import Stage, a_stage


def asked(stage: Stage, job: str = "one") -> Any:  # noqa: ANN401
    """How much cpu a job was given."""
    admission = stage.workload(job).status.admission
    assert admission is not None
    return admission.pod_set_assignments[0].resource_usage["cpu"]


def a_range(stage: Stage, name: str = "defaults", kind: str = "Container", **words: Json) -> None:
    stage.put(LIMIT_RANGES, {"metadata": {"name": name}, "spec": {"limits": [{"type": kind, **words}]}})


def containers(*resources: Json) -> Json:
    return {"containers": [{"name": f"c{number}", "resources": one} for number, one in enumerate(resources)]}


@pytest.mark.parametrize(
    ("words", "cpu"),
    [
        ({"defaultRequest": {"cpu": "300m"}, "default": {"cpu": "1"}}, "300m"),
        ({"default": {"cpu": "700m"}, "min": {"cpu": "100m"}}, "700m"),
        ({"max": {"cpu": "2"}}, "2"),
        ({"min": {"cpu": "100m"}}, "100m"),
    ],
    ids=["the request", "else the limit", "else the maximum", "else the minimum"],
)
def test_a_container_that_says_nothing_asks_for_what_the_limit_range_says(words: Json, cpu: str) -> None:
    stage = a_stage(cpu="4")
    a_range(stage, **words)
    stage.a_job("one", pods=containers({}))
    stage.settle()
    assert asked(stage) == cpu


def test_what_is_written_counts_before_a_default() -> None:
    stage = a_stage(cpu="8")
    a_range(stage, defaultRequest={"cpu": "300m"})
    stage.a_job("one", pods=containers({"requests": {"cpu": "1"}}, {"limits": {"cpu": "2"}}, {}))
    stage.settle()
    assert asked(stage) == "3300m"


def test_a_limit_stands_for_a_request_that_lacks() -> None:
    stage = a_stage(cpu="4")
    stage.a_job("one", parallelism=2, pods=containers({"limits": {"cpu": "1500m"}}))
    stage.settle()
    assert asked(stage) == "3"


def test_the_first_limit_range_by_name_decides_and_those_for_pods_say_nothing() -> None:
    stage = a_stage(cpu="4")
    a_range(stage, "b", defaultRequest={"cpu": "2"})
    a_range(stage, "a", defaultRequest={"cpu": "1"})
    a_range(stage, "0", kind="Pod", max={"cpu": "4"})
    stage.a_job("one", pods=containers({}))
    stage.settle()
    assert asked(stage) == "1"


def test_a_limit_range_of_another_namespace_says_nothing() -> None:
    stage = a_stage(cpu="4")
    limits = [{"type": "Container", "defaultRequest": {"cpu": "2"}}]
    stage.put(LIMIT_RANGES, {"metadata": {"name": "theirs", "namespace": "other"}, "spec": {"limits": limits}})
    stage.a_job("one", cpu="1", pods=containers({"requests": {"cpu": "1"}}, {}))
    stage.settle()
    assert asked(stage) == "1"


def test_a_runtime_class_adds_its_overhead_to_every_pod() -> None:
    stage = a_stage(cpu="4")
    stage.put(RUNTIME_CLASSES, {"metadata": {"name": "sandbox"}, "overhead": {"podFixed": {"cpu": "250m"}}})
    stage.put(RUNTIME_CLASSES, {"metadata": {"name": "plain"}})
    stage.a_job("one", parallelism=2, pods={"runtimeClassName": "sandbox"})
    stage.a_job("two", pods={"runtimeClassName": "plain"})
    stage.settle()
    assert (asked(stage), asked(stage, "two")) == ("2500m", "1")


def test_a_range_that_is_changed_counts_for_those_who_still_wait() -> None:
    stage = a_stage(cpu="1")
    a_range(stage, defaultRequest={"cpu": "2"})
    stage.a_job("one", pods=containers({}))
    stage.settle()
    assert stage.admitted() == []
    stage.change(
        LIMIT_RANGES, "defaults", {"spec": {"limits": [{"type": "Container", "defaultRequest": {"cpu": "1"}}]}}
    )
    stage.settle()
    assert asked(stage) == "1"


def test_the_template_itself_stays_as_it_was_written() -> None:
    stage = a_stage(cpu="4")
    a_range(stage, defaultRequest={"cpu": "2"})
    stage.a_job("one", pods=containers({}))
    stage.settle()
    manifest = stage.objects[WORKLOADS, "default", stage.workload("one").metadata.name]
    assert manifest["spec"]["podSets"][0]["template"]["spec"]["containers"] == [{"name": "c0", "resources": {}}]
