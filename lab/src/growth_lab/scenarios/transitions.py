"""What somebody who only looks can see happen to an object, in a few words: pure, the same for every cluster.

Two clusters behave alike if they tell the same of each object in the same order. Times, versions and the reasons of
controllers are left out; what people and Growth decide by is in.
"""

from collections.abc import Callable, Iterator
from typing import Any, Final

from growth.api.meta import Condition
from growth.api.node import Node
from growth.api.node_memory import is_marked
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.pod import Pod
from growth.api.storage import PersistentVolumeClaim, VolumeAttachment
from growth.api.workloads import Job
from growth.decide.pool_status.conditions import EXPANDING

REMEMBERED: Final = "remembered"
"""A node was given back what it was, or had nothing coming."""


def of_pod(before: Pod | None, now: Pod) -> Iterator[str]:
    """Made, refused, bound, phases, readiness, leaving."""
    if before is None:
        yield "created"
    if _is_refused(now) and (before is None or not _is_refused(before)):
        yield "refused"
    if now.node_name and (before is None or not before.node_name):
        yield f"bound to {now.node_name}"
    phase = now.status.phase
    if phase not in ("Pending", before.status.phase if before else ""):
        yield phase or "without phase"
    yield from _ready(_condition(before.status.conditions if before else ()), _condition(now.status.conditions))
    if now.metadata.deletion_timestamp and not (before and before.metadata.deletion_timestamp):
        yield "leaving"


def of_node(before: Node | None, now: Node) -> Iterator[str]:
    """Registered, ready or not, taints that come and go, its memory given back."""
    if before is None:
        yield "registered"
    if is_marked(now) and (before is None or not is_marked(before)):
        yield REMEMBERED
    was = {str(taint) for taint in before.spec.taints} if before else set[str]()
    taints = {str(taint) for taint in now.spec.taints}
    yield from (f"tainted {taint}" for taint in sorted(taints - was))
    yield from (f"untainted {taint}" for taint in sorted(was - taints))
    yield from _ready(_condition(before.status.conditions if before else ()), _condition(now.status.conditions))


def of_claim(before: PersistentVolumeClaim | None, now: PersistentVolumeClaim) -> Iterator[str]:
    """Made, and bound to a volume."""
    if before is None:
        yield "created"
    if now.spec.volume_name and not (before and before.spec.volume_name):
        yield "has a volume"


def of_attachment(before: VolumeAttachment | None, now: VolumeAttachment) -> Iterator[str]:
    """Asked for, attached, leaving."""
    if before is None:
        yield f"wanted on {now.spec.node_name}"
    if now.status.attached and not (before and before.status.attached):
        yield "attached"
    if now.metadata.deletion_timestamp and not (before and before.metadata.deletion_timestamp):
        yield "leaving"


def of_job(before: Job | None, now: Job) -> Iterator[str]:
    """Made, and how it ended."""
    if before is None:
        yield "created"
    for ending in ("Complete", "Failed"):
        if _holds(now, ending) and not (before and _holds(before, ending)):
            yield ending


def of_pool(before: NodePool | None, now: NodePool) -> Iterator[str]:
    """Made, and whether it can be used. Whether it just expands is written now and then, as all numbers are."""
    if before is None:
        yield "created"
    was = {one.type: one.reason for one in before.status.conditions} if before else dict[str, str]()
    yield from (
        one.reason for one in now.status.conditions if one.type != EXPANDING and was.get(one.type) != one.reason
    )
    if now.metadata.deletion_timestamp and not (before and before.metadata.deletion_timestamp):
        yield "leaving"


def of_request(before: NodeRequest | None, now: NodeRequest) -> Iterator[str]:
    """Made, what it asks for, and its phases."""
    if before is None:
        yield f"asks for {now.spec.target_offering}"
    phase = now.status.phase
    if phase != (before.status.phase if before else "Pending"):
        yield phase


def of_removal(before: NodeRemovalRequest | None, now: NodeRemovalRequest) -> Iterator[str]:
    """Made, why, and its phases."""
    if before is None:
        yield f"created: {now.spec.reason}"
    phase = now.status.phase
    if phase != (before.status.phase if before else "Pending"):
        yield phase


def of_move(before: NodeMove | None, now: NodeMove) -> Iterator[str]:
    """Made, why, and its phases."""
    if before is None:
        yield f"created: {now.spec.reason}"
    phase = now.status.phase
    if phase != (before.status.phase if before else "Buying"):
        yield phase


Transitions = Callable[[Any, Any], Iterator[str]]


def _ready(was: str, now: str) -> Iterator[str]:
    words = {"True": "ready", "False": "not ready", "Unknown": "unknown"}
    if now != was and now in words and not (was == "" and now == "False"):
        yield words[now]


def _condition(conditions: tuple[Condition, ...]) -> str:
    return next((condition.status for condition in conditions if condition.type == "Ready"), "")


def _is_refused(pod: Pod) -> bool:
    condition = pod.condition("PodScheduled")
    return condition is not None and condition.status == "False" and condition.reason == "Unschedulable"


def _holds(job: Job, ending: str) -> bool:
    return any(condition.type == ending and condition.status == "True" for condition in job.status.conditions)
