"""Choosing a node for a pod: the emptiest ones are asked first, and a no is remembered until something changes there.

What a node answers depends on that node alone, except where a pod's wishes reach further (spread, other pods,
volumes). So a refusal by one of the local filters holds until its node changes; one by another filter holds until any
pod or volume does. Pods of one template that hold the same keys share what they were told.
"""

import random
from collections.abc import Iterator
from typing import Final

import numpy as np

from growth.api.pod import Pod
from growth.api.selectors import NODE_NAME_FIELD
from growth.decide.fit import fit, grief
from growth.decide.fit.node_affinity import required_affinity
from growth.decide.fit.predicates import hindrance
from growth.decide.fit.topology_spread import HARD
from growth.observe.pod_requests import Requests
from growth_lab.simulator.scheduler.cache import Picture
from growth_lab.simulator.scheduler.free_columns import Flags, Numbers
from growth_lab.simulator.scheduler.full_nodes import Lacking, asks_for_room_first, is_for_all
from growth_lab.simulator.scheduler.tainted_nodes import Closed
from growth_lab.simulator.scheduler.unschedulable_message import (
    NO_NODES,
    Refusal,
    Refused,
    refusal_before_nodes,
    refusal_of_all,
    refused,
)

_LOCAL: Final = frozenset(
    {
        "NodeUnschedulable",
        "NodeName",
        "TaintToleration",
        "NodeAffinity",
        "NodePorts",
        "NodeResourcesFit",
        "NodeDeclaredFeatures",
    }
)
# Wishes are weighed for so many nodes, the emptiest: asking all of a large cluster for every pod would cost too much.
_WEIGHED: Final = 100
# A wish of full weight (100) outweighs any difference in room, whose two scores come to 200 together.
_PER_GRIEF: Final = 2
_STANDINGS: Final = 256


class Standing:
    """What pods of one template were told, as far as it still holds."""

    __slots__ = ("epoch", "near", "pod", "refusal", "seen", "told")

    def __init__(self, pod: Pod) -> None:
        self.pod = pod  # so that no other spec takes over its identity
        self.near: dict[str, Refused] = {}
        """By node, refusals that only that node can take back."""
        self.told: dict[str, Refused] = {}
        """By node, refusals that hold as long as nothing at all changes."""
        self.seen = 0
        self.epoch = -1
        self.refusal: Refusal | None = None


