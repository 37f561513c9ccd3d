"""Free room first: what fits on nodes that exist, or are coming anyway, costs nothing.

Nodes are compared all at once, as columns; Fit is asked only about the few that are about to be used, so that every
rule of the scheduler holds without looking at 5,000 nodes one by one.
"""

from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Final

import numpy as np

from growth.api.pod import Pod
from growth.api.taints import without_keys
from growth.decide.fit.node_affinity import matcher
from growth.decide.fit.predicates import fit
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.taint_toleration import prepare as taint_check
from growth.decide.fit.taint_toleration import prepare_unschedulable
from growth.decide.solver.equivalence_groups import EquivalenceGroup
from growth.decide.solver.pod_constraints import PLAIN
from growth.decide.solver.problem import Bools, Floats, Ints

# After so many refusals, or one for so many nodes, all nodes are asked about selector and taints at once: a refusal
# costs eight times as much as asking one node for its labels. And after so many more for nothing we stop: pods that
# other pods keep away from hundreds of nodes with room are not worth the time.
_REFUSALS: Final = 8
_NODES_PER_REFUSAL: Final = 64
_MAX_REFUSALS: Final = 256
# Fullest nodes that are put in order before all are: most pods find their place among them.
_FEW: Final = 64


class ExistingNodes:
    """The nodes of a stage as columns of free room, kept up while pods are placed on the stage."""

    def __init__(self, simulated: SimulatedCluster, resources: Sequence[str]) -> None:
        self._simulated = simulated
        room, nodes = simulated.snapshot.room, simulated.nodes
        rows = room.rows
        # Rows exist for nodes that were seen only through their pods, too.
        is_same = len(rows) == len(nodes) and rows.keys() == nodes.keys()
        self.names: list[str] = list(rows) if is_same else [name for name in nodes if name in rows]
        places = rows.values() if is_same else [rows[name] for name in self.names]
        index = np.fromiter(places, np.int64, len(self.names))
        added = [name for name in nodes if name not in rows] if len(self.names) != len(nodes) else []
        self.names += added
        self._resources = tuple(resources)
        # Column by column in memory: nodes are compared resource by resource.
        self.free: Ints = np.zeros((len(self.names), len(resources)), dtype=np.int64, order="F")
        for at, name in enumerate(resources):
            self.free[: len(index), at] = np.array(room.column(name), dtype=np.int64)[index]
        # Nodes that were added to the stage or changed on it are not as the snapshot says.
        touched = {*simulated.known_sites, *added}
        if touched:
            where = [at for at, name in enumerate(self.names) if name in touched]
            rooms = [simulated.node_info(self.names[at]).free for at in where]
            # Whoever tries many moves has touched all nodes: a column at once takes a third of row by row.
            for at, resource in enumerate(resources):
                self.free[where, at] = [free.get(resource, 0) for free in rooms]
        self._scale = np.array([1 / max(1, int(self.free[:, at].max(initial=1))) for at in range(len(resources))])
        self._emptiness: Floats = self.free.astype(np.float64) @ self._scale
        self._eligible: dict[int, Bools] = {}
        self._patience = min(max(_REFUSALS, len(self.names) // _NODES_PER_REFUSAL), _MAX_REFUSALS // 2)

    def roomy(self, need: Ints) -> Ints:
        """The nodes that have this much free."""
        asked: list[int] = np.flatnonzero(need).tolist()
        if not asked:
            return np.arange(len(self.names))
        has_room = self.free[:, asked[0]] >= need[asked[0]]
        for at in asked[1:]:
            has_room &= self.free[:, at] >= need[at]
        return np.flatnonzero(has_room)

    def slack(self, where: Ints) -> Floats:
        """How empty these nodes are; the fullest is the best for whoever fits."""
        return self._emptiness[where]

    def take(self, node: int, need: Ints, pods: int = 1) -> None:
        """So many pods came to a node."""
        self.free[node] -= need * pods
        self._emptiness[node] -= float(need @ self._scale) * pods

    def place(self, group: EquivalenceGroup) -> list[tuple[str, list[Pod]]]:
        """Place as many of the group's pods as there is room for, fullest nodes first; returns who went where."""
        need = np.array([group.requests.get(name, 0) for name in self._resources], dtype=np.int64)
        where = self.roomy(need)
        if group.node_rules in self._eligible:
            where = where[self._eligible[group.node_rules][where]]
        if not len(where):
            return []
        slack = self.slack(where)
        if group.rules is PLAIN and not group.is_wary and not group.carries:
            return self._place_plain(group, need, where, slack)
        return self._place_one_by_one(group, need, where[np.argsort(slack, kind="stable")])

    def _place_plain(
        self, group: EquivalenceGroup, need: Ints, where: Ints, slack: Floats
    ) -> list[tuple[str, list[Pod]]]:
        pods = list(group.pods)
        placed: list[tuple[str, list[Pod]]] = []
        refusals = 0
        for at in rising(slack):
            node = int(where[at])
            # The first is asked for all of them, so it may not go where only its own key lets it in.
            while pods and fit(self._simulated, without_keys(pods[0]), self.names[node]) is None:
                asked = need > 0
                most = int((self.free[node, asked] // need[asked]).min())
                # Where room is kept for others only Fit knows whether the next one fits, too.
                is_kept = bool(self._simulated.nominated_to(self.names[node], pods[0]))
                here, pods = (pods[:1], pods[1:]) if is_kept else (pods[:most], pods[most:])
                placed.append((self.names[node], here))
                self._take(node, need, here)
                if not is_kept:
                    break
            else:
                refusals += 1
            if not pods:
                break
            if refusals == self._patience and group.node_rules not in self._eligible:
                self._ask_all(group)
                return placed + self._rest(group, pods)
        return placed

    def _rest(self, group: EquivalenceGroup, pods: list[Pod]) -> list[tuple[str, list[Pod]]]:
        return self.place(replace(group, pods=pods))

    def _place_one_by_one(self, group: EquivalenceGroup, need: Ints, where: Ints) -> list[tuple[str, list[Pod]]]:
        """Pods with rules about other pods: each is asked about by Fit, on the stage as it is by then."""
        placed: dict[int, list[Pod]] = {}
        pods = group.pods[::-1]
        order: list[int] = where.tolist()
        refusals = 0
        while pods and order:
            refused: list[int] = []
            before = len(pods)
            for node in order:
                if group.node_rules in self._eligible and not self._eligible[group.node_rules][node]:
                    continue
                while pods and self._has_room(node, need):
                    if fit(self._simulated, pods[-1], self.names[node]) is not None:
                        refused.append(node)
                        break
                    placed.setdefault(node, []).append(pods[-1])
                    self._take(node, need, [pods.pop()])
                if len(refused) == self._patience and group.node_rules not in self._eligible:
                    self._ask_all(group)
                if not pods or refusals + len(refused) > _MAX_REFUSALS + _REFUSALS * (len(group.pods) - len(pods)):
                    break
            refusals += len(refused)
            if len(pods) == before or not group.rules.may_be_let_in_later:
                break
            order = refused
        return [(self.names[node], pods) for node, pods in placed.items()]

    def _has_room(self, node: int, need: Ints) -> bool:
        """Whether a node has this much free; what is not asked for may be short."""
        return not bool(((need > self.free[node]) & (need > 0)).any())

    def _take(self, node: int, need: Ints, pods: list[Pod]) -> None:
        self.take(node, need, len(pods))
        for pod in pods:
            self._simulated.place(pod, self.names[node])

    def _ask_all(self, group: EquivalenceGroup) -> None:
        """Which nodes the group's selector, affinity and tolerations allow."""
        spec = group.sample.spec
        matches = matcher(spec)
        checks = [check for check in (prepare_unschedulable(spec), taint_check(spec.tolerations)) if check is not None]
        allowed = np.ones(len(self.names), dtype=np.bool_)
        nodes = self._simulated.nodes
        for at, name in enumerate(self.names):
            node = nodes[name]
            if matches is not None and not matches(node.metadata.labels, name):
                allowed[at] = False
            elif (node.spec.taints or node.spec.unschedulable) and checks:
                node_info = self._simulated.node_info(name)
                allowed[at] = all(check(node_info) is None for check in checks)
        self._eligible[group.node_rules] = allowed


def rising(slack: Floats) -> Iterator[int]:
    """Places by rising slack, equal ones in their order; sorted only as far as somebody asks."""
    yield int(np.argmin(slack))
    done = 1
    for size in (_FEW, len(slack)):
        few = np.arange(len(slack))
        if size < len(slack):
            few = np.flatnonzero(slack <= np.partition(slack, size)[size])
        order = few[np.argsort(slack[few], kind="stable")].tolist()
        yield from order[done:]
        done = len(order)
