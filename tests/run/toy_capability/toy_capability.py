"""A capability of another package, as small as one can be: it counts nodes, and holds if there are too few."""

from typing import Annotated

import msgspec

from growth.api.actions import Hold
from growth.api.core import ObjectReference
from growth.api.kinds import NODES
from growth.api.settings.section import Section, meaning
from growth.decide.context import PassContext, run_steps
from growth.decide.contract import Capability, CapabilityName, Decision, Inputs, Measurement, Metric, Need
from growth.decide.facts.cluster_state import ClusterState

READY = Metric("toy_ready_nodes", "Nodes that work.", "gauge")


class ToySettings(Section, frozen=True):
    """How many nodes are enough."""

    least_nodes: Annotated[int, meaning("How many nodes must work.", ge=0)] = 1


class ToyStatus(msgspec.Struct, frozen=True, rename="camel"):
    """What ``growth status`` shows."""

    ready_nodes: int
    least_nodes: int


class ToyCarry(msgspec.Struct, frozen=True):
    """How many passes there were."""

    passes: int = 0


def count_nodes(context: PassContext[ToyCarry]) -> None:
    """Measure the nodes, and hold if too few work."""
    ready, least = context.facts.get(ClusterState).ready, context.settings.extension(ToySettings).least_nodes
    context.measurements.append(Measurement(READY, ready))
    context.status = ToyStatus(ready, least)
    if ready < least:
        subject = ObjectReference(kind="Namespace", name="default", api_version="v1")
        context.said.append(Hold(subject=subject, why=f"{ready} nodes work, and {least} must", reason="TooFewNodes"))


def decide(inputs: Inputs[ToyCarry, None, None], /) -> Decision[ToyCarry]:
    """Decide nothing, and say how many nodes work."""
    context = PassContext(inputs)
    run_steps(context, (count_nodes,))
    return context.decision(ToyCarry(inputs.carry.passes + 1))


CAPABILITY = Capability(
    name=CapabilityName("toy"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: ToyCarry(),
    watches=(NODES,),
    needs=(Need(ClusterState),),
    metrics=(READY,),
    settings=ToySettings,
    status=ToyStatus,
)
