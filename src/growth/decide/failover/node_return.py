"""A node that comes back: it is taken into service when it has truly started anew and nothing of its old life is left.

Ready alone is not enough: a node may be ready for half a minute after its machine died. It must be heard of since, and
either its boot id is another one or its provider says that the machine runs. And a volume that still hangs there would
lose what keeps it attached while it is mounted.
"""

from datetime import UTC, datetime
from typing import Any

from growth.api.actions import EditObject
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.out_of_service import HARDWARE, OUT_OF_SERVICE, PROOF, SHUTDOWN, Proof, out_of_service_taint, proof_on
from growth.decide.elapsed import counts_from, is_ahead
from growth.decide.failover.context import FailoverContext, reference
from growth.decide.failover.remaining_objects import left_on
from growth.decide.writes.node_patches import annotation_path, edited


def follow_return(context: FailoverContext) -> None:
    """What becomes of nodes that we took out of service and that may be back."""
    for name, node in sorted(context.snapshot.out_of_service.items()):
        proof = proof_on(node)
        if proof is None or name in context.terminating or not _is_back(context, node, proof):
            continue
        if out_of_service_taint(node) is None:
            if context.acts:
                context.said.append(freed(node, "a person took the taint off, and the node was heard of since"))
            continue
        if who := _other_owner(node, proof):
            words = f"it is back; {who} took it out of service: growth node in-service {name}"
            context.note(node, "BackAgain", words)
        else:
            _take_back(context, node)


def _other_owner(node: Node, proof: Proof) -> str:
    """Who else has a say: a person who asked for it, or who has set a taint that is none of ours."""
    marks = [taint for taint in node.spec.taints if taint.key == OUT_OF_SERVICE]
    return proof.by or ("" if all(taint in (SHUTDOWN, HARDWARE) for taint in marks) else "a person")


def _take_back(context: FailoverContext, node: Node) -> None:
    context.note(node, "BackAgain", "the node is ready again, and its machine runs")
    left = left_on(context.snapshot, node)
    if left.all:
        what = "volumes hang" if left.attachments else "pods of its old life are"
        context.hold(node, "OldLifeLeft", f"it is back, but stays out of service as long as {what} there")
        return
    uid = node.metadata.uid
    known = context.carry.well_since.get(uid, context.now)
    since = context.well_since[uid] = counts_from(known, context.now, context.clock.even_since)
    due, delay = since + context.terms.return_after, context.terms.return_after
    if is_ahead(due, context.now, delay):
        context.remind(due)
        context.hold(node, "Returning", "it is back, and is taken into service when it has been well for a while")
    elif not context.acts:
        context.alert(node, "OurTaintStays", "it is back and well, but failover.mode is not act: our taint stays on it")
    else:
        why = "it is back, and nothing of its old life is left on it"
        context.note(node, "InService", why)
        context.tell(reference(node), "InService", why)
        context.said.append(freed(node, why))


def _is_back(context: FailoverContext, node: Node, proof: Proof) -> bool:
    """Whether it was heard of since, is ready, and truly started anew."""
    if not node.is_ready or node.metadata.uid in context.unreachable:
        return False
    heartbeat = context.snapshot.heartbeats.of(node.metadata.name)
    if heartbeat is not None and (not heartbeat.is_renewal or heartbeat.heard_at <= _counted(context, proof.last_sign)):
        return False
    boot_id = node.status.node_info.boot_id
    if proof.boot_id and boot_id and boot_id != proof.boot_id:
        return True
    reading = context.machines.reading(node.spec.provider_id)
    return (
        reading is not None
        and reading.power is Power.ON
        and not reading.is_changing
        and _counted(context, proof.last_reading) < reading.read_at <= context.now
    )


def _counted(context: FailoverContext, written: datetime) -> datetime:
    """What was written by a clock ahead of ours would keep the node waiting until ours is there, too.

    If it was our own, what we saw since it was set back counts. If it was another process's, all that we saw does.
    """
    if written <= context.now:
        return written
    return context.clock.even_since or datetime.min.replace(tzinfo=UTC)


def freed(node: Node, why: str) -> EditObject:
    """Neither taint nor note, in one edit of the node as it was seen."""
    taints = [number for number, taint in enumerate(node.spec.taints) if taint.key == OUT_OF_SERVICE]
    operations: list[dict[str, Any]] = [{"op": "remove", "path": f"/spec/taints/{at}"} for at in reversed(taints)]
    notes = [{"op": "remove", "path": annotation_path(PROOF)}] if PROOF in node.metadata.annotations else []
    return edited(node, [*operations, *notes], why)
