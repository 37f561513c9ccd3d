"""A machine that is bought in the place of one that is lost says so, and each that is lost has one successor."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.node_removal_request import IF_UNREADY
from growth.api.out_of_service import PROOF, SHUTDOWN, Proof
from growth.api.phases import RequestPhase
from growth.api.pod import Pod
from tests.decide import stages
from tests.decide.marketplace import a_cloud, a_machine, a_node, a_pool, a_removal
from tests.decide.scale_up.town import LARGE, NOW, SMALL, Town, a_pod, for_pool

DEAD, OTHER = "default-1", "default-2"
SET = {"apiVersion": "apps/v1", "kind": "StatefulSet", "name": "db", "uid": "set", "controller": True}
REPLICAS = {**SET, "kind": "ReplicaSet", "name": "web", "uid": "replicas"}
MINUTE = timedelta(minutes=1)
ONLY_SMALL = a_cloud(SMALL, machines=[a_machine(DEAD), a_machine(OTHER)])


def lost_from(node: str, name: str = "db-0", cpu: str = "1500m") -> Pod:
    """A pod that loses its machine."""
    return stages.a_pod(name, requests={"cpu": cpu}, node=node, owner=SET, terminating=True)


def out(name: str = DEAD, *, since: datetime = NOW, **proof: Any) -> Node:  # noqa: ANN401
    """A node that was taken out of service on proof."""
    node = a_node(name, taints=[SHUTDOWN])
    known = Proof(since, f"kwok://{name}", since, Power.OFF, since, since, 3)
    annotations = {PROOF: msgspec.structs.replace(known, **proof).text}
    return msgspec.structs.replace(node, metadata=msgspec.structs.replace(node.metadata, annotations=annotations))


def a_town(*things: Any, dying: set[str] | None = None) -> Town:  # noqa: ANN401
    town = Town(a_cloud(SMALL, LARGE, machines=[a_machine(DEAD), a_machine(OTHER)]), *things)
    town.dying = dying or set()
    return town


def replaced(town: Town) -> list[str]:
    """Whom the requests replace."""
    return sorted(one.spec.replaces for one in town.requests)


def made(at: datetime, owner: dict[str, Any] | None = REPLICAS, **fields: Any) -> Pod:  # noqa: ANN401
    """A pod that waits, made at this instant."""
    pod = a_pod("web", owner=owner, **fields)
    return msgspec.structs.replace(pod, metadata=msgspec.structs.replace(pod.metadata, creation_timestamp=at))


def without_load(node: Node, *, unready: bool) -> Town:
    """A pool keeps one machine ready, which is being removed; another node works."""
    pool = a_pool(types=({"name": "small", "min": 1}, "large"))
    town = Town(pool, node, a_node(OTHER, pool=""), a_cloud(SMALL, LARGE, machines=[a_machine(DEAD)]))
    removal = a_removal(DEAD)
    if unready:
        meta = msgspec.structs.replace(removal.metadata, annotations={IF_UNREADY: "true"})
        removal = msgspec.structs.replace(removal, metadata=meta)
    town.world.tables[NODE_REMOVAL_REQUESTS].hear([Change(ChangeType.ADDED, removal, None)])
    town.run()
    return town


# For pods that lose their machine


def test_a_machine_for_pods_that_lose_theirs_replaces_it() -> None:
    town = a_town(out(), lost_from(DEAD), dying={DEAD})
    town.run()
    assert replaced(town) == [DEAD]


def test_of_two_machines_one_replaces_it_and_it_is_that_of_most_of_its_pods() -> None:
    pods = [lost_from(DEAD, f"db-{number}", "1") for number in range(3)]
    town = Town(a_cloud(SMALL, machines=[a_machine(DEAD)]), out(), *pods)
    town.dying = {DEAD}
    town.run()
    assert {len(one.planned_for): one.spec.replaces for one in town.requests} == {2: DEAD, 1: ""}


def test_two_that_are_lost_have_a_successor_each() -> None:
    town = a_town(out(), out(OTHER), lost_from(DEAD), lost_from(OTHER, "db-1"), dying={DEAD, OTHER})
    town.add(ONLY_SMALL)
    town.run()
    assert replaced(town) == [DEAD, OTHER]


@pytest.mark.parametrize(
    ("phase", "again"),
    [("Pending", ""), ("Provisioning", ""), ("Unmet", DEAD)],
    ids=["is asked for", "is bought", "could not be had"],
)
def test_a_second_machine_replaces_it_only_if_the_first(phase: RequestPhase, again: str) -> None:
    town = a_town(out(), lost_from(DEAD), dying={DEAD})
    town.run()
    (first,) = town.requests
    if phase != "Pending":
        town.move(first, phase)
    town.add(made(town.now, labels={"app": "web"}), lost_from(DEAD, "db-1"))
    town.run(MINUTE)
    others = [one.spec.replaces for one in town.requests if one.metadata.name != first.metadata.name]
    assert sorted(others)[-1:] == [again]


def test_a_successor_is_of_the_same_pool() -> None:
    pod = stages.a_pod("db-0", requests={"cpu": "1"}, node=DEAD, owner=SET, terminating=True, **for_pool("other"))
    pools = [a_pool(types=("small", "large")), a_pool("other", types=("small", "large"))]
    town = a_town(*pools, out(), pod, dying={DEAD})
    town.run()
    assert [(one.spec.pool, one.spec.replaces) for one in town.requests] == [("other", "")]


def test_a_node_that_is_not_ours_has_no_successor() -> None:
    own = msgspec.structs.replace(a_node("own", pool="", has={"cpu": "2"}), spec=out("own").spec)
    town = a_town(own, lost_from("own"), dying={"own"})
    town.run()
    assert replaced(town) == [""]


def test_who_decides_again_decides_the_same() -> None:
    """A leader that was stopped before it saw its request, and the next one."""
    first, second = (a_town(out(), lost_from(DEAD), dying={DEAD}) for _ in range(2))
    first.run()
    second.is_blind = True
    second.run()
    second.restart()
    second.is_blind = False
    second.run()
    assert [(one.metadata.name, one.spec) for one in first.requests] == [
        (one.metadata.name, one.spec) for one in second.requests
    ]


def test_the_name_does_not_depend_on_whom_it_replaces() -> None:
    ours, foreign = a_town(out(), lost_from(DEAD), dying={DEAD}), a_town(out(), lost_from(DEAD), dying={DEAD})
    foreign.add(a_cloud(SMALL, LARGE, machines=[]))
    for town in (ours, foreign):
        town.run()
    assert (replaced(ours), replaced(foreign)) == ([DEAD], [""])
    assert [one.metadata.name for one in ours.requests] == [one.metadata.name for one in foreign.requests]


# For pods that were made anew before anybody planned


def test_so_does_one_for_pods_that_were_made_since() -> None:
    town = a_town(out(), made(NOW))
    town.run()
    assert replaced(town) == [DEAD]


@pytest.mark.parametrize(
    ("node", "pod"),
    [
        pytest.param(out(), made(NOW - MINUTE), id="that waited before"),
        pytest.param(out(), made(NOW, None), id="that nobody makes anew"),
        pytest.param(out(since=NOW - 6 * MINUTE), made(NOW), id="long after"),
        pytest.param(out(is_forced=True), made(NOW), id="although nothing is proven"),
        pytest.param(out(provider_id="kwok://another"), made(NOW), id="though another machine died"),
        pytest.param(a_node(DEAD, taints=[SHUTDOWN]), made(NOW), id="though a person set the taint"),
    ],
)
def test_but_not_for_pods(node: Node, pod: Pod) -> None:
    town = a_town(node, pod)
    town.run()
    assert replaced(town) == [""]


def test_who_is_known_to_lose_a_machine_comes_first() -> None:
    town = a_town(out(), out(OTHER), lost_from(OTHER), made(NOW, **for_pool("default")), dying={OTHER})
    town.add(ONLY_SMALL)
    town.run()
    found = {len([uid for uid in one.planned_for if uid.startswith("successor")]): one for one in town.requests}
    assert found[1].spec.replaces == OTHER
    assert found[0].spec.replaces == DEAD


# Without load


def test_a_machine_that_a_pool_keeps_ready_replaces_one_that_goes_because_it_was_unready() -> None:
    assert replaced(without_load(a_node(DEAD, ready=False), unready=True)) == [DEAD]


def test_but_not_one_that_a_person_removes() -> None:
    assert replaced(without_load(a_node(DEAD, ready=False), unready=False)) == [""]


def test_nor_one_of_another_type() -> None:
    assert replaced(without_load(a_node(DEAD, ready=False, offering=LARGE.id), unready=True)) == [""]
