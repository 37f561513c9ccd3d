"""The last look before a machine is bought: limits that a request would pass although its plan did not."""

from datetime import timedelta

import msgspec
import pytest

from growth.api.actions import CreateMachine
from growth.api.node_pool import Limits, NodePool, ServerType
from growth.api.node_request import NodeRequest
from tests.decide.node_requests.stage import (
    ANOTHER,
    LARGE,
    NAME,
    NOW,
    SMALL,
    a_cloud,
    a_machine,
    a_pool,
    a_request,
    decided,
    status_written,
)

# A small machine has 2 CPU and 4Gi, costs 1.0 an hour; a large one has 8 CPU.


_NONE = Limits()


def limited(limits: Limits = _NONE, *, most: int | None = None) -> NodePool:
    pool = a_pool()
    types = tuple(ServerType(one.name, max=most) for one in pool.spec.server_types)
    return msgspec.structs.replace(pool, spec=msgspec.structs.replace(pool.spec, limits=limits, server_types=types))


def written(seconds_ago: int, name: str, offering: str = SMALL.id) -> NodeRequest:
    request = a_request(name=name, since=None, offering=offering)
    created_at = NOW - timedelta(seconds=seconds_ago)
    return msgspec.structs.replace(
        request, metadata=msgspec.structs.replace(request.metadata, creation_timestamp=created_at)
    )


def launched(*things: object) -> list[str]:
    return [one.subject.name for one in decided(*things).said if isinstance(one, CreateMachine)]


@pytest.mark.parametrize(
    ("pool", "passed"),
    [
        pytest.param(limited(), "", id="no limit at all"),
        pytest.param(limited(Limits(nodes=2)), "", id="two nodes: just enough"),
        pytest.param(limited(Limits(nodes=1)), "pool default may have 1 nodes", id="one node"),
        pytest.param(limited(Limits(cpu=4)), "", id="four CPU: just enough"),
        pytest.param(limited(Limits(cpu="3900m")), "pool default may have 3900m CPU", id="a little less"),
        pytest.param(limited(Limits(memory="8Gi")), "", id="memory: just enough"),
        pytest.param(limited(Limits(memory="7Gi")), "pool default may have 7Gi memory", id="too little memory"),
        pytest.param(limited(Limits(cost_per_hour="2")), "", id="money: just enough"),
        pytest.param(limited(Limits(cost_per_hour="1.99")), "pool default may cost 1.99 an hour", id="a cent less"),
        pytest.param(limited(most=2), "", id="two of the type: just enough"),
        pytest.param(limited(most=1), "pool default may have 1 of small", id="one of the type"),
    ],
)
def test_what_would_pass_a_limit_is_given_up_instead_of_bought(pool: NodePool, passed: str) -> None:
    things = (pool, a_request(name=NAME), a_cloud(a_machine(ANOTHER)))
    if not passed:
        assert launched(*things) == [NAME]
        return
    assert launched(*things) == []
    status = status_written(*things)
    assert status["phase"] == "Unmet"
    met = status["conditions"][0]
    assert (met["reason"], met["message"]) == ("LimitReached", f"it would be too much: {passed}")


def test_what_was_written_last_is_too_much() -> None:
    pool = limited(Limits(nodes=2))
    requests = (written(10, "default-3"), written(30, "default-2"), written(20, "default-1"))
    assert launched(pool, *requests, a_cloud()) == ["default-1", "default-2"]


def test_a_smaller_one_after_it_still_fits() -> None:
    pool = limited(Limits(cpu=4))
    requests = (written(30, "default-1", LARGE.id), written(20, "default-2"))
    assert launched(pool, *requests, a_cloud()) == ["default-2"]


def test_a_machine_that_is_there_counts_once_and_is_not_refused() -> None:
    pool = limited(Limits(nodes=1))
    status = status_written(pool, a_request(), a_cloud(a_machine()))
    assert status["phase"] == "Provisioning"
