"""What people hear of the registry: an alarm once, its end, and the object ``growth-status``. Docs: docs/registry.md.

The same object tells the next leader since when the cluster is healthy, so it is written by the leader alone, at once
when that changes, and not more often than people read when only numbers do.
"""

from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.growth_status import GROWTH_STATUS
from growth.api.kinds import CONFIG_MAPS, NODES
from growth.api.settings.model import RegistrySettings
from growth.decide.context import Step, run_steps
from growth.decide.contract import (
    Capability,
    CapabilityName,
    Decision,
    Inputs,
    Need,
    ReportedStatuses,
    WritePermission,
    own_namespace,
)
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.registry.carry import RegistryCarry
from growth.decide.registry.context import RegistryContext
from growth.decide.registry.metrics import METRICS, measured
from growth.decide.registry.status_report import report_health, write_status


def await_change(context: RegistryContext) -> None:
    """Decide again when time alone changes a state."""
    if context.cluster.next_change is not None:
        context.remind(context.cluster.next_change)


STEPS: Final[tuple[Step[RegistryContext], ...]] = (report_health, write_status, await_change)


def decide(inputs: Inputs[RegistryCarry, None, None], /) -> Decision[RegistryCarry]:
    """Decide what to report now."""
    context = RegistryContext(inputs)
    run_steps(context, STEPS)
    context.measurements.extend(measured(context.cluster))
    return context.decision(context.carry)


CAPABILITY: Final = Capability(
    name=CapabilityName("registry"),
    decide=decide,
    initial_carry=lambda _snapshot, _settings: RegistryCarry(),
    watches=(NODES, CONFIG_MAPS, NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS),
    permissions=(
        WritePermission("create", CONFIG_MAPS, namespace=own_namespace),
        WritePermission("get patch", CONFIG_MAPS, namespace=own_namespace, name=GROWTH_STATUS),
    ),
    needs=(Need(ClusterState), Need(ReportedStatuses)),
    reports=(ClusterState, ReportedStatuses),
    settings=RegistrySettings,
    metrics=METRICS,
)
