"""Deliberate defects of failover: each one would move work off a machine that lives, or leave it on a dead one."""

from collections.abc import Callable, Mapping
from datetime import datetime
from typing import Any, Final

import msgspec

from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.out_of_service import Proof
from growth.api.settings.model import FailoverSettings
from growth.decide.failover.context import FailoverContext
from growth.decide.failover.evidence import NodeCase, PowerAnswers, first
from growth.decide.failover.machine_lookup import MachineLocation, MachineLookup
from growth.decide.failover.remaining_objects import RemainingObjects
from tests.trust.mutant import Mutant

_FAILOVER: Final = "growth.decide.failover"
_IS_DEAD: Final = "growth.api.machine.PowerReading.is_dead"
_PLACE: Final[Callable[[MachineLookup, str], MachineLocation | None]] = MachineLookup.place


def _once(case: NodeCase, _: FailoverSettings) -> bool:
    return case.answers is not None and case.answers.is_dead


def _old_is_fine(case: NodeCase, _: datetime) -> bool:
    return case.answers is not None and case.answers.is_dead


def _unimpressed(case: NodeCase, last_sign: datetime) -> NodeCase:
    return case if last_sign <= case.last_sign else msgspec.structs.replace(case, last_sign=last_sign)


def _adds_up(answers: PowerAnswers, reading: PowerReading) -> PowerAnswers:
    """One answer to the contrary changes nothing for those before and after."""
    if answers.is_dead and not reading.is_dead:
        return answers
    if not answers.is_dead:
        return first(reading)
    return msgspec.structs.replace(answers, power=reading.power, last_at=reading.read_at, count=answers.count + 1)


def _place_by_name(machines: MachineLookup, provider_id: str) -> MachineLocation | None:
    name = provider_id.rpartition("/")[0].rpartition("/")[2]
    by_id: Mapping[str, tuple[str, Any]] = vars(MachineLookup)["_by_id"].__get__(machines, MachineLookup)
    named = [(provider, machine) for provider, machine in by_id.values() if machine.name == name]
    return MachineLocation(named[0][0], named[0][1].id) if named else _PLACE(machines, provider_id)


def _runs_or_not(reading: PowerReading) -> bool:
    return reading.power not in (Power.STARTING, Power.STOPPING, Power.UNKNOWN)


def _even_if_changing(reading: PowerReading) -> bool:
    return reading.power in (Power.OFF, Power.FAILED, Power.GONE)


def _unguarded(*_: object) -> None:
    """Nothing keeps a node in service."""


def _nothing_left(*_: object) -> RemainingObjects:
    return RemainingObjects((), (), (), ())


def _nobody_else(_: Node, __: Proof) -> str:
    return ""


def _back_when_ready(scene: FailoverContext, node: Node, _: Proof) -> bool:
    return node.is_ready and node.metadata.uid not in scene.carry.cases


def _always(*_: object) -> bool:
    return True


def _mutant(name: str, tests: str, changes: Mapping[str, object]) -> Mutant:
    dotted = {one if one.startswith("growth.") else f"{_FAILOVER}.{one}": new for one, new in changes.items()}
    return Mutant(f"failover: {name}", dotted, tests=f"tests/decide/failover/test_{tests}.py", of_failover=True)


FAILOVER_MUTANTS: Final = (
    _mutant("two answers are enough", "evidence", {"evidence.READINGS": 2}),
    _mutant("one answer is enough", "evidence", {"evidence.NodeCase.is_proven": _once}),
    _mutant("an answer is never too old", "evidence", {"evidence.NodeCase.is_fresh": _old_is_fine}),
    _mutant("a renewed Lease does not begin the proof anew", "evidence", {"evidence.NodeCase.observed": _unimpressed}),
    _mutant("an answer to the contrary does not, either", "evidence", {"evidence.PowerAnswers.after": _adds_up}),
    _mutant(
        "a machine is known by its name", "another_machine", {"machine_lookup.MachineLookup.place": _place_by_name}
    ),
    _mutant("a partition is a proof", "out_of_service", {_IS_DEAD: property(_runs_or_not)}),
    _mutant("a machine that is being changed is dead", "out_of_service", {_IS_DEAD: property(_even_if_changing)}),
    _mutant("no guard holds", "safety_limits", {"out_of_service.guard_of": _unguarded, "fencing.guard_of": _unguarded}),
    _mutant("a node returns with volumes on it", "node_return", {"node_return.left_on": _nothing_left}),
    _mutant("a node returns as soon as it is ready", "node_return", {"node_return._is_back": _back_when_ready}),
    _mutant("a person's taint is taken off", "node_return", {"node_return._other_owner": _nobody_else}),
    _mutant(
        "pods are ended on the word of an old proof",
        "pod_release",
        {"pod_release._is_sure": _always, "pod_release._is_written": _always},
    ),
)
