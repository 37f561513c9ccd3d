"""Whether a queue is at work: also what only Kueue's webhooks would refuse is said on it."""

from typing import Any

import pytest

from growth.api.queue.kinds import CLUSTER_QUEUES, LOCAL_QUEUES, RESOURCE_FLAVORS
from growth.decide.queue.cluster_queue_status import READY, ClusterQueueCheck, standing_of, standing_of_door
from tests.builders import Json
from tests.decide.queue.stage import read


def a_quota(nominal: Any = 1, name: str = "cpu", **limits: Any) -> Json:  # noqa: ANN401
    return {"name": name, "nominalQuota": nominal, **limits}


def a_group(*resources: Json, flavors: tuple[str, ...] = ("any",), covered: tuple[str, ...] = ()) -> Json:
    quotas = list(resources) or [a_quota()]
    return {
        "coveredResources": list(covered) or [one["name"] for one in quotas],
        "flavors": [{"name": name, "resources": quotas} for name in flavors],
    }


def standing(
    *groups: Json,
    taints: list[Json] | None = None,
    meta: Json | None = None,
    **spec: Any,  # noqa: ANN401
) -> ClusterQueueCheck:
    queue = {"metadata": {"name": "all", **(meta or {})}, "spec": {"resourceGroups": list(groups), **spec}}
    flavor = {"metadata": {"name": "any"}, "spec": {"nodeTaints": taints or []}}
    names = {"any", "other"} | {one["name"] for group in groups for one in group["flavors"] if "-" in one["name"]}
    flavors = {name: read(RESOURCE_FLAVORS, flavor) for name in names}
    return standing_of(read(CLUSTER_QUEUES, queue), flavors)


def test_a_queue_with_quota_is_at_work() -> None:
    assert standing(a_group()) == READY
    assert standing() == READY


@pytest.mark.parametrize(
    ("found", "reason", "words"),
    [
        (standing(a_group(), stopPolicy="Hold"), "Stopped", "stopPolicy is Hold"),
        (standing(a_group(), stopPolicy="HoldAndDrain"), "Stopped", "stopPolicy is HoldAndDrain"),
        (standing(a_group(), meta={"deletionTimestamp": "2026-03-02T09:00:00Z"}), "Terminating", "being deleted"),
        (standing(a_group(flavors=("gone", "any"))), "FlavorNotFound", "no ResourceFlavor gone: create it"),
    ],
)
def test_why_a_queue_admits_nobody(found: ClusterQueueCheck, reason: str, words: str) -> None:
    assert (found.is_active, found.reason) == (False, reason)
    assert words in found.why


MANY = tuple(f"flavor-{number}" for number in range(64))


@pytest.mark.parametrize(
    ("found", "words"),
    [
        pytest.param(
            standing(a_group(), a_group(flavors=("other",))),
            "resource cpu is in 2 resource groups",
            id="one group each",
        ),
        pytest.param(
            standing(a_group(), a_group(a_quota(name="gpu"))), "flavor any is named 2 times", id="a flavor in one group"
        ),
        pytest.param(
            standing(a_group(a_quota(name="gpu"), a_quota(), covered=("cpu", "gpu"))),
            "has quota for gpu, cpu: expected cpu, gpu, in this order",
            id="the same order",
        ),
        pytest.param(standing(a_group(a_quota(-1))), "nominalQuota of cpu in flavor any is -1", id="not negative"),
        pytest.param(standing(a_group(a_quota("many"))), "is 'many': expected a quantity, such as 9", id="a quantity"),
        pytest.param(
            standing(a_group(a_quota(lendingLimit=1))),
            "lendingLimit of cpu in flavor any needs a cohort",
            id="a cohort",
        ),
        pytest.param(
            standing(a_group(a_quota(borrowingLimit=1))),
            "borrowingLimit of cpu in flavor any needs a cohort",
            id="both",
        ),
        pytest.param(
            standing(a_group(a_quota("1500m", lendingLimit=2)), cohortName="team"),
            "lendingLimit of cpu in flavor any is 2: expected no more than its nominalQuota, 1500m",
            id="lent of its own",
        ),
        pytest.param(
            standing(a_group(), taints=[{"key": "a", "value": each, "effect": "NoSchedule"} for each in "xy"]),
            "flavor any has the taint a:NoSchedule twice",
            id="taints are unique",
        ),
        pytest.param(
            standing(
                *(a_group(a_quota(name=f"r{n}"), flavors=tuple(f"{each}-{n}" for each in MANY)) for n in range(5))
            ),
            "it has 320 flavors: expected 256 at most",
            id="not too many flavors",
        ),
        pytest.param(
            standing(a_group(*(a_quota(name=f"r{n}") for n in range(9)), flavors=MANY)),
            "a resource group has 576 quotas: expected 512 at most",
            id="not too many pairs",
        ),
    ],
)
def test_what_a_webhook_would_refuse_is_said(found: ClusterQueueCheck, words: str) -> None:
    assert (found.is_active, found.reason) == (False, "Misconfigured")
    assert words in found.why


def test_a_door_is_at_work_if_its_queue_is() -> None:
    queues = {"all": READY, "held": ClusterQueueCheck(is_active=False, reason="Stopped", why="its stopPolicy is Hold")}

    def local_queue(queue: str, **spec: str) -> ClusterQueueCheck:
        manifest = {"metadata": {"name": "door"}, "spec": {"clusterQueue": queue, **spec}}
        return standing_of_door(read(LOCAL_QUEUES, manifest), queues)

    assert local_queue("all") == READY
    assert local_queue("all", stopPolicy="Hold").reason == "Stopped"
    assert local_queue("held").reason == "ClusterQueueIsInactive"
    assert "its stopPolicy is Hold" in local_queue("held").why
    assert local_queue("none").reason == "ClusterQueueDoesNotExist"
    assert "there is no ClusterQueue 'none': create it" in local_queue("none").why
