"""The order of the stages, what each may read, and what becomes of it if another one fails."""

from typing import Any

import msgspec
import pytest

from growth.api.settings.model import Settings
from growth.decide.contract import (
    AnyCapability,
    Capability,
    CapabilityName,
    ClockTrust,
    Decision,
    Derivation,
    Fact,
    Facts,
    Inputs,
    Need,
    UndeclaredFact,
)
from growth.decide.pipeline import CAPABILITIES, PIPELINE, BrokenPipeline, FactBoard, check, chosen, stages_of
from growth.observe.snapshot import Snapshot


class Room(Fact, frozen=True):
    """How much there is."""

    size: int = 1


class Guests(Fact, frozen=True):
    """Who comes."""

    names: tuple[str, ...] = ()


def derive(_: Snapshot, __: Settings, ___: Facts, ____: ClockTrust, before: Room | None) -> Room:
    return before or Room()


def a_capability(name: str, **fields: Any) -> AnyCapability:  # noqa: ANN401 - of Capability
    def decide(inputs: Inputs[Any, Any, Any]) -> Decision[Any]:
        return Decision(carry=inputs.carry)

    return Capability(
        name=CapabilityName(name),
        decide=decide,
        initial_carry=lambda _snapshot, _settings: None,
        watches=(),
        **fields,
    )


ROOM = Derivation(name="room", provides=Room, derive=derive)
HOST = a_capability("host", needs=(Need(Room),), provides=(Guests,))
COOK = a_capability("cook", needs=(Need(Guests),))
WAITER = a_capability("waiter", needs=(Need(Guests, if_failed="default"),))


def test_stages_stand_in_an_order_in_which_every_need_is_met() -> None:
    check(PIPELINE)
    check((ROOM, HOST, COOK))


@pytest.mark.parametrize(
    ("stages", "words"),
    [
        ((HOST,), "host needs Room, and no stage provides it"),
        ((ROOM, COOK, HOST), "cook needs Guests, and only host provides it"),
        ((ROOM, HOST, a_capability("twin", provides=(Guests,))), "Guests is provided by host and by twin"),
    ],
    ids=["missing", "too late", "twice"],
)
def test_pipeline_says_what_breaks_its_order(stages: tuple[Any, ...], words: str) -> None:
    with pytest.raises(BrokenPipeline, match=words):
        check(stages)


def test_computed_fact_may_be_needed_by_an_earlier_stage() -> None:
    check((ROOM, a_capability("early", needs=(Need(Guests),)), a_capability("late", computes=Guests)))


def test_stage_reads_only_the_facts_that_it_needs() -> None:
    facts = FactBoard().facts_for(WAITER)
    assert facts.get(Guests) == Guests()
    with pytest.raises(UndeclaredFact, match="Room is not among the needs of this stage"):
        facts.get(Room)


def test_fact_of_a_stage_reaches_later_ones() -> None:
    board = FactBoard()
    board.add((Guests(("ada",)),))
    assert board.facts_for(COOK).get(Guests).names == ("ada",)


def test_consumer_of_a_failed_stage_is_skipped_or_goes_on_with_the_default() -> None:
    board = FactBoard()
    board.fail(HOST)
    assert board.why_skipped(COOK) == "host failed, and cook needs its Guests"
    assert board.why_skipped(WAITER) == ""
    assert board.facts_for(WAITER).get(Guests) == Guests()


def test_failure_is_passed_on_by_a_derivation() -> None:
    board = FactBoard()
    board.fail(ROOM)
    assert board.why_skipped(HOST) == "room failed, and host needs its Room"
    board.fail(HOST)
    assert board.why_skipped(COOK) == "host failed, and cook needs its Guests"


def test_every_fact_of_the_pipeline_has_a_consumer() -> None:
    needed = {need.fact for stage in PIPELINE for need in stage.needs}
    provided = {stage.provides for stage in PIPELINE if isinstance(stage, Derivation)}
    provided |= {fact for capability in CAPABILITIES for fact in capability.provides}
    assert provided <= needed


@pytest.mark.parametrize("capability", CAPABILITIES, ids=lambda one: one.name)
def test_capability_alone_comes_with_the_derivations_that_it_needs(capability: AnyCapability) -> None:
    stages = stages_of(chosen([capability.name]))
    known = {
        fact for stage in stages if isinstance(stage, Derivation) for fact in (stage.provides, *stage.also_provides)
    }
    derivable = {stage.provides for stage in PIPELINE if isinstance(stage, Derivation)}
    assert {need.fact for need in capability.needs} & derivable <= known
    assert [stage.name for stage in stages if isinstance(stage, Derivation) and not _is_needed(stage, stages)] == []


def _is_needed(stage: Derivation[Any], stages: tuple[Any, ...]) -> bool:
    return any(need.fact is stage.provides for other in stages for need in other.needs)


def test_who_goes_by_the_registry_brings_its_report_along() -> None:
    assert [one.name for one in chosen(["shrink"])] == ["registry", "shrink"]
    assert [one.name for one in chosen(["memory"])] == ["memory"]


def test_capabilities_have_names_of_their_own() -> None:
    names = [stage.name for stage in PIPELINE]
    assert len(names) == len(set(names))


def test_metrics_of_capabilities_have_names_of_their_own() -> None:
    names = [metric.name for capability in CAPABILITIES for metric in capability.metrics]
    assert len(names) == len(set(names))
    assert all(msgspec.structs.asdict(metric)["help"] for one in CAPABILITIES for metric in one.metrics)
