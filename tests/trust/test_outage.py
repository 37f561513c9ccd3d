"""The checker's own idea of an outage, and that it finds out who acts in one."""

import asyncio
from collections.abc import Awaitable, Callable, Iterable

import pytest

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus
from growth.api.node_removal_request import NodeRemovalRequest, NodeRemovalRequestSpec
from growth.api.node_request import NodeRequest, NodeRequestSpec, NodeRequestStatus
from growth.api.offering import POOL
from growth.api.settings.model import RegistrySettings
from growth.api.taints import closed
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.nodes import KWOK_LABEL
from tests.trust.crimes import Criminal, found_out
from tests.trust.outage import Outages
from tests.trust.picture import Picture


def a_node(name: str, *, ready: bool = True, pool: str = "default", is_closed: bool = False) -> Node:
    labels = {POOL: pool} if pool else {}
    taints = (closed(name),) if is_closed else ()
    conditions = (Condition("Ready", "True" if ready else "Unknown"),)
    meta = ObjectMeta(name=name, uid=f"uid-{name}", labels=labels)
    return Node(meta, NodeSpec(taints=taints), NodeStatus(conditions=conditions))


def names(count: int) -> list[str]:
    return [f"node-{number}" for number in range(count)]


class Look:
    """A picture, and the outages in it, at one instant after the other."""

    def __init__(self, *nodes: Node, settings: RegistrySettings | None = None) -> None:
        self.picture, self.outages, self.at = Picture(), Outages(settings or RegistrySettings(), grace=3.0), 0.0
        self.see(*nodes)

    def see(self, *nodes: Node) -> float | None:
        """A second later these are so; gives since when there is an outage."""
        self.picture.nodes |= {node.metadata.name: node for node in nodes}
        self.at += 1
        self.outages.take(self.picture, self.at)
        return self.outages.since

    def lose(self, which: Iterable[str]) -> float | None:
        """These fall silent."""
        return self.see(*(a_node(name, ready=False) for name in which))


def test_four_of_eight_that_worked_are_an_outage_and_three_are_not() -> None:
    look = Look(*map(a_node, names(8)))
    assert look.lose(names(3)) is None
    assert look.lose(names(4)) == 3.0
    assert look.lose(names(5)) == 3.0, "it goes on"
    assert look.see(*map(a_node, names(5))) is None


def test_four_of_nine_are_too_small_a_share() -> None:
    assert Look(*map(a_node, names(9))).lose(names(4)) is None


def test_where_nobody_works_one_is_enough() -> None:
    assert Look(a_node("node-0")).lose(names(1)) is not None


def test_settings_say_how_many_are_too_many() -> None:
    assert Look(*map(a_node, names(3)), settings=RegistrySettings(ok_unready=1)).lose(names(2)) is not None


def test_whoever_never_worked_is_coming_and_does_not_count() -> None:
    look = Look(a_node("works"))
    assert look.see(*(a_node(name, ready=False) for name in names(5))) is None
    assert look.see(*(a_node(name, is_closed=True) for name in names(5))) is None
    assert look.see(*(a_node(name, ready=False, is_closed=True) for name in names(5))) is None


def test_whoever_is_going_does_not_count() -> None:
    look = Look(*map(a_node, names(5)))
    for name in names(1):
        removal = NodeRemovalRequest(ObjectMeta(name=name), NodeRemovalRequestSpec("default", name))
        look.picture.removals[name] = removal
    assert look.lose(names(4)) is None
    look = Look(*map(a_node, names(5)))
    given_up = NodeRequestStatus(phase="Deprovisioning")
    look.picture.requests["node-0"] = NodeRequest(ObjectMeta(name="node-0"), NodeRequestSpec("default", "x"), given_up)
    assert look.lose(names(4)) is None


def test_nodes_of_others_count_only_for_those_that_work() -> None:
    others = [a_node(f"other-{number}", pool="") for number in range(5)]
    look = Look(*others)
    assert look.see(*(a_node(node.metadata.name, pool="", ready=False) for node in others[:4])) is None
    assert Look(*others, *map(a_node, names(4))).lose(names(4)) is None


def test_an_outage_counts_when_everybody_must_have_heard_of_it() -> None:
    look = Look(*map(a_node, names(4)))
    began = look.lose(names(4))
    assert began is not None
    assert look.outages.seconds_at(began + 3.0) == 0.0
    assert look.outages.seconds_at(began + 3.5) == 3.5


def test_only_one_that_was_heard_of_has_an_end() -> None:
    look = Look(*map(a_node, names(4)))
    look.lose(names(4))
    look.see(*map(a_node, names(4)))
    assert look.outages.ended_at is None
    look.lose(names(4))
    look.at += 3
    look.see(*map(a_node, names(4)))
    assert look.outages.ended_at == look.at


# Whoever acts in one is found out


async def in_an_outage(criminal: Criminal) -> None:
    """Four nodes that worked are silent for a while."""
    await criminal.pool([{"name": "small"}])
    await criminal.request("late")
    for name in names(4):
        await criminal.request(name)
        await criminal.machine(name)
        await criminal.node(name)
    for name in names(4):
        await criminal.play.client.patch(NODES, name, MergePatch({"metadata": {"labels": {KWOK_LABEL: None}}}))
    nodes = criminal.play.trace.nodes
    await criminal.play.until(lambda: not any(nodes[name].is_ready for name in names(4)), "all are silent")


async def a_machine_is_asked_for(criminal: Criminal) -> None:
    await criminal.request("more")


async def a_machine_is_bought(criminal: Criminal) -> None:
    await criminal.machine("late")


async def a_removal_is_asked_for(criminal: Criminal) -> None:
    spec = {"pool": "default", "nodeName": "node-0"}
    await criminal.client.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": "node-0"}, "spec": spec})


async def a_machine_is_given_back(criminal: Criminal) -> None:
    await criminal.give_back("node-0")


CRIMES: list[tuple[Callable[[Criminal], Awaitable[None]], str]] = [
    (a_machine_is_asked_for, "NodeRequest more was made"),
    (a_machine_is_bought, "ConfigMap kwok-machine-late was made"),
    (a_removal_is_asked_for, "NodeRemovalRequest node-0 was made"),
    (a_machine_is_given_back, "ConfigMap kwok-machine-node-0 was given back"),
]


@pytest.mark.parametrize(("crime", "words"), CRIMES, ids=[crime.__name__ for crime, _ in CRIMES])
def test_the_audit_finds_out_who_acts_in_an_outage(crime: Callable[[Criminal], Awaitable[None]], words: str) -> None:
    async def later(criminal: Criminal) -> None:
        await in_an_outage(criminal)
        await asyncio.sleep(5.0)  # until everybody must have heard of it
        await crime(criminal)

    found = [one for one in found_out(later) if one.startswith("I11 ")]
    assert [words in one for one in found] == [True], found

    async def at_once(criminal: Criminal) -> None:
        await in_an_outage(criminal)
        await crime(criminal)

    assert [one for one in found_out(at_once) if one.startswith("I11 ")] == []


def test_what_people_do_in_an_outage_is_their_business() -> None:
    async def later(criminal: Criminal) -> None:
        await in_an_outage(criminal)
        await asyncio.sleep(5.0)
        spec = {"pool": "default", "nodeName": "node-0"}
        await criminal.play.client.create(NODE_REMOVAL_REQUESTS, {"metadata": {"name": "node-0"}, "spec": spec})

    assert [one for one in found_out(later) if one.startswith("I11 ")] == []
