"""In which state is a unit? The use cases UC1 to UC7 of the seed, one after the other. Docs: docs/registry.md.

Everything that it goes by is written in objects, so a process that was just started comes to the same conclusion.
"""

from collections.abc import Mapping
from datetime import datetime, timedelta
from typing import Final, TypeGuard

import msgspec

from growth.api.annotations import was_started
from growth.api.machine import Machine
from growth.api.meta import Condition
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.offering import OFFERING, POOL
from growth.api.provider_state import ProviderState, cloud_of
from growth.api.settings.model import Settings
from growth.api.status import condition_of
from growth.decide.capacity.provider_failures import MACHINE_GONE, MET, NO_MACHINE
from growth.decide.elapsed import CLOCKS_DIFFER, counts_from, phase_since, since
from growth.decide.facts.cluster_state import MISSING, NodeState, Unit
from growth.decide.registry.inventory_join import JoinedUnit

# A node that was never ready has got its Ready condition when it registered, give or take the first report.
_AT_BIRTH: Final = timedelta(seconds=30)
# The least that clocks tell.
_MOMENT: Final = timedelta(microseconds=1)
# The patience with an unready node of ours whose pool is gone: nobody says how long to wait.
_NEVER: Final = timedelta(days=36_500)


class ClassificationInputs(msgspec.Struct, frozen=True):
    """What all judgements of one step share."""

    now: datetime
    settings: Settings
    clouds: Mapping[str, ProviderState]
    closed: Mapping[str, Node]
    unready_after: Mapping[str, timedelta]
    """By pool."""
    steady_since: datetime | None = None
    healthy_since: datetime | None = None
    """Deadlines that would have passed before this instant count from it."""
    is_halted: bool = False
    """Whether no deadline passes at all: what is late in a broken cluster is not to blame."""

    def ends(self, written: datetime | None, patience: timedelta) -> datetime | None:
        """When a time is over that began when this was written; None if that is not to be said now."""
        if self.is_halted:
            return None
        return since(written, self.now, self.steady_since, self.healthy_since) + patience

    def is_over(self, ends_at: datetime | None) -> TypeGuard[datetime]:
        """Whether that time is over."""
        return ends_at is not None and self.now >= ends_at

    @property
    def is_cloud_unknown(self) -> bool:
        """Whether some provider does not say what it has: silence proves nothing."""
        return not self.clouds or not all(cloud.answers for cloud in self.clouds.values())

    def has_answered(self, offering: str, since: datetime) -> bool:
        """Whether the provider of this offering was asked at this instant or later, so that its word holds."""
        cloud = cloud_of(offering, self.clouds)
        return cloud is not None and cloud.has_answered(since, self.now)


def judge(one: JoinedUnit, bench: ClassificationInputs) -> Unit:
    """The one state that a unit is in."""
    unit = _judged(one, bench)
    written = one.request.status.phase_since if one.request is not None else None
    if written is None or written <= bench.now:
        return unit
    # A clock that was ahead of ours wrote that. It counts for another time when ours comes near, and when it is there.
    instants = (unit.changes_at, written - CLOCKS_DIFFER + _MOMENT, written)
    return msgspec.structs.replace(unit, changes_at=min(one for one in instants if one and one > bench.now))


def _judged(one: JoinedUnit, bench: ClassificationInputs) -> Unit:
    node, request, machine = one.node, one.request, one.machine
    if one.removal is not None:
        return _terminating(one, one.removal)
    if request is not None and request.status.phase == "Deprovisioning":
        met = condition_of(request.status.conditions, MET)
        why = met.message if met is not None else ""
        return _unit(one, NodeState.BEING_REMOVED, request.status.phase_since, why, asks_cloud=True)
    if node is None:
        return _without_request(one, bench, machine) if request is None else _without_node(one, bench, request)
    if request is None and machine is None and not _is_ours(node, bench):
        return _foreign(one, bench, node)
    return _standing(one, bench, node)


# UC1, UC4, UC5: no node yet


