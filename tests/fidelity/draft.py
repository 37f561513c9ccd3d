"""A case: a small cluster and one pod, drawn by a seed, as the manifests that a real API server takes.

Many cases share one control plane, so nothing of one case may matter to another. Namespaces and names carry the case's
prefix, and so do all label keys: topology keys of one case exist on no node of another. Every node is tainted for its
case, and every pod tolerates that one taint.
"""

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

Json = dict[str, Any]

APPS = ("web", "db", "cache")
VERSIONS = ("1", "2")
ZONES = ("a", "b", "c")


@dataclass
class Existing:
    """A pod that is there before the one in question.

    ``fate`` is what becomes of it after it was created: "" (it stays), "terminating", "finished" or "nominated"; the
    last one is not bound but waits, with room kept for it on ``node``.
    """

    manifest: Json
    fate: str = ""
    node: str = ""
    status: Json | None = None


@dataclass
class Case:
    """Everything to be created, in this order; ``late`` belongs to the pod and needs its uid."""

    seed: int
    index: int
    themes: tuple[str, ...]
    namespaces: list[Json]
    nodes: list[Json]
    objects: list[Json]
    existing: list[Existing]
    pod: Json
    late: list[Json] = field(default_factory=list[Json])
    object_status: dict[str, Json] = field(default_factory=dict[str, Json])


class Draft:
    """A case in the making; themes add to it."""

    def __init__(self, rng: random.Random, prefix: str) -> None:
        self.rng = rng
        self.prefix = prefix
        self.namespaces = [
            {"kind": "Namespace", "metadata": {"name": f"{prefix}-{name}", "labels": {self.key("team"): team}}}
            for name, team in (("one", "x"), ("two", rng.choice(("x", "y"))))
        ]
        self.home = f"{prefix}-one"
        self.other = f"{prefix}-two"
        self.nodes: list[Json] = []
        self.objects: list[Json] = []
        self.object_status: dict[str, Json] = {}
        self.existing: list[Existing] = []
        self.late: list[Json] = []
        self._volumes = 0
        for number in range(rng.choice((1, 1, 2, 2, 3, 3, 4, 5, 6, 8, 10, 12))):
            self.nodes.append(self._node(number))
        self.pod = self.a_pod("it", self.home, app=rng.choice(APPS))
        for number in range(rng.choice((0, 1, 2, 3, 4, 6, 9, 12))):
            self.add_existing(number)

    def key(self, name: str) -> str:
        """A label key of this case alone."""
        return f"{self.prefix}-{name}"

    def chance(self, share: float) -> bool:
        return self.rng.random() < share

    @property
    def spec(self) -> Json:
        """The spec of the pod in question."""
        return self.pod["spec"]

    @property
    def main(self) -> Json:
        """Its first container."""
        return self.spec["containers"][0]

    def name_of(self, node: Json) -> str:
        return node["metadata"]["name"]

    def a_pod(self, name: str, namespace: str, *, app: str, node: str = "", requests: Json | None = None) -> Json:
        labels = {self.key("app"): app, self.key("version"): self.rng.choice(VERSIONS)}
        return {
            "kind": "Pod",
            "metadata": {"name": name, "namespace": namespace, "labels": labels},
            "spec": {
                "containers": [{"name": "main", "image": "main", "resources": {"requests": requests or {}}}],
                "tolerations": [{"key": self.key("case"), "operator": "Exists"}],
                "terminationGracePeriodSeconds": 30,
                **({"nodeName": node} if node else {}),
            },
        }

    def add_existing(self, number: int, node: str = "", **requests: str) -> Existing:
        """One more pod that is there already, on some node, small unless said otherwise."""
        namespace = self.home if self.chance(0.75) else self.other
        where = node or self.name_of(self.rng.choice(self.nodes))
        wanted = requests or {"cpu": self.rng.choice(("0", "10m", "100m"))}
        there = Existing(
            self.a_pod(f"there-{number}", namespace, app=self.rng.choice(APPS), node=where, requests=wanted)
        )
        fate = self.rng.random()
        if fate < 0.08:
            there.fate = "terminating"
        elif fate < 0.12:
            there.fate = "finished"
        self.existing.append(there)
        return there

    def close_most(self) -> None:
        """Taint all nodes but one or two, so that the verdict hangs on those; the others still make up domains."""
        is_open = self.rng.sample(range(len(self.nodes)), min(len(self.nodes), self.rng.choice((1, 1, 2))))
        for number, node in enumerate(self.nodes):
            if number not in is_open:
                node["spec"]["taints"].append({"key": self.key("closed"), "effect": "NoSchedule"})

    def number(self) -> int:
        """A number that no other volume or pod of this case has."""
        self._volumes += 1
        return self._volumes

    def a_selector(self) -> Json:
        """A selector on pods of this case, of every form."""
        app, version = self.key("app"), self.key("version")
        choice = self.rng.random()
        if choice < 0.5:
            return {"matchLabels": {app: self.rng.choice(APPS)}}
        if choice < 0.6:
            return {"matchLabels": {app: self.rng.choice(APPS), version: self.rng.choice(VERSIONS)}}
        if choice < 0.75:
            values = self.rng.sample(APPS, self.rng.choice((1, 2)))
            return {"matchExpressions": [{"key": app, "operator": self.rng.choice(("In", "NotIn")), "values": values}]}
        if choice < 0.85:
            operator = self.rng.choice(("Exists", "DoesNotExist"))
            return {"matchExpressions": [{"key": self.rng.choice((app, self.key("none"))), "operator": operator}]}
        if choice < 0.92:
            return {"matchLabels": {app: self.pod["metadata"]["labels"][app]}}
        return {}

    def topology_key(self) -> str:
        return self.rng.choice((self.key("zone"), self.key("zone"), self.key("host"), self.key("rack")))

    def _node(self, number: int) -> Json:
        rng, name = self.rng, f"{self.prefix}-n{number}"
        labels = {"kubernetes.io/hostname": name, self.key("host"): name, self.key("size"): rng.choice(("1", "5", "x"))}
        if self.chance(0.9):
            labels[self.key("zone")] = rng.choice(ZONES)
        if self.chance(0.6):
            labels[self.key("rack")] = rng.choice(("r1", "r2", "r3", "r4"))
        if self.chance(0.5):
            labels[self.key("disk")] = rng.choice(("ssd", "hdd"))
        room = {"cpu": rng.choice(("1", "2", "4")), "memory": rng.choice(("2Gi", "4Gi")), "pods": "110"}
        taints = [{"key": self.key("case"), "value": "yes", "effect": "NoSchedule"}]
        return {
            "kind": "Node",
            "metadata": {"name": name, "labels": labels},
            "spec": {"taints": taints},
            "status": {"capacity": room, "allocatable": room},
        }

    def finish(self, seed: int, index: int, themes: Sequence[str]) -> Case:
        return Case(
            seed,
            index,
            tuple(themes),
            self.namespaces,
            self.nodes,
            self.objects,
            self.existing,
            self.pod,
            self.late,
            self.object_status,
        )
