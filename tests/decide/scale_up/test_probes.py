"""What is launched in a pool in which launches fail: what is sure, and one machine at a time beside it."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.node_pool import FailedLaunches, NodePool, NodePoolStatus
from growth.api.pod import Pod
from growth.api.settings.model import ProvisionSettings
from tests.decide.marketplace import HOUR, MINUTE, a_cloud, a_pool, an_offering
from tests.decide.scale_up.town import NOW, SECOND, Town, a_crowd, a_pod

FAILURE_TIME = ProvisionSettings().machine_within
BIG = {"cpu": "8", "memory": "16Gi", "pods": "110"}
CHEAP = [an_offering("cheap", place, price=1.0, resources=BIG) for place in ("fsn1", "nbg1")]
DEAR = [an_offering("dear", place, price=2.0, resources=BIG) for place in ("fsn1", "nbg1")]
CHEAP_FSN1, CHEAP_NBG1 = (one.id for one in CHEAP)
DEAR_FSN1, DEAR_NBG1 = (one.id for one in DEAR)


def failed(offering: str, last_at: timedelta = -SECOND, **fields: Any) -> FailedLaunches:  # noqa: ANN401
    at = NOW + last_at
    launched = at - FAILURE_TIME
    stated: dict[str, Any] = {"failures": 1, "rounds": 1, "launched_at": launched, "reason": "NoNode", **fields}
    retry_at = at + FAILURE_TIME
    return FailedLaunches(offering, since=launched, last_at=at, retry_at=retry_at, message="no node", **stated)


def a_town(*entries: FailedLaunches, pods: list[Pod] | None = None, **spec: Any) -> Town:  # noqa: ANN401
    pool = a_pool(types=("cheap", "dear"), status=NodePoolStatus(failed_launches=entries), **spec)
    return Town(a_cloud(*CHEAP, *DEAR), pool, *(pods if pods is not None else [a_pod("web")]))


def waiting_since(pod: Pod, age: timedelta) -> Pod:
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, creation_timestamp=NOW - age))


def probes(town: Town) -> list[str]:
    return sorted(one.spec.target_offering for one in town.requests if one.is_probe)


def planned(town: Town) -> list[str]:
    return sorted(one.spec.target_offering for one in town.requests if not one.is_probe)


def test_plans_leave_the_type_out_whose_machine_failed() -> None:
    town = a_town(failed(CHEAP_FSN1))
    town.run()
    assert (town.launched, probes(town)) == ([(DEAR_FSN1, ("web",))], [])


def test_of_a_type_that_is_not_proven_one_machine_comes_first() -> None:
    town = a_town(failed(CHEAP_FSN1), pods=a_crowd(4, cpu="6"))
    town.run()
    assert planned(town) == [DEAR_FSN1]
    ((subject, note), *_) = [(event.subject.name, event.why) for event in town.events if event.reason == "NoPlacement"]
    assert subject.startswith("web-")
    assert f"machines of pool default fail to become working nodes: {CHEAP_FSN1} (NoNode)" in note


def test_a_type_that_works_is_launched_without_bound() -> None:
    works = FailedLaunches(DEAR_NBG1, worked_at=NOW - MINUTE)
    town = a_town(failed(CHEAP_FSN1), works, pods=a_crowd(4, cpu="6"))
    town.run()
    assert planned(town) == [DEAR_FSN1] * 4


ALL_FAILED = [failed(name, -age * MINUTE) for age, name in enumerate((DEAR_NBG1, DEAR_FSN1, CHEAP_NBG1, CHEAP_FSN1), 1)]


def test_when_all_failed_the_one_that_failed_longest_ago_is_tested_alone() -> None:
    town = a_town(*ALL_FAILED)
    town.run(MINUTE)
    assert (planned(town), probes(town)) == ([], [CHEAP_FSN1])
    assert town.launched == [(CHEAP_FSN1, ())], "no pod relies on it"


def test_a_probe_that_failed_makes_room_for_the_next_one() -> None:
    town = a_town(*ALL_FAILED)
    town.run(MINUTE)
    (probe,) = town.requests
    town.move(probe, "Deprovisioning", "NoNode")
    town.run(FAILURE_TIME - MINUTE)
    assert [one.status.phase for one in town.requests] == ["Deprovisioning"], "one in each failure time"
    town.run(2 * MINUTE)
    assert [one.spec.target_offering for one in town.requests if one.status.phase == "Pending"] == [CHEAP_NBG1]


def test_pods_that_wait_longer_than_a_failure_time_get_probes_beside_what_is_coming() -> None:
    town = a_town(failed(CHEAP_FSN1), pods=[waiting_since(a_pod("web"), FAILURE_TIME)])
    town.run(FAILURE_TIME / 3 - MINUTE)
    assert (planned(town), probes(town)) == ([DEAR_FSN1], []), "the first launch has its time"
    town.run(FAILURE_TIME / 3 + 2 * MINUTE)
    assert (planned(town), probes(town)) == ([DEAR_FSN1], [CHEAP_NBG1, DEAR_NBG1])


def test_pods_that_just_came_get_no_probes() -> None:
    town = a_town(failed(CHEAP_FSN1), pods=[waiting_since(a_pod("web"), SECOND)])
    town.run(FAILURE_TIME - MINUTE)
    assert (planned(town), probes(town)) == ([DEAR_FSN1], [])


@pytest.mark.parametrize(("since", "expected"), [(HOUR, [CHEAP_NBG1]), (MINUTE, list[str]())], ids=["over", "not over"])
def test_a_suspect_type_is_tested_beside_a_plan_when_its_wait_is_over(since: timedelta, expected: list[str]) -> None:
    works = FailedLaunches(DEAR_NBG1, worked_at=NOW - MINUTE)
    town = a_town(failed(CHEAP_FSN1, -since), works)
    town.run()
    assert (planned(town), probes(town)) == ([DEAR_FSN1], expected)


def test_limits_hold_for_probes() -> None:
    town = a_town(*ALL_FAILED, limits={"nodes": 0})
    town.run(MINUTE)
    assert town.requests == []


def test_offerings_that_fit_no_pending_pod_are_not_tested() -> None:
    town = a_town(*ALL_FAILED, pods=[a_pod("web", cpu="16")])
    town.run(MINUTE)
    assert town.requests == []


def test_a_pool_that_lacks_machines_without_load_tests_their_type_once_in_each_failure_time() -> None:
    types = ({"name": "cheap", "min": 1}, {"name": "dear"})
    for launched, expected in ((MINUTE, list[str]()), (FAILURE_TIME, [CHEAP_NBG1])):
        entry = failed(CHEAP_FSN1, launched_at=NOW - launched)
        status = NodePoolStatus(failed_launches=(entry,))
        pool: NodePool = a_pool(types=types, status=status)
        town = Town(a_cloud(*CHEAP, *DEAR), pool)
        town.run(SECOND)
        assert probes(town) == expected