def _without_node(one: JoinedUnit, bench: ClassificationInputs, request: NodeRequest) -> Unit:
    status = request.status
    if status.phase == "Unmet":
        met = condition_of(status.conditions, MET)
        why, is_overdue = ("", True) if met is None else (met.message, met.reason in (NO_MACHINE, MACHINE_GONE))
        return _unit(one, NodeState.NEVER_CREATED, status.phase_since, why, is_amiss=is_overdue)
    if status.phase == "Ready":
        why = "its node is gone, and its request goes, too"
        return _unit(one, NodeState.BEING_REMOVED, status.phase_since, why, asks_cloud=True)
    asked_at = request.metadata.creation_timestamp
    if status.phase_since is None:
        # Nobody has had trouble with it yet: its time has not begun.
        return _unit(one, NodeState.REQUESTED, asked_at, asks_cloud=True)
    ends_at = bench.ends(phase_since(request, bench.now), bench.settings.provision.machine_within)
    if not bench.is_over(ends_at):
        return _unit(one, NodeState.REQUESTED, asked_at, changes_at=ends_at, asks_cloud=True)
    if not bench.has_answered(request.spec.target_offering, ends_at):
        why = "its time is over, but its provider does not say whether there is a machine"
        return _unit(one, NodeState.REQUESTED, asked_at, why, asks_cloud=True)
    if one.machine is not None:
        if status.phase == "Pending":
            return _unit(
                one, NodeState.REQUESTED, asked_at, asks_cloud=True
            )  # it begins a phase with a time of its own
        why = "its machine is there, but no node registered in time"
        return _unit(one, NodeState.NEVER_REGISTERED, ends_at, why, is_amiss=True, asks_cloud=True)
    why = "its provider has no machine of this name, and no node registered"
    return _unit(one, NodeState.NEVER_CREATED, ends_at, why, is_amiss=True, asks_cloud=True)


def _without_request(one: JoinedUnit, bench: ClassificationInputs, machine: Machine | None) -> Unit:
    """Only its provider knows of it: a crash left it behind, or somebody deleted its request."""
    created_at = machine.created_at if machine is not None else None
    ends_at = bench.ends(created_at, bench.settings.provision.machine_within)
    if not bench.is_over(ends_at):
        return _unit(one, NodeState.REQUESTED, created_at, changes_at=ends_at, asks_cloud=True)
    why = "its machine has neither request nor node"
    return _unit(one, NodeState.NEVER_REGISTERED, ends_at, why, is_amiss=True, asks_cloud=True)


# UC2, UC3, UC6: a node of ours


def _standing(one: JoinedUnit, bench: ClassificationInputs, node: Node) -> Unit:
    ready = _ready_condition(node)
    is_ready = ready is not None and ready.status == "True"
    is_closed = one.name in bench.closed
    request = one.request
    is_expected = request is not None and request.status.phase in ("Pending", "Provisioning")
    if (is_closed or is_expected) and not (was_started(node) and not is_closed):
        return _starting(one, bench, node, is_ready=is_ready)
    as_of = _transition(node, ready)
    if is_ready:
        why = "" if one.machine is not None or bench.is_cloud_unknown else "its provider has no such machine any more"
        return _unit(one, NodeState.READY, as_of, why, is_ready=True, asks_cloud=one.machine is None)
    patience = bench.unready_after.get(node.metadata.labels.get(POOL, ""), _NEVER)
    long_at = bench.ends(as_of, patience)
    is_long = bench.is_over(long_at)
    return _unit(
        one,
        NodeState.UNREADY,
        as_of,
        _why_unready(one, bench, ready),
        is_unjustified=True,
        is_amiss=True,
        is_long=is_long,
        changes_at=None if is_long else long_at,
        asks_cloud=True,
    )


def _starting(one: JoinedUnit, bench: ClassificationInputs, node: Node, *, is_ready: bool) -> Unit:
    born, request = node.metadata.creation_timestamp, one.request
    if is_ready:
        return _unit(one, NodeState.BOOTING, born, "it is being prepared", is_ready=True, asks_cloud=True)
    provision = bench.settings.provision
    began_at = born
    if request is not None and request.status.phase_since is not None:
        began_at = phase_since(request, bench.now)
    ends_at = bench.ends(began_at, provision.machine_within + provision.ready_within)
    if not bench.is_over(ends_at):
        return _unit(one, NodeState.BOOTING, born, changes_at=ends_at, asks_cloud=True)
    why = "its node registered, and did not become ready in time"
    return _unit(one, NodeState.FAILED_TO_START, ends_at, why, is_amiss=True, asks_cloud=True)


def _why_unready(one: JoinedUnit, bench: ClassificationInputs, ready: Condition | None) -> str:
    said = f"its Ready condition is {ready.status}" if ready is not None else "it has no Ready condition"
    reason = f" ({ready.reason})" if ready is not None and ready.reason else ""
    if one.machine is not None:
        return f"{said}{reason}; its machine is {one.machine.power}"
    if bench.is_cloud_unknown:
        return f"{said}{reason}; its provider does not answer"
    return f"{said}{reason}; its provider has no such machine any more"


