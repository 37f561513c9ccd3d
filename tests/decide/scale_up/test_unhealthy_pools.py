"""Pools, and what is bought in them, of which too much is amiss: nothing more of it until it improves (S2)."""

from datetime import timedelta
from typing import Any

import msgspec

from growth.api.actions import Hold
from growth.api.node import Node
from growth.api.node_pool import NodePoolStatus, Unhealthy
from growth.api.offering import INSTANCE_TYPE, OFFERING
from tests.decide.marketplace import a_cloud, a_machine, a_node, a_pool
from tests.decide.scale_up.town import LARGE, NOW, SECOND, SMALL, Town, a_pod, for_pool

MINUTE = timedelta(minutes=1)
IMPROVES = 2 * MINUTE
FULL = {"cpu": "0"}
# Others work, so that the cluster is healthy.
OTHERS = tuple(a_node(f"other-{number}", pool="", has=FULL) for number in range(8))


def a_bought_node(name: str, offering: str, *, ready: bool, pool: str = "default") -> Node:
    node = a_node(name, pool=pool, offering=offering, ready=ready, has=FULL)
    labels = {**node.metadata.labels, OFFERING: offering, INSTANCE_TYPE: offering.split("-")[1]}
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, labels=labels))


class Pools(Town):
    """A town with nodes of the pool ``default`` that can be broken."""

    def __init__(self, *offerings: str, pools: tuple[Any, ...] = (), pool: str = "default") -> None:
        self.launched_as = {f"{pool}-{number}": offering for number, offering in enumerate(offerings)}
        machines = [a_machine(name, pool=pool, offering=offering) for name, offering in self.launched_as.items()]
        self._pool = pool
        super().__init__(a_cloud(SMALL, LARGE, machines=machines), *OTHERS, *pools)
        self.let(*self.launched_as)

    def let(self, *working: str) -> None:
        """These work from now on, and no others."""
        for name, offering in self.launched_as.items():
            self.add(a_bought_node(name, offering, ready=name in working, pool=self._pool))

    @property
    def held(self) -> list[tuple[str, str]]:
        """Who is left alone now, and why."""
        _, decision = self.passes[-1]
        return [(one.subject.name, one.reason) for one in decision.said if isinstance(one, Hold)]


BOTH = (SMALL.id, SMALL.id, LARGE.id, LARGE.id)


def test_one_that_is_amiss_closes_nothing() -> None:
    town = Pools(SMALL.id, SMALL.id)
    town.let("default-1")
    town.add(a_pod("web"))
    town.run()
    assert town.launched == [(SMALL.id, ("web",))]


def test_what_is_amiss_is_not_bought_and_something_else_is() -> None:
    town = Pools(SMALL.id, SMALL.id)
    town.let()
    town.add(a_pod("web"))
    town.run()
    assert town.launched == [(LARGE.id, ("web",))]
    assert town.held == []


def test_pods_of_an_unhealthy_pool_wait_and_are_told_so() -> None:
    town = Pools(*BOTH)
    town.let()
    town.add(a_pod("web"))
    town.run(10 * MINUTE)
    assert (town.launched, town.plans) == ([], [])
    assert town.held == [("web", "PoolUnusable")]
    assert town.record(a_pod("web")) is None, "that is no failure of theirs"


def test_when_it_was_better_for_a_while_they_are_planned_for() -> None:
    town = Pools(*BOTH)
    town.let()
    web = a_pod("web")
    town.add(web)
    town.run(MINUTE)
    better_at = town.now
    town.let(*town.launched_as)
    town.run(IMPROVES - SECOND)
    assert town.launched == []
    town.run(2 * SECOND)
    assert town.launched == [(SMALL.id, ("web",))]
    assert better_at + IMPROVES <= town.plans[0].at < better_at + IMPROVES + 2 * SECOND


def test_another_pool_takes_those_who_may_go_there() -> None:
    either = {"key": "growth.dev/pool", "operator": "In", "values": ["default", "batch"]}
    required = {"nodeSelectorTerms": [{"matchExpressions": [either]}]}
    affinity = {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}
    pools = (a_pool(types=("small", "large")), a_pool("batch", types=("large",)))
    town = Pools(*BOTH, pools=pools)
    town.let()
    town.add(a_pod("choosy"), a_pod("web", affinity=affinity))
    town.run()
    assert [(one.spec.pool, town.names(one.planned_for)) for one in town.requests] == [("batch", ("web",))]
    assert town.held == [("choosy", "PoolUnusable")]


def test_a_pool_is_not_closed_for_what_is_amiss_in_another() -> None:
    pools = (a_pool(types=("small", "large")), a_pool("batch", types=("small", "large")))
    town = Pools(*BOTH, pools=pools, pool="batch")
    town.let()
    town.add(a_pod("web"), a_pod("job", **for_pool("batch")))
    town.run()
    assert [(one.spec.pool, town.names(one.planned_for)) for one in town.requests] == [("default", ("web",))]
    assert town.held == [("job", "PoolUnusable")]


def test_warm_machines_are_not_bought_for_it_either() -> None:
    types = ({"name": "small", "min": 5}, "large")
    town = Pools(*BOTH, pools=(a_pool(types=types),))
    town.let()
    town.run(MINUTE)
    assert town.launched == []


def test_a_new_process_remembers_that_it_has_yet_to_improve() -> None:
    noted = Unhealthy(offering="", since=NOW - MINUTE, message="4 of 4 were unready")
    pool = a_pool(types=("small", "large"), status=NodePoolStatus(unhealthy=(noted,)))
    town = Pools(*BOTH, pools=(pool,))
    town.add(a_pod("web"))
    town.run(IMPROVES - SECOND)
    assert town.launched == []
    town.run(2 * SECOND)
    assert town.launched == [(SMALL.id, ("web",))]


def test_a_plan_for_what_became_amiss_meanwhile_is_not_carried_out() -> None:
    town = Pools(SMALL.id, SMALL.id)
    town.add(a_pod("web"))
    town.look()
    town.now += SECOND
    town.look()
    town.think()
    town.let()
    town.run()
    assert town.launched == [(LARGE.id, ("web",))]
