"""Hands for the stage: what failover wants is begun once at a time, as the executor would, and carried out."""

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import msgspec

from growth.act.concurrency import Lane, RetryBackoffs, lane_of
from growth.api.actions import (
    Action,
    DeleteObject,
    EditObject,
    FenceMachine,
    Outcome,
    PatchObject,
    ReadPower,
    ReadPowers,
    RecordEvent,
    ReleasePod,
    Result,
    key_of,
)
from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.tolerations import Taint

if TYPE_CHECKING:
    from tests.decide.failover.stage import Stage

_ANNOTATION = "/metadata/annotations/"


class Hands:
    """One process's executor, in small. ``takes`` is how long an answer takes, ``fails`` says which have none."""

    def __init__(self, stage: "Stage") -> None:
        self.begun: list[tuple[float, Action]] = []
        self.ended: list[tuple[float, Outcome]] = []
        self.takes = 0.05
        self.fails: Callable[[Action], bool] = lambda _: False
        self._stage = stage
        self._rests = RetryBackoffs()
        self._under_way: set[Lane] = set()
        self._told: frozenset[RecordEvent] = frozenset()

    def of(self, kind: type[Any]) -> list[Any]:
        """All that was begun of this kind."""
        return [action for _, action in self.begun if isinstance(action, kind)]

    def want(self, actions: Sequence[Action]) -> None:
        """All that is wanted now."""
        events = [one for one in actions if isinstance(one, RecordEvent)]
        for event in events:
            if event not in self._told:
                self.begun.append((self._stage.elapsed, event))
        self._told = frozenset(events)
        for action in actions:
            if isinstance(action, RecordEvent) or lane_of(action) in self._under_way:
                continue
            rest = self._rests.seconds(action, self._stage.elapsed)
            if rest > 0:
                self._stage.at(rest, self._wake)
            else:
                self._begin(action)

    def _wake(self) -> None:
        if self._stage.hands is self:
            self._stage.is_awake = True

    def _begin(self, action: Action) -> None:
        stage, lane = self._stage, lane_of(action)
        self._under_way.add(lane)
        self.begun.append((stage.elapsed, action))
        is_failing, begun_at = self.fails(action), stage.elapsed
        # A provider looks when it is asked, and says so a moment later.
        readings = () if is_failing or stage.provider_fails else self._read(action)

        def end() -> None:
            if stage.hands is not self:
                return  # the process is gone, and so is what it asked for
            result = Result.FAILED if is_failing or (readings is None) else self._done(action)
            if isinstance(action, ReadPower | ReadPowers) and stage.provider_fails:
                result = Result.FAILED
            outcome = Outcome(action=action, result=result, at=stage.now, readings=readings or ())
            stage.delivered += [(begun_at, reading) for reading in outcome.readings if result is Result.DONE]
            self._under_way.discard(lane)
            self._rests.note(outcome, stage.elapsed)
            self.ended.append((stage.elapsed, outcome))
            if isinstance(action, PatchObject | EditObject) and result in (Result.DONE, Result.STALE):
                stage.outcomes.pop(key_of(action), None)
            else:
                stage.outcomes[key_of(action)] = outcome
            stage.is_awake = True

        stage.at(self.takes, end)

    def _read(self, action: Action) -> tuple[PowerReading, ...] | None:
        stage = self._stage
        match action:
            case ReadPower():
                return (stage.reading(action.machine_id),)
            case ReadPowers():
                return tuple(machine.reading for machine in stage.machines())
            case FenceMachine():
                node = stage.nodes.get(action.subject.name)
                if node is not None and node.is_ready:
                    return None
                stage.powers[action.machine_id] = Power.OFF
                return (stage.reading(action.machine_id),)
            case _:
                return ()

    def _done(self, action: Action) -> Result:
        stage = self._stage
        match action:
            case EditObject():
                return _edited(stage, action)
            case ReleasePod():
                pod = stage.pods.get(action.subject.uid)
                if pod is not None:
                    stage.end_pod(pod)
            case DeleteObject():
                node = stage.nodes.get(action.subject.name)
                if node is not None and node.metadata.uid == action.subject.uid:
                    stage.remove_node(action.subject.name)
            case PatchObject():
                data = {**stage.status.data, **action.body["data"]}
                kept = {key: text for key, text in data.items() if text is not None}
                stage.put_status(msgspec.structs.replace(stage.status, data=kept))
            case _:
                pass
        return Result.DONE


def _edited(stage: "Stage", action: EditObject) -> Result:
    """A JSON patch of a node, as far as we send such ones."""
    node = stage.nodes.get(action.subject.name)
    if node is None or node.metadata.uid != action.subject.uid:
        return Result.STALE
    taints, annotations = list(node.spec.taints), dict(node.metadata.annotations)
    for one in action.operations:
        path = one["path"]
        if one["op"] == "test":
            if one["value"] != str(node.metadata.resource_version):
                return Result.STALE
        elif path.startswith(_ANNOTATION):
            key = path.removeprefix(_ANNOTATION).replace("~1", "/").replace("~0", "~")
            if one["op"] == "remove":
                del annotations[key]
            else:
                annotations[key] = one["value"]
        elif path == "/metadata/annotations":
            annotations = dict(one["value"])
        elif one["op"] == "remove":
            del taints[int(path.rpartition("/")[2])]
        else:
            value: Any = one["value"]
            taints += msgspec.convert(value if isinstance(value, list) else [value], list[Taint])
    meta = msgspec.structs.replace(node.metadata, annotations=annotations)
    stage.put_node(Node(meta, msgspec.structs.replace(node.spec, taints=tuple(taints)), node.status))
    return Result.DONE
