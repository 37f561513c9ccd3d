"""Pods that lose their machine are demand before they are gone, and nothing is bought for them twice."""

from datetime import timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import Action, CreateObject, Hold, PatchObject
from growth.api.change import Change, ChangeType
from growth.api.kinds import PERSISTENT_VOLUME_CLAIMS, PERSISTENT_VOLUMES, PODS
from growth.api.node_request import NodeRequest
from growth.api.out_of_service import SHUTDOWN
from growth.api.pod import Pod
from growth.api.taints import LEAVES
from tests.decide import stages
from tests.decide.marketplace import a_cloud, a_machine, a_node, an_offering
from tests.decide.scale_up.town import LARGE, MS, NOW, SECOND, SMALL, Town, a_pod

DEAD, OTHER = "default-1", "default-2"
QUIET = 100 * MS
STATEFUL = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "set", "controller": True}
MACHINES = [a_machine(DEAD), a_machine(OTHER)]


def a_database(node: str = DEAD, *, cpu: str = "1500m", **fields: Any) -> Pod:  # noqa: ANN401
    """A pod on a node, terminating since the taint was set."""
    return stages.a_pod("db-0", requests={"cpu": cpu}, node=node, owner=STATEFUL, terminating=True, **fields)


def its_successor(cpu: str = "1500m") -> Pod:
    """The same pod anew: of the same name, with another uid, refused by the scheduler."""
    pod = a_pod("db-0", cpu, owner=STATEFUL)
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, uid="new"))


def a_town(*things: Any) -> Town:  # noqa: ANN401
    """Two machines of a pool, of which the first was just taken out of service."""
    town = Town(a_cloud(SMALL, LARGE, machines=MACHINES), a_node(DEAD, taints=[SHUTDOWN]))
    town.add(*things)
    town.dying = {DEAD}
    return town


def is_gone(town: Town, pod: Pod, successor: Pod | None = None) -> None:
    town.remove(pod)
    if successor is not None:
        town.add(successor)


def offerings(town: Town) -> list[str]:
    return [offering for offering, _ in town.launched]


def said_of_pods(town: Town) -> list[Action | Hold]:
    return [one for _, decision in town.passes for one in decision.said if one.subject.kind == PODS.name]


# Demand


def test_a_machine_is_asked_for_while_the_pod_is_still_there() -> None:
    town = a_town(a_database())
    town.run()
    assert offerings(town) == ["kwok-small-fsn1"]
    assert town.plans[0].at == NOW + QUIET


def test_a_plan_waits_a_moment_for_others_that_are_made_anew_at_once() -> None:
    """Whoever came long ago does not hurry it."""
    early = a_pod("early")
    town = a_town(a_database(), a_node("own", pool="", has={"cpu": "1"}), early)
    town.dying.clear()
    town.bind(early, "own")
    town.run(timedelta(minutes=30))
    town.dying = {DEAD}
    assert town.look().requeue_at == town.now + QUIET
    town.add(a_pod("web", "500m"))
    town.run()
    assert [offering for offering, _ in town.launched] == ["kwok-small-fsn1"]
    assert len(town.requests[0].planned_for) == 2


def test_nothing_is_bought_if_a_node_that_stands_has_room() -> None:
    town = a_town(a_database(), a_node(OTHER))
    town.run(timedelta(minutes=1))
    assert town.launched == []
    assert set(town.plans[-1].expected.values()) == {OTHER}
    assert len(town.plans) == 4, "what is expected is asked about again every 15 s"


def test_nobody_else_is_promised_the_room_in_which_it_is_expected() -> None:
    town = a_town(a_database(), a_node(OTHER))
    town.run()
    town.add(a_pod("web", "1"))
    town.run()
    assert town.launched == [("kwok-small-fsn1", ("web",))]
    assert len(town.plans) == 2, "what the first plan said of it holds on"


