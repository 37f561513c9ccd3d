"""Records of played machines, and nodes of them, with all defaulted but the point of the test."""

from datetime import UTC, datetime, timedelta

from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.machine import request_for
from growth.api.meta import Condition, ObjectMeta
from growth.api.node import Node, NodeSpec, NodeStatus, NodeSystemInfo
from growth.cloud.kwok.catalog import MachineBehavior
from growth.cloud.kwok.faults import faults_from
from growth.cloud.kwok.machine_record import MachineRecord
from tests.cloud.kwok_trial import POOL, SMALL

MADE = datetime(2026, 3, 1, 9, tzinfo=UTC)
BOOT = timedelta(seconds=20)


def a_record(
    name: str = "default-1", *, uid: str = "uid-1", faults: str = "", fenced: bool = False, power_cut_at: str = ""
) -> MachineRecord:
    """A machine that was made at ``MADE`` and boots for ``BOOT``."""
    return MachineRecord(
        name=name,
        uid=uid,
        namespace="growth-system",
        request=request_for(name, POOL, SMALL),
        created_at=MADE,
        behaviour=MachineBehavior(BOOT, faults_from(faults)),
        is_fenced=fenced,
        power_cut_at=power_cut_at,
    )


def its_node(record: MachineRecord, *, played: bool = True, ready: bool = True) -> Node:
    """The node that registered from a machine."""
    return Node(
        ObjectMeta(name=record.name, uid="node-uid", labels={KWOK_LABEL: KWOK_VALUE} if played else {}),
        NodeSpec(provider_id=record.provider_id),
        NodeStatus(
            conditions=(Condition("Ready", "True" if ready else "Unknown"),),
            node_info=NodeSystemInfo(record.boot_id),
        ),
    )
