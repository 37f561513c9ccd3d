"""What a cluster looks like when a history is over, as far as both worlds must agree on it."""

from collections import Counter
from typing import Any

from growth.api.kinds import JOBS, NODES, PERSISTENT_VOLUME_CLAIMS, PODS, VOLUME_ATTACHMENTS
from growth.api.node import Node
from growth.api.pod import Pod
from growth_lab.scenarios.context import Play

Picture = dict[str, str]
"""A line for each object, or for each workload."""


def picture(play: Play) -> Picture:
    """By subject, in words."""
    trace, lines = play.trace, Picture()
    owned: dict[str, Counter[str]] = {}
    for name, pod in trace.objects[PODS].items():
        owner = pod.metadata.controller
        if owner is None:
            lines[f"pod {name}"] = _pod(play, pod)
        elif pod.metadata.deletion_timestamp is None:  # how many of them were where it hurts is chance
            owned.setdefault(f"{owner.kind} pods of {pod.metadata.labels.get('app')}", Counter())[_phase(pod)] += 1
    lines |= {
        subject: ", ".join(f"{n} {what}" for what, n in sorted(found.items())) for subject, found in owned.items()
    }
    lines |= {f"node {name}": _node(play, node) for name, node in trace.objects[NODES].items()}
    for name, claim in trace.objects[PERSISTENT_VOLUME_CLAIMS].items():
        leaving = ", leaving" if claim.metadata.deletion_timestamp else ""
        lines[f"claim {name}"] = ("bound" if claim.spec.volume_name else "waits") + leaving
    for attachment in trace.objects[VOLUME_ATTACHMENTS].values():
        source = play.trace.short(attachment.spec.source.persistent_volume_name)
        lines[f"attachment of {source} to {play.trace.short(attachment.spec.node_name)}"] = (
            "attached" if attachment.status.attached else "waits"
        )
    for name, job in trace.objects[JOBS].items():
        ended = [
            one.type for one in job.status.conditions if one.type in ("Complete", "Failed") and one.status == "True"
        ]
        lines[f"job {name}"] = ", ".join(ended) or "goes on"
    return lines


def disagreements(virtual: Picture, real: Picture) -> list[str]:
    """A sentence for each subject that looks different."""
    return [
        f"{subject}: virtual: {virtual.get(subject, 'not there')}; real: {real.get(subject, 'not there')}"
        for subject in sorted(virtual.keys() | real.keys())
        if virtual.get(subject) != real.get(subject)
    ]


def _phase(pod: Pod) -> str:
    return pod.status.phase + (" and ready" if _is_ready(pod) else "") + ("" if pod.node_name else " without node")


def _pod(play: Play, pod: Pod) -> str:
    leaving = ", leaving" if pod.metadata.deletion_timestamp else ""
    return _phase(pod) + (f" on {play.node_of(pod)}" if pod.node_name else "") + leaving


def _is_ready(pod: Any) -> bool:  # noqa: ANN401
    condition = pod.condition("Ready")
    return condition is not None and condition.status == "True"


def _node(play: Play, node: Node) -> str:
    ready = next((one.status for one in node.status.conditions if one.type == "Ready"), "none")
    taints = ", ".join(sorted(play.trace.short(str(taint)) for taint in node.spec.taints))
    return f"Ready={ready}" + (f", tainted {taints}" if taints else "")