# UC7


def _terminating(one: JoinedUnit, removal: NodeRemovalRequest) -> Unit:
    status = removal.status
    if status.phase == "RemovalFailed":
        last = status.events[-1] if status.events else None
        return _unit(
            one, NodeState.REMOVAL_FAILED, last.at if last else None, last.reason if last else "", asks_cloud=True
        )
    return _unit(
        one, NodeState.BEING_REMOVED, removal.metadata.creation_timestamp, removal.spec.reason, asks_cloud=True
    )


# Not ours


def _is_ours(node: Node, bench: ClassificationInputs) -> bool:
    """Whether a node that no provider lists, and no request speaks for, is ours: it bears our label, and either our
    record, or nobody can say that it is not."""
    if POOL not in node.metadata.labels:
        return False
    if was_started(node) or bench.is_cloud_unknown:
        return True
    born = node.metadata.creation_timestamp
    read_at = min((cloud.read_at for cloud in bench.clouds.values() if cloud.read_at is not None), default=None)
    # A provider that was asked before the node came has said nothing about it.
    return born is not None and (read_at is None or born >= read_at)


def _foreign(one: JoinedUnit, bench: ClassificationInputs, node: Node) -> Unit:
    ready = _ready_condition(node)
    is_ready = ready is not None and ready.status == "True"
    as_of = _transition(node, ready)
    has_label = POOL in node.metadata.labels
    if is_ready:
        return _unit(one, NodeState.FOREIGN, as_of, is_ready=True, asks_cloud=has_label)
    born = node.metadata.creation_timestamp
    seems_new = born is None or as_of is None or as_of - born < _AT_BIRTH
    if seems_new:
        # Halted or not: whether the cluster is healthy must not depend on whether it is.
        starts_by = counts_from(born, bench.now, bench.steady_since) + bench.settings.provision.ready_within
        if bench.now < starts_by:
            return _unit(one, NodeState.FOREIGN, as_of, "it boots", changes_at=starts_by, asks_cloud=has_label)
    said = f"its Ready condition is {ready.status}" if ready is not None else "it has no Ready condition"
    return _unit(one, NodeState.FOREIGN, as_of, said, is_unjustified=True, asks_cloud=has_label)


def _ready_condition(node: Node) -> Condition | None:
    for condition in node.status.conditions:
        if condition.type == "Ready":
            return condition
    return None


def _transition(node: Node, ready: Condition | None) -> datetime | None:
    """Since when the node is as it is: never before it was born, whatever is written."""
    born = node.metadata.creation_timestamp
    if ready is None or ready.last_transition_time is None:
        return born
    return ready.last_transition_time if born is None else max(ready.last_transition_time, born)


def _is_awaited(request: NodeRequest) -> bool:
    """Whether it still waits for its machine. Of one that is being deleted nobody takes care any more."""
    return request.status.phase in ("Pending", "Provisioning") and request.metadata.deletion_timestamp is None


def _unit(
    one: JoinedUnit,
    state: NodeState,
    since: datetime | None,
    why: str = "",
    *,
    is_ready: bool = False,
    is_unjustified: bool = False,
    is_amiss: bool = False,
    is_long: bool = False,
    changes_at: datetime | None = None,
    asks_cloud: bool = False,
) -> Unit:
    node, machine, request = one.node, one.machine, one.request
    labels: Mapping[str, str] = node.metadata.labels if node is not None else {}
    if machine is not None:
        pool, offering, provider_id = machine.pool, machine.offering, machine.provider_id
    elif request is not None:
        pool, offering, provider_id = request.pool, request.spec.target_offering, request.status.provider_id
    else:
        pool, offering, provider_id = labels.get(POOL, ""), labels.get(OFFERING, ""), ""
    if state is NodeState.FOREIGN:
        pool = offering = ""
    missing_since = None
    if state in MISSING:
        # Being overdue is a state of its own, and begins later.
        asked_at = machine.created_at if machine is not None else None
        missing_since = (request.metadata.creation_timestamp if request is not None else asked_at) or since
    return Unit(
        one.name,
        state,
        since,
        why,
        pool,
        offering,
        node is not None,
        is_ready or (node is not None and not is_unjustified and node.is_ready),
        is_unjustified,
        is_amiss,
        is_long,
        provider_id or (node.spec.provider_id if node is not None else ""),
        machine is not None,
        request is not None,
        request is not None and _is_awaited(request),
        changes_at,
        asks_cloud,
        missing_since,
    )