def test_nobody_else_is_promised_its_place_on_the_machine_that_comes() -> None:
    town = a_town(a_database())
    town.run()
    town.add(a_pod("web", "1"))
    town.run()
    assert town.launched == [("kwok-small-fsn1", ("gone",)), ("kwok-small-fsn1", ("web",))]


@pytest.mark.parametrize("taints", [(), (SHUTDOWN,)], ids=["before its taint is seen", "after that"])
def test_the_dead_node_is_no_room(taints: tuple[Any, ...]) -> None:
    town = a_town(a_database())
    town.add(a_node(DEAD, has={"cpu": "64"}, taints=taints))
    town.run()
    assert offerings(town) == ["kwok-small-fsn1"]


@pytest.mark.parametrize("taints", [(), (SHUTDOWN,)], ids=["before its taint is seen", "after that"])
def test_nor_is_it_a_machine_that_is_coming_if_it_was_just_bought(taints: tuple[Any, ...]) -> None:
    town = Town(a_pod("web", "1500m"))
    town.run()
    (request,) = town.requests
    name = request.metadata.name
    town.add(a_cloud(SMALL, LARGE, machines=[a_machine(name)]), a_node(name, taints=taints))
    town.move(request, "Ready")
    town.bind(a_pod("web", "1500m"), name)
    town.dying = {name}
    town.run()
    assert len(town.requests) == 2


def test_a_marked_node_is_taken_back_for_it() -> None:
    town = a_town(a_database(), a_node(OTHER, taints=[LEAVES]))
    town.run()
    assert (town.launched, town.taken_back) == ([], {OTHER})


def test_in_an_unhealthy_cluster_nothing_is_bought() -> None:
    names = [f"default-{number}" for number in range(1, 6)]
    town = Town(a_cloud(SMALL, machines=[a_machine(name) for name in names]))
    town.add(*(a_node(name, ready=False) for name in names), a_database())
    town.dying = {DEAD}
    town.run(timedelta(minutes=1))
    assert (town.plans, town.launched) == ([], [])


def test_its_own_claim_and_its_own_anti_affinity_do_not_stand_in_its_way() -> None:
    """Both are the old pod's as long as it is there."""
    zone = {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "topology.kubernetes.io/region"}
    alone = {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": [zone]}}
    disk = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}
    bound = {"annotations": {"pv.kubernetes.io/bind-completed": "yes"}}
    claim = stages.an_object(
        "PersistentVolumeClaim", "data", "default", metadata=bound,
        spec={"accessModes": ["ReadWriteOncePod"], "volumeName": "disk"}, status={"phase": "Bound"},
    )  # fmt: skip
    here = {"nodeSelectorTerms": [
        {"matchExpressions": [{"key": "topology.kubernetes.io/region", "operator": "In", "values": ["fsn1"]}]}
    ]}  # fmt: skip
    volume = stages.an_object("PersistentVolume", "disk", spec={"nodeAffinity": {"required": here}})
    dead = a_node(DEAD, labels={"topology.kubernetes.io/region": "fsn1"})
    town = a_town(a_database(labels={"app": "db"}, affinity=alone, volumes=[disk]), dead)
    town.world.tables[PERSISTENT_VOLUME_CLAIMS].hear([Change(ChangeType.ADDED, claim, None)])
    town.world.tables[PERSISTENT_VOLUMES].hear([Change(ChangeType.ADDED, volume, None)])
    town.sell(*(an_offering(location=place) for place in ("fsn1", "nbg1")))
    town.run()
    assert offerings(town) == ["kwok-small-fsn1"]


# The pod itself is left alone


def test_nothing_is_said_to_it_or_written_on_it_whatever_comes_of_it() -> None:
    for things in ([], [a_node(OTHER)]):
        for cpu in ("1500m", "64"):
            town = a_town(a_database(cpu=cpu), *things)
            town.run(timedelta(minutes=2))
            assert (said_of_pods(town), town.told) == ([], [])


