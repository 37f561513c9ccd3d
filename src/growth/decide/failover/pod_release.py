"""A node that is out of service: its pods are ended, its volumes come off, and what does not happen is told.

    tainted ──► pods ended ──► volumes detached ──► free ──the machine is gone for good──► Node object deleted

Pods are ended only while its provider still says that the machine is dead; a machine that was started again ends what
is left of its old pods by itself.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from growth.api.actions import DeleteObject, ReleasePod
from growth.api.kinds import PODS
from growth.api.machine import Power
from growth.api.node import Node
from growth.api.out_of_service import Proof, out_of_service_taint, proof_on
from growth.api.pod import Pod
from growth.api.pod_classification import is_work
from growth.api.references import reference_to
from growth.decide.elapsed import is_ahead
from growth.decide.failover.carry import PodRecovery
from growth.decide.failover.context import FailoverContext, reference
from growth.decide.failover.evidence import NodeCase
from growth.decide.failover.remaining_objects import RemainingObjects, left_on, what_is_left, why_kept
from growth.decide.failover.safety_limits import NodeCensus, guard_of

# The pod collector looks every 20 s, and volumes come off within seconds. After so long something is wrong.
_STUCK_AFTER: Final = timedelta(minutes=1)
# kube-controller-manager (1.36) evicts by name, mostly within 0.1 s of the taint. Who ends the pod before that sees the
# next one of the same name evicted, elsewhere: so that is waited for, but for no longer than this.
_EVICTED_WITHIN: Final = timedelta(seconds=5)


def follow_release(context: FailoverContext) -> None:
    """What becomes of each node that is out of service."""
    census = NodeCensus(context) if any(case.is_gone for case in context.cases.values()) else None
    for name, node in sorted(context.snapshot.out_of_service.items()):
        if out_of_service_taint(node) is None or name in context.terminating:
            continue
        _warn_of_running(context, node)
        left, case = left_on(context.snapshot, node), context.case(node)
        if left.all:
            context.note(node, "Releasing", what_is_left(left))
        else:
            context.note(node, "Released", "nothing of its old life is left on it")
        if context.acts and case is not None and (case.is_proven(context.terms) or _is_written(context, node, case)):
            _release(context, node, case, left)
            if not left.all and census is not None:
                _delete_node(context, census, node, case, left)
        _tell_of_stuck(context, node, left)


def _is_written(context: FailoverContext, node: Node, case: NodeCase) -> bool:
    """Whether the proof on the node still holds: it is about this machine, and the node did not live since."""
    proof, heartbeat = proof_on(node), context.snapshot.heartbeats.of(node.metadata.name)
    if proof is None or proof.is_forced or proof.provider_id != case.provider_id:
        return False
    if heartbeat is not None and heartbeat.is_renewal and not context.now >= proof.tainted_at >= heartbeat.heard_at:
        return False  # it lived since; or that was written by a clock ahead of ours, and nobody can tell
    boot_id = node.status.node_info.boot_id
    return not (proof.boot_id and boot_id and boot_id != proof.boot_id)


def _is_sure(context: FailoverContext, case: NodeCase) -> bool:
    """Whether what cannot be undone may be done now; if only a fresh answer is missing, that is asked for."""
    if not case.is_fresh(context.now):
        context.pressing.add(case.uid)
        return False
    return True


def _release(context: FailoverContext, node: Node, case: NodeCase, left: RemainingObjects) -> None:
    # One that has ended and that nothing keeps was let go by halves: somebody was stopped before its deletion.
    evicted = _evicted(context, node, left.pods)
    pods = (*evicted, *(pod for pod in left.lingering if not pod.metadata.finalizers))
    if not pods or case.answers is None or not case.answers.is_dead:
        return
    is_ended = context.terms.speed == "fast" and _is_sure(context, case)
    why = f"its machine is {case.answers.power.value}: node {case.name} is out of service"
    for pod in pods:
        subject, owner = reference_to(PODS, pod.metadata), pod.metadata.controller
        if is_ended:
            context.said.append(ReleasePod(subject=subject, why=why))
        if owner is not None and owner.kind == "StatefulSet":
            context.tell(subject, "FailedOver", f"it is ended here and starts elsewhere: {why}")
            key = (pod.metadata.namespace, pod.metadata.name)
            if key not in context.recoveries:
                context.recoveries[key] = PodRecovery(pod.metadata.uid, case.name, case.last_sign, context.now)


def _evicted(context: FailoverContext, node: Node, pods: Sequence[Pod]) -> Sequence[Pod]:
    """Those that the taint has evicted by now, and in the end all."""
    due = _begun_at(context, node, proof_on(node)) + _EVICTED_WITHIN
    if not pods or not is_ahead(due, context.now, _EVICTED_WITHIN):
        return pods
    context.remind(due)
    return [pod for pod in pods if pod.metadata.deletion_timestamp is not None]


def _delete_node(
    context: FailoverContext, census: NodeCensus, node: Node, case: NodeCase, left: RemainingObjects
) -> None:
    """Volumes of a node that is deleted first are detached six minutes later, so this comes last."""
    if not case.is_gone or not case.is_proven(context.terms) or node.metadata.deletion_timestamp is not None:
        return
    if (stays := next(filter(is_work, left.staying), None)) is not None:
        name = f"{stays.metadata.namespace}/{stays.metadata.name}"
        words = f"its machine is gone for good, but its Node object stays: pod {name} tolerates the taint"
        context.hold(node, "HeldByToleration", words)
        return
    if (guard := guard_of(context, census, node, case)) is not None and guard.reason != "TooMany":
        context.hold(node, guard.reason, f"its machine is gone for good, but its Node object stays: {guard.why}")
        return
    if not _is_sure(context, case):
        return
    why = "its machine is gone for good, and nothing is left on it"
    context.note(node, "NodeDeleted", why)
    context.tell(reference(node), "NodeDeleted", why)
    context.said.append(DeleteObject(subject=reference(node), why=why))


def _warn_of_running(context: FailoverContext, node: Node) -> None:
    """The taint takes away what keeps a volume attached until it is unmounted: a risk on a machine that runs."""
    proof = proof_on(node)
    if proof is not None and not proof.by:
        return
    who = proof.by if proof is not None else "a person"
    reading = context.machines.reading(node.spec.provider_id) if node.spec.provider_id else None
    if reading is not None and reading.power is Power.ON:
        why = f"{who} took it out of service, but its machine runs: what it writes to its volumes may be lost"
        context.alert(node, "OutOfServiceRunning", why)
    else:
        context.note(node, "TaintedByHand", f"{who} took it out of service; that is theirs to end")


def _tell_of_stuck(context: FailoverContext, node: Node, left: RemainingObjects) -> None:
    if not left.all:
        return
    begun_at = _begun_at(context, node, proof_on(node))
    if is_ahead(begun_at + _STUCK_AFTER, context.now, _STUCK_AFTER):
        context.remind(begun_at + _STUCK_AFTER)
        return
    context.stuck += len(left.attachments)
    for reason, words in why_kept(left):
        context.alert(node, reason, words)


def _begun_at(context: FailoverContext, node: Node, proof: Proof | None) -> datetime:
    """Since when it is to be free: when we tainted it, or first saw that somebody had."""
    if proof is not None and proof.tainted_at <= context.now:
        return proof.tainted_at
    known = context.carry.seen_out.get(node.metadata.uid, context.now)
    context.seen_out[node.metadata.uid] = min(known, context.now)
    return context.seen_out[node.metadata.uid]
