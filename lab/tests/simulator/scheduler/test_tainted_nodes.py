"""What a closed node said to one pod is what it would say to the next, or it is asked."""

import random
from typing import Any

import msgspec
import pytest

from growth.api.node import Node
from growth.api.pod import Pod
from growth.api.taints import closed, key_to
from growth.decide.fit import fit
from growth_lab.simulator.scheduler.tainted_nodes import Closed
from growth_lab.simulator.scheduler.unschedulable_message import Refused, refused
from tests.decide.stages import a_node, a_pod, a_stage

NAMES = ("a", "b", "c")
AWAY = {"key": "away", "effect": "NoSchedule"}
GOING = {"key": "going", "effect": "NoExecute"}
TOLERATIONS: tuple[list[dict[str, Any]], ...] = ([], [], [{"key": "away", "operator": "Exists"}], [{**GOING}])


def _node(chance: random.Random, name: str) -> Node:
    taints = [one for one in (AWAY, GOING) if chance.random() < 0.3]
    if chance.random() < 0.5:
        # Somebody may have copied it from another node.
        taints.append(msgspec.to_builtins(closed(chance.choice((name, name, "a")))))
    return a_node(name, taints=taints, unschedulable=chance.random() < 0.2)


def _pod(chance: random.Random) -> Pod:
    keys = [msgspec.to_builtins(key_to(name)) for name in NAMES if chance.random() < 0.2]
    return a_pod(tolerations=[*chance.choice(TOLERATIONS), *keys])


def _asked(pod: Pod, node: Node) -> Refused | None:
    stage = a_stage(nodes=[node])
    misfit = fit(stage, pod, node.metadata.name)
    return None if misfit is None else refused(misfit, stage.node_info(node.metadata.name), {})


@pytest.mark.parametrize("seed", range(5))
def test_what_is_remembered_is_what_the_node_would_say(seed: int) -> None:
    chance, kept, remembered = random.Random(seed), Closed(), 0  # noqa: S311 - a seed
    nodes = {name: _node(chance, name) for name in NAMES}
    for _ in range(200):
        name, pod = chance.choice(NAMES), _pod(chance)
        if chance.random() < 0.1:
            nodes[name] = _node(chance, name)
        told, asked = kept.answer(pod, name, nodes[name]), _asked(pod, nodes[name])
        assert told in (None, asked), f"seed {seed}: {pod.spec.tolerations} {pod.keys} on {nodes[name].spec}"
        remembered += told is not None
        if asked is not None:
            kept.note(pod, name, nodes[name], asked)
    assert remembered > 20