def test_pods_that_the_scheduler_has_not_tried_are_not_demand_because_of_it() -> None:
    untried = a_pod("new", "1", status={"phase": "Pending"})
    town = a_town(a_database(), untried)
    town.run()
    assert town.launched == [("kwok-small-fsn1", ("gone",))]


# Its successor


def test_its_successor_gets_the_machine_that_was_asked_for() -> None:
    old = a_database()
    town = a_town(old)
    town.run()
    is_gone(town, old, its_successor())
    town.run(30 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("db-0",))]
    assert town.requests[0].planned_for == ("new",)


def test_so_it_does_if_it_comes_while_the_plan_is_thought_of() -> None:
    old = a_database()
    town = a_town(old)
    town.look()
    town.now += QUIET
    assert town.look().compute is not None
    is_gone(town, old, its_successor())
    town.look()
    town.think()
    town.run(30 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("db-0",))]


def test_so_it_does_if_it_comes_before_the_request_is_seen() -> None:
    old = a_database()
    town = a_town(old)
    town.is_blind = True
    town.run()
    is_gone(town, old, its_successor())
    town.run(3 * SECOND)
    town.is_blind = False
    town.run(30 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("db-0",))]


def test_so_it_does_after_a_restart() -> None:
    old = a_database()
    town = a_town(old)
    town.run()
    town.restart()
    town.run()
    is_gone(town, old, its_successor())
    town.restart()
    town.run(30 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("db-0",))]


def test_so_it_does_if_the_old_pod_is_still_leaving() -> None:
    """A ReplicaSet makes another as soon as one is asked to go: then failover speaks of the old one no more."""
    town = a_town(a_database())
    town.run()
    town.dying.clear()
    town.add(its_successor())
    town.run(30 * SECOND)
    assert town.launched == [("kwok-small-fsn1", ("db-0",))]


def test_it_is_asked_for_by_one_name_although_nobody_knows_yet_whether_it_is_there() -> None:
    old = a_database()
    town = a_town(old)
    town.is_blind = True
    town.run()
    town.outcomes.clear()
    is_gone(town, old, its_successor())
    town.run(3 * SECOND)
    said = [one for _, decision in town.passes for one in decision.said if isinstance(one, CreateObject)]
    assert len({one.subject.name for one in said}) == 1


@pytest.mark.parametrize("room", ["1", "2"], ids=["that is full", "on which it was expected"])
def test_others_that_lose_their_machine_join_what_was_asked_for(room: str) -> None:
    web = stages.a_pod("web", requests={"cpu": "1"}, node=OTHER, owner=STATEFUL)
    town = a_town(a_database(cpu="1"), a_node(OTHER, has={"cpu": room}), web)
    town.run()
    town.dying = {DEAD, OTHER}
    town.run()
    assert [len(one.planned_for) for one in town.requests] == [2]


def test_a_plan_for_one_that_has_no_successor_is_given_up_in_the_end() -> None:
    old = a_database()
    town = a_town(old)
    town.is_blind = True
    town.run()
    is_gone(town, old)
    town.run(timedelta(minutes=1))
    before = len(town.passes)
    town.run(timedelta(minutes=1))
    assert not any(decision.said for _, decision in town.passes[before:])


def test_a_machine_that_is_ready_before_the_pod_is_gone_is_waiting_for_its_successor() -> None:
    old = a_database()
    town = a_town(old)
    town.run()
    (request,) = town.requests
    arrived(town, request)
    town.run(50 * SECOND)
    assert len(town.plans) == 1, "it has its place"
    town.run(timedelta(minutes=2))
    assert len(town.requests) == 1
    assert not any(isinstance(said, PatchObject) for said in said_of_pods(town))
    is_gone(town, old, its_successor())
    town.run(30 * SECOND)
    assert len(town.requests) == 1
    assert town.remembered.verdicts["new"].node == request.metadata.name


def arrived(town: Town, request: NodeRequest) -> None:
    name = request.metadata.name
    town.add(a_cloud(SMALL, LARGE, machines=[*MACHINES, a_machine(name)]), a_node(name))
    town.move(request, "Ready")
