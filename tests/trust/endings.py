"""What must hold when a story is over, nobody is hurt any more and Growth has had its time: one function each.

Each gives a sentence for everything that is left to be done, so that a harness can wait until there is nothing.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Final

from growth.api.annotations import BACK_OFF
from growth.api.offering import POOL
from growth.api.out_of_service import OUT_OF_SERVICE, proof_on
from growth.api.pod import Pod
from growth.api.taints import STARTING
from growth.api.tolerations import untolerated
from tests.trust.memoirs import MARKER
from tests.trust.moving import is_marked, is_pool_going, moves_left
from tests.trust.picture import Picture, is_live, is_work
from tests.trust.power import dies
from tests.trust.queueing import left_in_the_queue

SCALE_DOWN_AT: Final = "growth.dev/scale-down-at"

IsPlaceable = Callable[[Pod], bool]


@dataclass(frozen=True)
class Ending:
    """One promise about the end: its number, its name, and what is still missing."""

    number: str
    name: str
    missing: Callable[[Picture, IsPlaceable], Iterator[str]]


def leaked(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """Every machine at the provider has a live request, a Node or a NodeRemovalRequest that speaks for it.

    One of a pool that does not exist is told of and left alone: nobody can say what it is for.
    """
    leaving = {removal.node_name for removal in picture.removals.values()}
    for name, machine in sorted(picture.machines.items()):
        request, node = picture.requests.get(name), picture.nodes.get(name)
        is_spoken_for = (request is not None and is_live(request)) or name in leaving
        is_node = node is not None and node.spec.provider_id == machine.provider_id
        if not (is_spoken_for or is_node) and machine.request.pool in picture.pools:
            yield f"the machine {name} has neither a live request nor a node nor a removal"


def unplaced(picture: Picture, is_placeable: IsPlaceable) -> Iterator[str]:
    """Every pod that could be placed is placed."""
    for pod in picture.pods.values():
        if not pod.node_name and pod.metadata.deletion_timestamp is None and is_work(pod) and is_placeable(pod):
            yield f"the pod {pod.metadata.name} still waits"


def closed_for_nobody(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """A node of a pool that is there is open, expected or leaving."""
    for name, node in sorted(picture.nodes.items()):
        request = picture.requests.get(name)
        is_expected = (request is not None and is_live(request)) or name in picture.removals
        is_known = node.metadata.labels.get(POOL, "") in picture.pools
        if any(taint.key == STARTING for taint in node.spec.taints) and is_known and not is_expected:
            yield f"the node {name} is closed, and no live request will open it"


def half_marked(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """The taint and the annotation of scale-down are there together or not at all, and never on a node with work."""
    for name, node in sorted(picture.nodes.items()):
        has_taint, has_time = is_marked(node), SCALE_DOWN_AT in node.metadata.annotations
        if has_taint != has_time:
            yield f"the node {name} has {'the taint' if has_taint else 'the annotation'} of scale-down alone"
        if has_taint and picture.work_on(name) and name not in picture.removals and not is_pool_going(picture, node):
            yield f"the node {name} is marked for scale-down and has work"


def back_off_left(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """A pod that has its node bears no record of having failed."""
    for pod in picture.pods.values():
        if pod.node_name and BACK_OFF in pod.metadata.annotations and not pod.is_finished:
            yield f"the pod {pod.metadata.name} runs and still bears {BACK_OFF}"


def unfinished(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """No request is still coming, and no removal is still going on: only those that failed stay, for a person."""
    for name, request in sorted(picture.requests.items()):
        if is_live(request) or request.status.phase == "Deprovisioning":
            yield f"the NodeRequest {name} is still {request.status.phase}"
    for name, removal in sorted(picture.removals.items()):
        if removal.status.phase != "RemovalFailed":
            yield f"the NodeRemovalRequest {name} is still {removal.status.phase}"


def still_out(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """A node that works bears no taint of ours, and no pod of a StatefulSet stays on one that does."""
    for name, node in sorted(picture.nodes.items()):
        proof, marks = proof_on(node), [taint for taint in node.spec.taints if taint.key == OUT_OF_SERVICE]
        if proof is None or proof.by or not marks:
            continue
        machine = picture.machine_of(node)
        if node.is_ready and machine is not None and not machine.is_fenced and not dies(machine):
            yield f"the node {name} works, and is out of service"
        for pod in picture.work_on(name):
            owner = pod.metadata.controller
            if owner is not None and owner.kind == "StatefulSet" and untolerated(marks, pod.spec.tolerations):
                yield f"the pod {pod.metadata.name} is still on {name}, which is out of service"


def without_memory(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """Every node was given back what it was, or knows that there is nothing."""
    for name, node in sorted(picture.nodes.items()):
        if MARKER not in node.metadata.labels and node.metadata.deletion_timestamp is None:
            yield f"the node {name} waits for its memory"


def forgotten_jobs(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """Nobody who waits, runs or was stopped is left half-way."""
    yield from left_in_the_queue(picture)


def half_moved(picture: Picture, _: IsPlaceable) -> Iterator[str]:
    """Every move is done, or undone, and nothing is left of it."""
    yield from moves_left(picture)


AT_THE_END: Final = (
    Ending("I2", "no machine is leaked", leaked),
    Ending("I7", "every pod that can be placed is placed", unplaced),
    Ending("I8", "nothing is left over", closed_for_nobody),
    Ending("I8", "nothing is left over", half_marked),
    Ending("I8", "nothing is left over", back_off_left),
    Ending("I8", "nothing is left over", unfinished),
    Ending("I16", "work leaves the dead, and the living come back", still_out),
    Ending("I18", "every node gets its memory back", without_memory),
    Ending("I23", "no job of a queue is lost", forgotten_jobs),
    Ending("I26", "every move is done, or undone", half_moved),
)
