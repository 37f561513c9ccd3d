"""Pods that lose their machine and are made again elsewhere: scale-up plans for their replacements at once.

It begins in the pass in which the taint is said, and ends when the pods are gone: their successors wait then.
"""

from collections.abc import Iterator
from datetime import timedelta
from typing import Final

from growth.api.actions import EditObject, Result
from growth.api.node import Node
from growth.api.out_of_service import out_of_service_taint, proof_on
from growth.api.pod import Pod
from growth.api.pod_classification import is_daemon
from growth.decide.elapsed import is_ahead
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.failover.context import FailoverContext, reference
from growth.decide.failover.remaining_objects import left_on

# Pods are gone 70 s after the power cut at the latest. For those that are not, something else must happen first, and
# no machine stands empty for them until it does.
_GONE_WITHIN: Final = timedelta(minutes=5)


def provide_replacements(context: FailoverContext) -> None:
    """Provide the replacements of pods that lose their machines."""
    if context.acts:
        pods = (pod for node in _dead(context) for pod in left_on(context.snapshot, node).pods if _is_made_anew(pod))
        context.provided.append(ReplacementPods.of(pods))


def _dead(context: FailoverContext) -> Iterator[Node]:
    """Nodes that are proven dead and go out of service now, or went not long ago."""
    for node in context.tainted:
        outcome = context.outcomes.latest(EditObject, reference(node))
        if outcome is None or outcome.result is not Result.REFUSED:
            yield node
    for name, node in sorted(context.snapshot.out_of_service.items()):
        proof = proof_on(node)
        if (
            proof is None
            or proof.is_forced
            or proof.provider_id != node.spec.provider_id
            or name in context.terminating
        ):
            continue
        if out_of_service_taint(node) and is_ahead(proof.tainted_at + _GONE_WITHIN, context.now, _GONE_WITHIN):
            yield node


def _is_made_anew(pod: Pod) -> bool:
    """Whether a successor will come that is not there yet.

    A StatefulSet waits until the pod is gone. All others make a successor as soon as it is asked to go, or never; so
    when it is, there is nobody to stand in for.
    """
    owner = pod.metadata.controller
    if owner is None or is_daemon(pod):
        return False
    return pod.metadata.deletion_timestamp is None or owner.kind == "StatefulSet"
