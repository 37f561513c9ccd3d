"""Memories, nodes and requests of a few names, on a clock that tests turn; what one look comes to is done at once."""

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import Action, CreateObject, DeleteObject, PatchObject, RecordEvent
from growth.api.change import Change, ChangeType
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES
from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec
from growth.api.node_memory import (
    MARKER,
    MemoryData,
    MemoryObject,
    NodeContents,
    NodeRecord,
    TransactionData,
    TransactionObject,
    memory_data,
    transaction_body,
    transaction_name,
)
from growth.api.node_request import NodeRequest, NodeRequestSpec
from growth.api.settings.model import Settings
from growth.api.tolerations import Taint
from growth.decide.node_memory.carry import PageResult
from growth.decide.node_memory.context import NodeMemoryContext
from growth.decide.node_memory.page_round import look_at
from growth.observe.cache import ClusterCache
from growth_lab.simulator.merge_patch import merged
from tests.decide.marketplace import NOW

_SETTINGS: Final = Settings()
_MANY: Final = 20


class Shelf:
    """One World, and one pair of hands. ``said`` is all that was done, in its order."""

    def __init__(self) -> None:
        self.now = NOW
        self.world = ClusterCache(lambda: self.now, remembers=True)
        self.said: list[Action] = []
        self._looks: dict[str, PageResult] = {}
        self._version = 100
        self._uids = 0
        self._bodies: dict[str, dict[str, Any]] = {}

    # What is there

    def version(self) -> int:
        """The next one."""
        self._version += 1
        return self._version

    def register(self, name: str, *, taints: Sequence[Taint] = (), **labels: str) -> str:
        """A node comes, and that is written down; its uid."""
        self._uids += 1
        uid, version = f"{name}-{self._uids}", self.version()
        self.hear(Node(ObjectMeta(name=name, uid=uid, resource_version=version, labels=labels), _spec(taints)))
        body = transaction_body("added", name, NodeContents(uid=uid, version=version))
        self._write_transaction(transaction_name(name, version), body)
        return uid

    def hear(self, node: Node) -> None:
        """A node came or changed."""
        before = self.world.nodes.get(node.metadata.name)
        happened = ChangeType.ADDED if before is None else ChangeType.MODIFIED
        self.world.hear_of_nodes([Change(happened, node, before)])

    def change(self, name: str, *, taints: Sequence[Taint] = (), labels: Mapping[str, str] | None = None) -> None:
        """Somebody changes a node."""
        node = self.world.nodes[name]
        meta = msgspec.structs.replace(
            node.metadata,
            labels=node.metadata.labels if labels is None else {**node.metadata.labels, **labels},
            resource_version=self.version(),
        )
        self.hear(msgspec.structs.replace(node, metadata=meta, spec=_spec(taints)))

    def leave(self, name: str) -> None:
        """A node goes, and that is written down."""
        node = self.world.nodes[name]
        version = self.version()
        meta = msgspec.structs.replace(node.metadata, resource_version=version)
        last = msgspec.structs.replace(node, metadata=meta)
        self.world.hear_of_nodes([Change(ChangeType.DELETED, last, node)])
        memento = NodeContents(uid=meta.uid, version=version, labels=meta.labels)
        self._write_transaction(transaction_name(name, version), transaction_body("deleted", name, memento))

    def remember(self, name: str, *, removed: Sequence[str] = (), claimed_by: str = "", **labels: str) -> None:
        """What a node was when it left, with its marker, is written down."""
        memento = NodeContents(
            uid=f"{name}-0", version=self.version(), labels={MARKER: "0", **labels}, removed=tuple(removed)
        )
        data = memory_data(memento, is_final=True) | {"claimedBy": claimed_by}
        self._write_memory(name, {key: value for key, value in data.items() if value})

    def spoil(self, name: str) -> None:
        """Somebody writes nonsense into a memory."""
        self._write_memory(name, {"memory": "nonsense"})

    def request(self, name: str, replaces: str) -> None:
        """A machine was bought in the place of a node."""
        request = NodeRequest(ObjectMeta(name=name), NodeRequestSpec("default", "small", replaces=replaces))
        self.world.tables[NODE_REQUESTS].hear([Change(ChangeType.ADDED, request, None)])

    # What is done

    def page_pass(self, name: str) -> PageResult:
        """What one page needs next."""
        snapshot = self.world.snapshot(self.now)
        scene = NodeMemoryContext(snapshot, _SETTINGS)
        self._looks[name] = look_at(scene, scene.page(name), self._looks.get(name, PageResult()))
        return self._looks[name]

    def step(self, name: str) -> bool:
        """Do what is said about one page; whether anything was."""
        works = self.page_pass(name).works
        for action in works:
            self._do(action)
        return any(not isinstance(action, RecordEvent) for action in works)

    def run(self, *names: str, lasting: timedelta = timedelta(0)) -> None:
        """Look at these in turn until nothing is to be done any more; then again when the time is over."""
        for _ in range(_MANY):
            is_done = [self.step(name) for name in names]
            if not any(is_done):
                break
        else:
            raise AssertionError(f"it never ends: {self.said[-4:]}")
        if lasting:
            self.now += lasting
            self.run(*names)

    def forget_looks(self) -> None:
        """The process ends, and another one begins."""
        self._looks.clear()

    def _do(self, action: Action) -> None:
        self.said.append(action)
        name = action.subject.name
        is_memory = action.subject.namespace == _SETTINGS.memory.namespace
        match action:
            case PatchObject() if action.subject.kind == NODES.name:
                self._patch_node(name, action)
            case PatchObject() if is_memory:
                self._write_memory(name, merged(self._bodies[name], action.body["data"]))
            case CreateObject() if is_memory:
                self._write_memory(name, action.body["data"])
            case DeleteObject():
                gone = TransactionObject(ObjectMeta(name=name), msgspec.convert(self._bodies[name], TransactionData))
                self.world.past.hear_of_transactions([Change(ChangeType.DELETED, gone, gone)])
            case _:
                assert isinstance(action, RecordEvent), f"nobody expects {action}"

    def _patch_node(self, name: str, action: PatchObject) -> None:
        node = self.world.nodes[name]
        labels = merged(dict(node.metadata.labels), action.body["metadata"]["labels"])
        annotations = merged(dict(node.metadata.annotations), action.body["metadata"].get("annotations", {}))
        meta = msgspec.structs.replace(
            node.metadata, labels=labels, annotations=annotations, resource_version=self.version()
        )
        self.hear(msgspec.structs.replace(node, metadata=meta))

    def _write_memory(self, name: str, data: dict[str, Any]) -> None:
        self._bodies[name] = {key: value for key, value in data.items() if value is not None}
        meta = ObjectMeta(
            name=name, namespace=_SETTINGS.memory.namespace, uid=f"memory-{name}", resource_version=self.version()
        )
        made = MemoryObject(meta, msgspec.convert(self._bodies[name], MemoryData))
        self.world.past.hear_of_memories([Change(ChangeType.ADDED, made, None)])

    def _write_transaction(self, name: str, body: dict[str, Any]) -> None:
        self._bodies[name] = body["data"]
        made = TransactionObject(ObjectMeta(name=name, uid=name), msgspec.convert(body["data"], TransactionData))
        self.world.past.hear_of_transactions([Change(ChangeType.ADDED, made, None)])

    # What came of it

    def labels(self, name: str) -> dict[str, str]:
        """A node's labels, without the marker."""
        return {key: value for key, value in self.world.nodes[name].metadata.labels.items() if key != MARKER}

    def is_marked(self, name: str) -> bool:
        """Whether a node has its marker."""
        return MARKER in self.world.nodes[name].metadata.labels

    def kept(self, name: str) -> NodeRecord:
        """What is remembered of a node."""
        memory = self.world.past.pages[name].record
        assert memory is not None, f"nothing is remembered of {name}"
        return memory

    @property
    def told(self) -> list[tuple[str, str, str]]:
        """Events: of which node, of which type, with which reason."""
        events = [one for one in self.said if isinstance(one, RecordEvent)]
        return list(dict.fromkeys((one.subject.name, one.type, one.reason) for one in events))


def _spec(taints: Sequence[Taint]) -> NodeSpec:
    return NodeSpec(taints=tuple(taints))
