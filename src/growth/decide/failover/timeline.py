"""What people can read later: each node's story, in ``growth-status``; and how long work was away, as a number."""

from collections import Counter
from datetime import timedelta
from typing import Any, Final

import msgspec

from growth.api.actions import PatchObject
from growth.api.core import ConfigMap
from growth.api.growth_status import GROWTH_STATUS, Timeline, key_of, timelines_in
from growth.api.kinds import CONFIG_MAPS
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.elapsed import is_ahead
from growth.decide.failover.carry import PodRecovery
from growth.decide.failover.context import FailoverContext
from growth.decide.failover.evidence import Finding
from growth.observe.snapshot import Snapshot

_EVERY: Final = timedelta(seconds=1)
# A story that ended is kept for so long, and so many stories in all: a ConfigMap holds a megabyte.
_KEPT_FOR: Final = timedelta(hours=24)
_KEPT: Final = 100
_KEPT_BYTES: Final = 400_000
# Whoever does not run again after so long has another reason.
_RECOVERS_WITHIN: Final = timedelta(minutes=10)


def note_findings(context: FailoverContext) -> None:
    """What each case has come to, as a step in the node's story."""
    for case in context.cases.values():
        node, finding = context.snapshot.nodes[case.name], case.finding(context.terms)
        if context.machines.place(case.provider_id) is None:
            why = "no provider that answers has such a machine" if case.provider_id else "it has no providerID"
            context.hold(node, Finding.UNKNOWABLE.value, f"it is silent, and nobody can be asked about it: {why}")
            continue
        match finding:
            case Finding.SILENT:
                context.note(node, finding.value, "it is silent: its provider is asked about its machine")
            case Finding.CHANGING:
                power = case.answers.power.value if case.answers is not None else ""
                words = f"something is being done to its machine, which is {power}"
                context.note(node, f"{finding.value}-{power}", words)
            case Finding.OFF:
                context.note(
                    node, finding.value, "its provider says that its machine does not run; that must be proven"
                )
            case _:
                pass  # whoever acts on it says so
    _note_who_is_heard_of(context)


def _note_who_is_heard_of(context: FailoverContext) -> None:
    """A silence that ends by itself is the end of the story; one that is out of service has another end."""
    for uid, case in context.carry.cases.items():
        node, story = context.snapshot.nodes.get(case.name), context.timelines.get(case.name)
        if uid in context.unreachable or node is None or story is None or {node.metadata.uid, story.uid} != {uid}:
            continue
        if case.name not in context.snapshot.out_of_service and case.name not in context.terminating:
            context.note(node, "HeardAgain", "it is heard of again, and nothing was done")


def counted(context: FailoverContext) -> dict[str, int]:
    """How many nodes are how."""
    findings: Counter[str] = Counter()
    for case in context.cases.values():
        is_known = context.machines.place(case.provider_id) is not None
        findings[(case.finding(context.terms) if is_known else Finding.UNKNOWABLE).value] += 1
    findings["OutOfService"] = len(context.snapshot.out_of_service)
    return dict(findings)


def remembered_timelines(snapshot: Snapshot, settings: Settings) -> dict[str, Timeline]:
    """What the last leader told."""
    return {one.node: one for one in timelines_in(_status(snapshot, settings)) if one.entries}


def write_timelines(context: FailoverContext) -> None:
    """Write down what is new, not more than once in a moment."""
    there = _status(context.snapshot, context.settings)
    if there is None:
        return  # the registry makes it
    wanted = _kept(context)
    changed: dict[str, Any] = {key: text for key, text in wanted.items() if there.data.get(key) != text}
    changed |= {key_of(one.node): None for one in timelines_in(there) if key_of(one.node) not in wanted}
    if not changed:
        return
    written_at = context.carry.written_at
    if written_at is not None and is_ahead(written_at + _EVERY, context.now, _EVERY):
        context.remind(written_at + _EVERY)
        return
    why = f"something happened to {', '.join(sorted(key.partition('.')[2] for key in changed))[:200]}"
    patch = PatchObject(subject=reference_to(CONFIG_MAPS, there.metadata), why=why, body={"data": changed})
    context.said.append(patch)
    context.is_written = True


def _kept(context: FailoverContext) -> dict[str, str]:
    """The latest stories, as texts by their keys; what is too old, or too much, is forgotten."""
    known = sorted(context.timelines.values(), key=lambda one: (one.entries[-1].at, one.node), reverse=True)
    texts: dict[str, str] = {}
    free_bytes, context.timelines = _KEPT_BYTES, {}
    for one in known:
        if one.node not in context.noted and not is_ahead(one.entries[-1].at + _KEPT_FOR, context.now, _KEPT_FOR):
            continue
        text = msgspec.json.encode(one)
        free_bytes -= len(text)
        if free_bytes < 0 or len(texts) == _KEPT:
            break
        texts[key_of(one.node)], context.timelines[one.node] = text.decode(), one
    return texts


def _status(snapshot: Snapshot, settings: Settings) -> ConfigMap | None:
    return snapshot.table(CONFIG_MAPS).get((settings.namespace, GROWTH_STATUS))


def follow_recoveries(context: FailoverContext) -> None:
    """Measure how long pods took from the last sign of life to running again."""
    if not context.recoveries:
        return
    running = {
        (pod.metadata.namespace, pod.metadata.name): pod.metadata.uid
        for pods in context.snapshot.pods_by_node.values()
        for pod in pods.values()
        if pod.status.phase == "Running"
    }
    seconds: list[float] = []
    for key, recovery in list(context.recoveries.items()):
        if running.get(key, recovery.uid) != recovery.uid:
            seconds.append((context.now - recovery.last_sign).total_seconds())
            _note_recovery(context, recovery, key)
            del context.recoveries[key]
        elif not is_ahead(recovery.ended_at + _RECOVERS_WITHIN, context.now, _RECOVERS_WITHIN):
            del context.recoveries[key]
    context.recovered = tuple(seconds)


def _note_recovery(context: FailoverContext, recovery: PodRecovery, key: tuple[str, str]) -> None:
    node = context.snapshot.nodes.get(recovery.node)
    if node is not None:
        context.note(node, f"Recovered-{key[0]}/{key[1]}", f"pod {key[0]}/{key[1]} runs elsewhere")