class Chooser:
    """Finds nodes for pods, and words for those that find none."""

    def __init__(self, picture: Picture, chance: random.Random) -> None:
        self._picture, self._chance = picture, chance
        self._standings: dict[tuple[int, int, str, tuple[str, ...]], Standing] = {}
        self._closed = Closed()
        self._lacking = Lacking(picture)

    def choose(self, pod: Pod) -> str | Refusal:
        """The name of the node to take, or why there is none."""
        picture = self._picture
        if not picture.nodes:
            return Refusal(NO_NODES, ())
        stage = picture.stage
        misfit = hindrance(stage, pod)
        if misfit is not None:
            return refusal_before_nodes(stage, pod, misfit, len(picture.nodes))
        nominated = pod.status.nominated_node_name
        if nominated in picture.nodes and fit(stage, pod, nominated) is None:
            return nominated
        names = pinned_names(pod)
        if names is not None:
            return self._choose_among(pod, [name for name in names if name in picture.nodes])
        return self._choose_anywhere(pod, self._standing(pod))

    def _choose_among(self, pod: Pod, names: list[str]) -> str | Refusal:
        """For a pod that names its nodes, as those of a DaemonSet do."""
        requests, answers = self._picture.requests(pod), dict[str, Refused]()
        for name in names:
            answer = self._ask(pod, name, requests)
            if answer is None:
                return name
            answers[name] = answer
        nodes = len(self._picture.nodes)
        return refusal_of_all(answers, nodes, pod, not_asked=nodes - len(names))

    def _choose_anywhere(self, pod: Pod, standing: Standing) -> str | Refusal:
        if standing.refusal is not None:
            return standing.refusal
        picture, requests = self._picture, self._picture.requests(pod)
        nodes, closed, near, told = picture.nodes, self._closed, standing.near, standing.told
        lacking = self._lacking.answers(requests) if asks_for_room_first(pod) else {}
        for name in self._in_order(pod, standing, requests):
            if name in near or name in told:
                continue
            answer = lacking.get(name) or closed.answer(pod, name, nodes[name])
            if answer is None:
                answer = self._ask(pod, name, requests)
                if answer is None:
                    return name
                closed.note(pod, name, nodes[name], answer)
                if is_for_all(nodes[name], answer):
                    lacking[name] = answer
            (near if answer.filter in _LOCAL else told)[name] = answer
        answers = {**standing.near, **standing.told}
        standing.refusal = refusal_of_all(answers, len(picture.nodes), pod)
        return standing.refusal

    def _ask(self, pod: Pod, name: str, requests: Requests) -> Refused | None:
        stage = self._picture.stage
        misfit = fit(stage, pod, name)
        return None if misfit is None else refused(misfit, stage.node_info(name), requests)

    def _in_order(self, pod: Pod, standing: Standing, requests: Requests) -> Iterator[str]:
        """Nodes that seem to have room, the best first; then all others, for the record."""
        board = self._picture.board
        scores = board.scores(requests)
        scores[~self._open_rows(standing, requests)] = -1
        if self._has_wishes(pod):
            yield from self._weighed(pod, scores)
        while (best := scores.max()) >= 0:
            is_best = scores == best
            scores[is_best] = -1
            alike: list[int] = np.flatnonzero(is_best).tolist()
            while alike:
                yield board.names[alike.pop(self._chance.randrange(len(alike)) if len(alike) > 1 else 0)]
        yield from list(board.rows)

    def _open_rows(self, standing: Standing, requests: Requests) -> Flags:
        board = self._picture.board
        rows = board.roomy(requests)
        for known in (standing.near, standing.told):
            if known:
                rows[list(map(board.rows.__getitem__, known))] = False
        return rows

    def _weighed(self, pod: Pod, scores: Numbers) -> Iterator[str]:
        board, stage = self._picture.board, self._picture.stage
        best: list[int] = np.argsort(-scores, kind="stable")[:_WEIGHED].tolist()
        weighed: list[tuple[float, float, str]] = []
        for row in best:
            if scores[row] >= 0:
                name = board.names[row]
                weighed.append((_PER_GRIEF * grief(stage, pod, name) - float(scores[row]), self._chance.random(), name))
        scores[best] = -1
        for _, _, name in sorted(weighed):
            yield name

    def _has_wishes(self, pod: Pod) -> bool:
        affinity = pod.spec.affinity
        rules = () if affinity is None else (affinity.node_affinity, affinity.pod_affinity, affinity.pod_anti_affinity)
        return (
            self._picture.has_soft_taints
            or any(rule is not None and rule.preferred for rule in rules)
            or any(wish.when_unsatisfiable != HARD for wish in pod.spec.topology_spread_constraints)
        )

    def _standing(self, pod: Pod) -> Standing:
        picture = self._picture
        if pod.spec.volumes or pod.status.nominated_node_name:
            return Standing(pod)  # claims are its own, and so is the room that is kept for it
        key = (id(pod.spec), id(pod.metadata.labels), pod.metadata.namespace, pod.keys)
        standing = self._standings.get(key)
        if standing is None:
            if len(self._standings) >= _STANDINGS:
                self._standings.clear()
            standing = self._standings[key] = Standing(pod)
            standing.seen, standing.epoch = picture.changes_heard, picture.epoch
        if standing.epoch != picture.epoch:
            standing.told.clear()
            standing.refusal = None
            standing.epoch = picture.epoch
            if standing.near:
                for name in picture.changed_since(standing.seen, standing.near):
                    standing.near.pop(name, None)
            standing.seen = picture.changes_heard
        return standing


def pinned_names(pod: Pod) -> list[str] | None:
    """The nodes that a pod means by name, if it means any that way; then no others are even looked at."""
    required = required_affinity(pod.spec)
    if required is None or not required.node_selector_terms:
        return None
    found: dict[str, None] = {}
    for term in required.node_selector_terms:
        names: set[str] | None = None
        for field in term.match_fields:
            if field.key == NODE_NAME_FIELD and field.operator == "In":
                names = set(field.values) if names is None else names & set(field.values)
        if names is None:
            return None
        found |= dict.fromkeys(sorted(names))
    return list(found)
