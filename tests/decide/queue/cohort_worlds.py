"""Small trees of cohorts by chance, and how they are put on a stage."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from random import Random
from typing import Any, Final

from growth.api.queue.kinds import CLUSTER_QUEUES, COHORTS, LOCAL_QUEUES, WORKLOADS
from growth.api.queue.workload import ADMITTED, EVICTED, PREEMPTED, QUOTA_RESERVED
from tests.builders import Json
from tests.decide.queue.cohort_tree import Node, Queue, Quota, Slot, Work
from tests.decide.queue.stage import NOW, Stage

FLAVORS: Final = ("red", "blue")
RESOURCES: Final = ("cpu", "example.com/gpu")
Groups = tuple[tuple[tuple[str, ...], tuple[str, ...]], ...]
GROUPS: Final[tuple[Groups, ...]] = (
    ((RESOURCES[:1], FLAVORS),),
    ((RESOURCES[:1], FLAVORS[:1]),),
    ((RESOURCES, FLAVORS),),
    ((RESOURCES[:1], FLAVORS[:1]), (RESOURCES[1:], FLAVORS[1:])),
)
"""Resources and the flavors that have them, group by group."""


def draw_tree(chance: Random, among: Sequence[Groups] = GROUPS) -> tuple[list[Node], list[Queue]]:
    """Up to three cohorts of up to three levels, and up to five queues in them or beside them."""
    groups = chance.choice(among)
    slots = [(flavor, resource) for resources, flavors in groups for resource in resources for flavor in flavors]
    cohorts: list[Node] = []
    for number in range(chance.choice([0, 1, 1, 2, 2, 3])):
        parent = chance.choice([*cohorts, *cohorts, None])
        cohorts.append(Node(f"cohort{number}", parent, {slot: _of_cohort(chance, parent) for slot in slots}))
    queues: list[Queue] = []
    for number in range(chance.choice([1, 2, 2, 3, 3, 4, 5])):
        parent = chance.choice([*cohorts, *cohorts, *cohorts, None])
        reclaim = chance.choice(["Never", "LowerPriority", "Any"])
        borrows = reclaim != "Never" and chance.random() < 0.5
        preference = chance.choice([None, None, "BorrowingOverPreemption", "PreemptionOverBorrowing"])
        searches = ["TryNextFlavor"] if preference is not None else ["TryNextFlavor", "MayStopSearch"]
        queue = Queue(
            f"queue{number}",
            parent,
            {slot: _of_queue(chance, parent) for slot in slots},
            groups,
            is_strict=chance.random() < 0.4,
            within=chance.choice(["Never", "LowerPriority", "LowerOrNewerEqualPriority"]),
            reclaim=reclaim,
            borrows=borrows,
            threshold=chance.choice([None, 0, 1]) if borrows else None,
            when_can_borrow=chance.choice(searches),
            when_can_preempt=chance.choice(searches),
            preference=preference,
        )
        queues.append(queue)
    return [*cohorts, *queues], queues


def _of_cohort(chance: Random, parent: Node | None) -> Quota:
    nominal = chance.choice([0, 0, 0, 2, 5])
    return Quota(nominal) if parent is None else Quota(nominal, *_limits(chance, 6))


def _of_queue(chance: Random, parent: Node | None) -> Quota:
    nominal = chance.randint(0, 8)
    return Quota(nominal) if parent is None else Quota(nominal, *_limits(chance, nominal))


def _limits(chance: Random, lendable: int) -> tuple[int | None, int | None]:
    borrow = chance.randint(0, 8) if chance.random() < 0.3 else None
    return borrow, chance.randint(0, lendable) if chance.random() < 0.3 else None


def draw_work(chance: Random, number: int, queue: Queue) -> Work:
    """Somebody who waits."""
    resources = [resource for names, _ in queue.groups for resource in names]
    needs: list[dict[str, int]] = []
    for _ in range(chance.choice([1, 1, 1, 2])):
        some = [one for one in resources if chance.random() < 0.8] or resources[:1]
        needs.append({resource: chance.randint(1, 5) for resource in some})
    since = NOW - timedelta(minutes=chance.randint(1, 5))
    # So that the order by uid is not that of the names.
    uid = f"{chance.randint(0, 99):02}-{number}"
    was_sent_back = chance.random() < 0.2
    return Work(f"work{number}", uid, queue, chance.randint(0, 3), since, tuple(needs), was_sent_back=was_sent_back)


def draw_holding(chance: Random, work: Work) -> tuple[dict[str, str], ...]:
    """It has had quota for a while, of whatever flavors."""
    flavors: list[dict[str, str]] = []
    for needs in work.needs:
        names = {resources: chance.choice(flavors) for resources, flavors in work.queue.groups}
        flavors.append({one: flavor for resources, flavor in names.items() for one in resources if one in needs})
    hold(work, tuple(flavors), NOW - timedelta(seconds=chance.randint(1, 5)))
    work.is_evicted = work.was_sent_back = chance.random() < 0.15
    return tuple(flavors)


def hold(work: Work, flavors: tuple[Any, ...], now: datetime) -> None:
    """It has quota from now on."""
    usage: dict[Slot, int] = {}
    for needs, chosen in zip(work.needs, flavors, strict=True):
        for resource, amount in needs.items():
            slot = (chosen[resource], resource)
            usage[slot] = usage.get(slot, 0) + amount
    work.uses, work.reserved_at, work.was_sent_back = usage, now, False


# On the stage.


def put_tree(stage: Stage, nodes: list[Node]) -> None:
    for flavor in FLAVORS:
        stage.a_flavor(flavor)
    for node in nodes:
        if isinstance(node, Queue):
            stage.put(CLUSTER_QUEUES, {"metadata": {"name": node.name}, "spec": queue_spec(node)})
            stage.put(LOCAL_QUEUES, {"metadata": {"name": node.name}, "spec": {"clusterQueue": node.name}})
        else:
            spec = {"parentName": node.parent.name if node.parent is not None else "", "resourceGroups": _alone(node)}
            stage.put(COHORTS, {"metadata": {"name": node.name}, "spec": spec})


def queue_spec(queue: Queue) -> Json:
    borrow: Json = {"policy": "LowerPriority", "maxPriorityThreshold": queue.threshold}
    groups = [
        {
            "coveredResources": list(resources),
            "flavors": [
                {"name": one, "resources": [_quota(queue, (one, name)) for name in resources]} for one in flavors
            ],
        }
        for resources, flavors in queue.groups
    ]
    return {
        "resourceGroups": groups,
        "namespaceSelector": {},
        "cohortName": queue.parent.name if queue.parent is not None else "",
        "queueingStrategy": "StrictFIFO" if queue.is_strict else "BestEffortFIFO",
        "preemption": {
            "withinClusterQueue": queue.within,
            "reclaimWithinCohort": queue.reclaim,
            **({"borrowWithinCohort": borrow} if queue.borrows else {}),
        },
        "flavorFungibility": {
            "whenCanBorrow": queue.when_can_borrow,
            "whenCanPreempt": queue.when_can_preempt,
            "preference": queue.preference,
        },
    }


def _alone(cohort: Node) -> list[Json]:
    """Each quota of a cohort in a group; how they are grouped is no matter there."""
    resources = sorted({resource for _, resource in cohort.quotas})
    flavors = sorted({flavor for flavor, _ in cohort.quotas})
    if len(resources) * len(flavors) == len(cohort.quotas):
        named = [{"name": one, "resources": [_quota(cohort, (one, name)) for name in resources]} for one in flavors]
        return [{"coveredResources": resources, "flavors": named}]
    return [
        {"coveredResources": [slot[1]], "flavors": [{"name": slot[0], "resources": [_quota(cohort, slot)]}]}
        for slot in cohort.quotas
    ]


def _quota(node: Node, slot: Slot) -> Json:
    quota = node.quotas[slot]
    limits = {"borrowingLimit": quota.borrow, "lendingLimit": quota.lend}
    written = {name: quantity(slot[1], one) for name, one in limits.items() if one is not None}
    return {"name": slot[1], "nominalQuota": quantity(slot[1], quota.nominal), **written}


def quantity(resource: str, amount: int) -> str:
    """So that what is counted is the amount itself."""
    return f"{amount}m" if resource == "cpu" else str(amount)


def put_work(stage: Stage, work: Work, flavors: tuple[dict[str, str], ...] | None = None) -> None:
    """A workload without a job: whatever it holds is free as soon as it is evicted."""
    sets = [
        {
            "name": f"set{number}",
            "count": 1,
            "template": {"metadata": {}, "spec": {"containers": [_container(needs)]}},
        }
        for number, needs in enumerate(work.needs)
    ]
    meta = {"name": work.name, "uid": work.uid, "creationTimestamp": work.since.isoformat()}
    status: Json = {}
    if flavors is not None:
        status = _holding(work, flavors)
    elif work.was_sent_back:
        status = {"conditions": [_said(EVICTED, PREEMPTED, work.since)]}
    spec = {"queueName": work.queue.name, "priority": work.priority, "podSets": sets}
    stage.put(WORKLOADS, {"metadata": meta, "spec": spec, "status": status})


def _container(needs: Any) -> Json:  # noqa: ANN401 - amounts by resource
    requests = {resource: quantity(resource, amount) for resource, amount in needs.items()}
    return {"name": "main", "image": "main", "resources": {"requests": requests}}


def _holding(work: Work, flavors: tuple[dict[str, str], ...]) -> Json:
    said = [(QUOTA_RESERVED, "QuotaReserved"), (ADMITTED, "Admitted")]
    said += [(EVICTED, PREEMPTED)] if work.is_evicted else []
    given = [
        {
            "name": f"set{number}",
            "count": 1,
            "flavors": chosen,
            "resourceUsage": {resource: quantity(resource, needs[resource]) for resource in chosen},
        }
        for number, (needs, chosen) in enumerate(zip(work.needs, flavors, strict=True))
    ]
    return {
        "admission": {"clusterQueue": work.queue.name, "podSetAssignments": given},
        "conditions": [_said(kind, reason, work.reserved_at) for kind, reason in said],
    }


def _said(kind: str, reason: str, at: datetime | None) -> Json:
    when = at.isoformat() if at is not None else ""
    return {"type": kind, "status": "True", "reason": reason, "message": "", "lastTransitionTime": when}
