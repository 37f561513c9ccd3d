"""Telling a World what happened, in the words of an informer."""

import json
from collections.abc import Mapping
from typing import Any

from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import NODES, PODS
from growth.api.node import Node
from growth.api.pod import Pod
from growth.observe.cache import ClusterCache

Json = Mapping[str, Any]


class Teller:
    """Knows what the World was told last, so that changes carry the version before them."""

    def __init__(self, world: ClusterCache) -> None:
        self._world = world
        sharing = InternTables()
        self._pods = Reader(PODS, sharing)
        self._nodes = Reader(NODES, sharing)
        self._told_pods: dict[str, Pod] = {}
        self._told_nodes: dict[str, Node] = {}

    def pod(self, body: Json) -> Pod:
        """A pod came or changed."""
        now = self._pods.object(json.dumps(body).encode())
        before = self._told_pods.get(now.metadata.uid)
        self._told_pods[now.metadata.uid] = now
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self._world.hear_of_pods([Change(happened, now, before)])
        return now

    def pod_gone(self, uid: str) -> None:
        """A pod went."""
        before = self._told_pods.pop(uid)
        self._world.hear_of_pods([Change(ChangeType.DELETED, before, before)])

    def node(self, body: Json) -> Node:
        """A node came or changed."""
        now = self._nodes.object(json.dumps(body).encode())
        before = self._told_nodes.get(now.metadata.uid)
        self._told_nodes[now.metadata.uid] = now
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self._world.hear_of_nodes([Change(happened, now, before)])
        return now

    def node_gone(self, uid: str) -> None:
        """A node went."""
        before = self._told_nodes.pop(uid)
        self._world.hear_of_nodes([Change(ChangeType.DELETED, before, before)])
