"""What is bought for nodes that must go: never more than may be."""

import msgspec
import pytest

from growth.api.node import Node
from growth.api.nodepool import NodePool
from growth.api.pod import Pod
from growth.decide.consolidate.asking import question_of
from growth.decide.consolidate.candidates import wished_in
from growth.decide.consolidate.emptying import empty
from growth.decide.consolidate.question import Question
from tests.decide.consolidate.seen import POOL, SETTINGS, SOLD, STATE, a_cloud, a_pod, a_snapshot
from tests.decide.marketplace import a_node


def asked(*things: Node | Pod | NodePool, going: str = "ab") -> Question:
    """How to empty the nodes with these names, whoever wants that."""
    names = [thing.metadata.name for thing in things if isinstance(thing, Node)]
    snapshot = a_snapshot(a_cloud(*names), *things)
    choice = wished_in(snapshot, STATE, SETTINGS, {}, dict.fromkeys(going, "Requested"))
    return question_of(snapshot, STATE, SETTINGS, choice, at_once={})


def bought(question: Question) -> list[list[str]]:
    """By move, the types that it buys."""
    return [[one.offering.server_type for one in move.buying] for move in empty(question).moves]


@pytest.mark.parametrize("group", ["kwok", "kwok-small*", f"default/{SOLD[0].id}"])
def test_of_what_is_on_trial_one_machine_is_bought_in_a_round(group: str) -> None:
    """A provider, a family, or an offering in one pool: the first node gets it, and the second something else, if there
    is any."""
    nodes = [a_node(name) for name in "ab"]
    pods = [a_pod(f"web-{name}", node=name, requests={"cpu": "1500m"}) for name in "ab"]
    question = msgspec.structs.replace(asked(POOL, *nodes, *pods), trials=(group,))
    assert bought(question) == ([["small"]] if group == "kwok" else [["small"], ["large"]])
