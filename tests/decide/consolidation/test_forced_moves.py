"""What is bought for nodes that must go: never more than may be."""

import msgspec
import pytest

from growth.api.node import Node
from growth.api.node_pool import NodePool
from growth.api.pod import Pod
from growth.decide.consolidation.candidates import wished_in
from growth.decide.consolidation.forced_moves import empty
from growth.decide.consolidation.problem import ConsolidationProblem
from growth.decide.consolidation.problem_builder import question_of
from tests.decide.consolidation.seen import POOL, SOLD, a_cloud, a_context, a_pod, a_snapshot
from tests.decide.marketplace import a_node

CLOSED = {"key": "node.kubernetes.io/unschedulable", "operator": "Exists"}


def asked(*things: Node | Pod | NodePool, going: str = "ab") -> ConsolidationProblem:
    """How to empty the nodes with these names, whoever wants that."""
    names = [thing.metadata.name for thing in things if isinstance(thing, Node)]
    snapshot = a_snapshot(a_cloud(*names), *things)
    context = a_context(snapshot)
    choice = wished_in(context, {}, dict.fromkeys(going, "Requested"))
    return question_of(context, choice, at_once={})


def launched(question: ConsolidationProblem) -> list[list[str]]:
    """By move, the types that it buys."""
    return [[one.offering.server_type for one in move.launching] for move in empty(question).moves]


@pytest.mark.parametrize("group", ["kwok", "kwok-small*", f"default/{SOLD[0].id}"])
def test_of_what_is_on_trial_one_machine_is_bought_in_a_round(group: str) -> None:
    """A provider, a family, or an offering in one pool: the first node gets it, and the second something else, if there
    is any."""
    nodes = [a_node(name) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name, requests={"cpu": "1500m"}) for name in "ab"]
    question = msgspec.structs.replace(asked(POOL, *nodes, *pods), trials=(group,))
    assert launched(question) == ([["small"]] if group == "kwok" else [["small"], ["large"]])


def test_who_tolerates_closed_nodes_does_not_go_from_one_that_must_go_to_the_next() -> None:
    nodes = [a_node(name) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name, tolerations=[CLOSED]) for name in "ab"]
    assert launched(asked(POOL, *nodes, *pods)) == [["small"], []]


def test_who_stays_on_a_node_that_cannot_be_emptied_keeps_others_away() -> None:
    """Nothing has room for the first node's large pod. The second one's keeps apart from it, in the only zone; it stays
    as well, instead of being bought a machine on which it may not go."""
    apart = {
        "podAntiAffinity": {
            "requiredDuringSchedulingIgnoredDuringExecution": [
                {"labelSelector": {"matchLabels": {"app": "db"}}, "topologyKey": "topology.kubernetes.io/zone"}
            ]
        }
    }
    zone = {"topology.kubernetes.io/zone": "fsn1"}
    nodes = [a_node("a", labels=zone, has={"cpu": "64"}), a_node("b", labels=zone)]
    pods = [
        a_pod("db", node="a", labels={"app": "db"}, requests={"cpu": "32"}),
        a_pod("web", node="b", affinity=apart),
    ]
    found = empty(asked(POOL, *nodes, *pods))
    assert (found.moves, found.stuck.keys()) == ((), {"a", "b"})
