"""Launches that failed long ago leave a status at once and whole, and no new process remembers them otherwise."""

from datetime import datetime

import msgspec

from growth.api.actions import PatchObject
from growth.api.node_pool import NodePool, NodePoolStatus
from growth.api.settings.model import Settings
from growth.api.status import condition_of
from growth.decide.pool_status.conditions import HEALTHY
from growth.decide.pool_status.decider import CAPABILITY
from tests.decide.marketplace import HOUR, NOW, SMALL, a_cloud, a_failed_request, a_pool, a_snapshot
from tests.decide.passes import Given, cluster_in, deciding

decide = deciding(CAPABILITY)

CLOUD = a_cloud(read_at=NOW)
FAILED = [a_failed_request(name, reason="NeverReady", since=NOW - HOUR) for name in ("default-1", "default-2")]


def written(pool: NodePool, now: datetime = NOW) -> NodePool:
    """The pool with the status that it gets."""
    decision = decide(a_snapshot(pool, CLOUD, *FAILED, now=now), Given(), Settings())
    (patch,) = (one for one in decision.said if isinstance(one, PatchObject) and one.subresource == "status")
    return msgspec.structs.replace(pool, status=msgspec.convert(patch.body["status"], NodePoolStatus))


def reason_of(pool: NodePool) -> str:
    """Why it is healthy or not."""
    condition = condition_of(pool.status.conditions, HEALTHY)
    return condition.reason if condition is not None else ""


def test_failures_of_long_ago_and_the_condition_that_tells_them_go_in_one_status() -> None:
    """Otherwise the pool stays unhealthy for words that its own status no longer has a ground for."""
    failing = written(a_pool())
    assert reason_of(failing) == "LaunchesFail"
    forgotten = written(failing, NOW + 100 * HOUR)
    assert (forgotten.status.failed_launches, forgotten.status.unhealthy, reason_of(forgotten)) == ((), (), "Healthy")


def test_a_new_process_takes_failed_launches_for_no_group_of_the_registry() -> None:
    """What a group leaves behind is a while of being closed; a launch that failed has a time to be tried again."""
    pool = written(a_pool())
    assert [one.offering for one in pool.status.unhealthy] == [SMALL]
    assert cluster_in(a_snapshot(pool, CLOUD, *FAILED), Settings()).closed_offerings == frozenset()
