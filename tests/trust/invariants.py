"""What must hold at every instant of every story, whatever goes wrong: one function each, asked about each step.

The table of all of them is docs/invariants.md. A function gives a sentence for each way in which the step breaks it.
``picture`` is the cluster right after the step.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import timedelta
from typing import Any, Final

from growth.act.effect_hooks import EffectPoint
from growth.api.duration import parse_duration
from growth.api.growth_kinds import GROUP, NODE_MOVES, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, NODES, PODS, VOLUME_ATTACHMENTS, Kind
from growth.api.node import Node
from growth.api.node_memory import MEMORIES
from growth.api.node_removal_request import IF_UNREADY, NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.offering import INSTANCE_TYPE, POOL
from growth.api.out_of_service import OUT_OF_SERVICE
from growth.api.pod import Pod
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import WORKLOADS
from growth.api.status import condition_of
from growth.cloud.kwok.machine_record import config_map_name, record_from, scheme_of
from growth.decide.capacity.provider_failures import MACHINE_GONE, MET, NEVER_READY, NO_MACHINE, NO_NODE
from growth.decide.scale_up.probe_schedule import MOST_AT_ONCE
from tests.trust.deeds import Deed, Deeds
from tests.trust.limits import passed_limits
from tests.trust.moving import (
    drained_too_soon,
    emptied_without_a_move,
    is_drained,
    is_marked,
    is_pool_going,
    must_go,
    too_many_at_once,
)
from tests.trust.out_of_service import (
    FRESH_SECONDS,
    living_taken_for_dead,
    powered_off_unasked,
    taken_back_too_soon,
    torn_off,
)
from tests.trust.picture import Picture, Step, has_vanished, is_live, is_work
from tests.trust.queueing import (
    counted_wrongly,
    pod_without_quota,
    quota_exceeded,
    runs_without_quota,
    template_spoilt,
)
from tests.trust.remembering import given_wrongly, is_of_memory, remembered_wrongly

_OURS: Final = scheme_of("growth-system")
_SERVER: Final = "hcloud://"
_POINTS: Final = frozenset(EffectPoint)


@dataclass(frozen=True)
class Invariant:
    """One promise: its number, its name, and what is asked about steps of these kinds."""

    number: str
    name: str
    kinds: tuple[Kind[Any], ...]
    broken_by: Callable[[Step, Picture, Deeds], Iterator[str]]


def bought_twice(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """A waiting pod has its place on one machine that is coming, not on two. One whose time is over is not coming any
    more."""
    request: NodeRequest = step.now
    if step.is_end or not is_live(request) or request.metadata.name in picture.nodes:
        return
    name = request.metadata.name
    for other in picture.requests.values():
        if other.metadata.name == name or not is_live(other) or other.metadata.name in picture.nodes:
            continue
        if any(_is_overdue(one, step.at, picture, deeds) for one in (request, other)):
            continue
        for uid in sorted(set(request.planned_for) & set(other.planned_for)):
            if uid in picture.pods and not picture.pods[uid].node_name:
                pod = picture.pods[uid].metadata.name
                yield f"{name} and {other.metadata.name} are both coming for the waiting pod {pod}"


def _is_overdue(request: NodeRequest, at: float, picture: Picture, deeds: Deeds) -> bool:
    """Whether a machine had not become a node in time at this instant."""
    waited = timedelta(seconds=at - picture.came_at.get(request.metadata.name, at))
    return request.status.phase == "Provisioning" and waited >= deeds.machine_within


def too_many_probes(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """A pool tests few offerings at one time, and none of them twice, whatever fails and for how long."""
    request: NodeRequest = step.now
    if not step.is_new or not request.is_probe:
        return
    live = [
        one
        for one in picture.requests.values()
        if one.is_probe
        and one.pool == request.pool
        and is_live(one)
        and one.metadata.name not in picture.nodes
        and not _is_overdue(one, step.at, picture, deeds)
    ]
    if len(live) > MOST_AT_ONCE:
        yield f"{request.metadata.name} is one of {len(live)} probes of the pool {request.pool}"
    offering = request.spec.target_offering
    others = [one.metadata.name for one in live if one.metadata.uid != request.metadata.uid]
    if any(one.spec.target_offering == offering for one in live if one.metadata.name in others):
        yield f"{request.metadata.name} tests {offering} while another probe of it is on its way"


def bought_unasked(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """The request is written before the provider is asked: so whoever comes next finds it, and asks for the same."""
    if step.is_new and _bought_by_growth(step, deeds):
        name = record_from(step.now).name
        if name not in picture.asked_at:
            yield f"the machine {name} was bought, and no NodeRequest of its name was ever written"


def beyond_limits(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """No purchase takes a pool beyond what it has said since the request was written."""
    if step.is_new and _bought_by_growth(step, deeds):
        machine = record_from(step.now)
        since = picture.asked_at.get(machine.name, step.version)
        found = [passed_limits(spec, machine, picture) for spec in picture.specs_since(machine.request.pool, since)]
        if found and all(found):
            yield f"with {machine.name} the pool {machine.request.pool} has {found[-1]}"


def work_given_away(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Nobody gives a machine back while somebody works on its Ready node."""
    if not step.is_end or not _given_back(step, deeds):
        return
    machine = record_from(step.now)
    node = picture.nodes.get(machine.name)
    if node is not None and node.spec.provider_id == machine.provider_id and node.is_ready:
        names = ", ".join(pod.metadata.name for pod in picture.work_on(machine.name))
        if names:
            yield f"{machine.name} was given back while {names} worked on it"


def pod_taken_away(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Growth ends a pod that works only when its machine is dead, or by eviction from a pool that is deleted, or from a
    node that a move empties."""
    pod: Pod = step.now
    begins_to_leave = step.is_end or (
        pod.metadata.deletion_timestamp is not None
        and (step.before is None or step.before.metadata.deletion_timestamp is None)
    )
    if not begins_to_leave or not is_work(pod) or not pod.node_name:
        return
    asked = deeds.deletions("pods", pod.metadata.name, pod.metadata.uid, until=step.at)
    if not step.is_end:
        # Somebody else may have asked it to leave, and Growth later, when its machine was gone.
        asked = [deed for deed in asked if deed.version in (0, step.version)]
    elif step.before is not None and step.before.metadata.deletion_timestamp is not None:
        # Whether it may be evicted was decided when it began to leave; but nobody cuts it short.
        asked = [deed for deed in asked if deed.name != "evict pods"]
    if not asked or not _may_live(pod, step.at, picture):
        return
    node = picture.nodes.get(pod.node_name)
    may_be_emptied = node is None or is_pool_going(picture, node) or is_drained(step, picture, node)
    if any(deed.name != "evict pods" for deed in asked) or not may_be_emptied:
        yield f"{pod.metadata.name} was ended by Growth ({asked[0].name}) while the machine {pod.node_name} is there"


def called_failed(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """The same of a pod that Growth says has failed: from then on its volumes are free."""
    pod: Pod = step.now
    if step.is_end or step.before is None or not is_work(step.before) or is_work(pod) or not pod.node_name:
        return
    if deeds.making("pods", step.version) and _may_live(pod, step.at, picture):
        yield f"{pod.metadata.name} was said to have failed while the machine {pod.node_name} is there"


def _may_live(pod: Pod, at: float, picture: Picture) -> bool:
    """Whether its machine is there, and was not dead when its provider could last be asked."""
    machine = picture.machines.get(pod.node_name)
    if machine is None or has_vanished(machine):
        return False
    death = picture.powers.last_death(machine.provider_id, at)
    return death is None or at - death[1] > FRESH_SECONDS


def node_before_machine(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Growth deletes a Node object only when its machine is gone and nothing is attached to it any more."""
    node: Node = step.now
    if not step.is_end:
        return
    asked = deeds.deletions("nodes", node.metadata.name, node.metadata.uid, until=step.at)
    if not asked:
        return
    if picture.machine_of(node) is not None:
        yield f"the Node {node.metadata.name} was deleted ({_who(asked)}) while its machine is there"
    attached = [one for one in picture.attachments.values() if one.spec.node_name == node.metadata.name]
    if attached and any(deed.by in _POINTS for deed in asked):
        yield f"the Node {node.metadata.name} was deleted while {len(attached)} VolumeAttachments of it were there"


# A node that turned unready so few changes ago did so in the same moment: nobody had heard of it.
_STILL_TRAVELS = 10


def below_min(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """Growth takes an empty node away only if as many of its type are left, Ready and unmarked, as its pool wants.

    That is by what the pool has said since the node was marked: what it says now may not have been heard yet. A node
    that must go whatever it costs goes even where none can be bought in its place (``moving``).
    """
    removal: NodeRemovalRequest = step.now
    node = picture.nodes.get(removal.node_name)
    if not step.is_new or node is None or not node.is_ready or not is_marked(node):
        return
    if not deeds.creations("noderemovalrequests", step.meta.name, step.version):
        return
    request = picture.requests.get(removal.node_name)
    if request is not None and request.status.phase == "Deprovisioning":
        return  # it was given up because it was never ready, and came to life too late
    pool, kind = node.metadata.labels.get(POOL, ""), node.metadata.labels.get(INSTANCE_TYPE, "")
    stated = picture.pools.get(pool)
    if stated is None or stated.metadata.deletion_timestamp is not None or must_go(picture, removal.node_name):
        return
    left = [
        one
        for name, one in picture.nodes.items()
        if (one.metadata.labels.get(POOL), one.metadata.labels.get(INSTANCE_TYPE)) == (pool, kind)
        and (one.is_ready or step.version - one.metadata.resource_version <= _STILL_TRAVELS)
        and not is_marked(one)
        and name not in picture.removals
    ]
    said = picture.specs_since(pool, node.metadata.resource_version)
    wanted = min(sum(one.min for one in spec.server_types if one.name.lower() == kind.lower()) for spec in said)
    if len(left) < wanted:
        yield f"{removal.node_name} is taken away, which leaves {len(left)} {kind} in {pool}, which wants {wanted}"


def stranger_touched(step: Step, _: Picture, deeds: Deeds) -> Iterator[str]:
    """A node that is not ours is never changed and never deleted, but for what is given back to it."""
    node: Node = step.now
    # Of servers in a shared project, those are ours whose user data we wrote.
    is_our_server = node.spec.provider_id.startswith(_SERVER) and POOL in node.metadata.labels
    if is_our_server or node.spec.provider_id.startswith(_OURS):
        return
    touching = [deed for deed in deeds.making("nodes", step.version) if not is_of_memory(deed)]
    if step.is_end:
        touching = deeds.deletions("nodes", node.metadata.name, node.metadata.uid, until=step.at)
    if touching:
        yield f"{node.metadata.name}, which is not ours, was touched: {_who(touching)}"


def foreign_taint_taken_off(step: Step, _: Picture, deeds: Deeds) -> Iterator[str]:
    """Taints stand in one list, by number: whoever edits what he saw a while ago takes off another one's."""
    if step.before is None or step.is_end:
        return
    before, now = step.before.spec.taints, step.now.spec.taints
    others = [taint for taint in before if not taint.key.startswith(f"{GROUP}/") and taint.key != OUT_OF_SERVICE]
    lost = [str(taint) for taint in others if taint not in now]
    editing = [deed for deed in deeds.making("nodes", step.version) if deed.by == EffectPoint.EDIT_OBJECT]
    if lost and editing:
        yield f"{step.meta.name} lost {', '.join(lost)}, which is not Growth's: {_who(editing)}"


def written_by_another(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """What deciders want is written by whoever took the lease last, and by nobody else. Memory is every replica's."""
    # Those that follow changed nothing, and were told what the first one made.
    for deed in deeds.making(step.kind.plural, step.version)[:1]:
        if deed.by in _POINTS and deed.process != picture.leader and not (step.kind is NODES and is_of_memory(deed)):
            yield f"{deed.process} did {deed.name} {deed.place.name} while {picture.leader or 'nobody'} held the lease"


def acted_in_an_outage(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """While too many nodes are unready nothing is asked for, bought, or removed; but for what was under way."""
    if not picture.broken_for:
        return
    if step.kind is CONFIG_MAPS:
        is_deed = _given_back(step, deeds) if step.is_end else step.is_new and bool(_bought_by_growth(step, deeds))
    else:
        is_deed = step.is_new and bool(deeds.creations(step.kind.plural, step.meta.name, step.version))
    if is_deed:
        done = "was given back" if step.is_end else "was made"
        yield f"{step.kind.name} {step.meta.name} {done}, {picture.broken_for:.1f} s after too many nodes fell silent"


def given_up_too_soon(step: Step, picture: Picture, deeds: Deeds) -> Iterator[str]:
    """What was late, or silent, in an outage has all its time after it."""
    if picture.mended_at is None:
        return
    waited = step.at - picture.mended_at
    if step.kind is NODE_REMOVAL_REQUESTS:
        removal: NodeRemovalRequest = step.now
        is_deed = step.is_new and bool(deeds.creations(step.kind.plural, step.meta.name, step.version))
        said = picture.specs_since(removal.spec.pool, step.version)
        patience = min((parse_duration(spec.scale_down.unready_after) for spec in said), default=timedelta(0))
        is_given_up = is_deed and IF_UNREADY in removal.metadata.annotations
    else:
        patience = deeds.machine_within
        is_given_up = step.before is not None and is_live(step.before) and _is_given_up(step.now)
    if is_given_up and waited < patience.total_seconds() - 1:
        yield f"{step.kind.name} {step.meta.name} was given up {waited:.1f} s after an outage; it has {patience}"


def _is_given_up(request: NodeRequest) -> bool:
    """Whether it was, for taking too long."""
    met = condition_of(request.status.conditions, MET)
    if is_live(request) or met is None:
        return False
    # One that vanished is given up because two lists are without it, not because its time is over.
    is_late = met.reason == MACHINE_GONE and "no node registered" in met.message
    return is_late or met.reason in (NO_MACHINE, NO_NODE, NEVER_READY)


def _bought_by_growth(step: Step, deeds: Deeds) -> list[Deed]:
    return deeds.creations("configmaps", step.meta.name, step.version)


def _given_back(step: Step, deeds: Deeds) -> bool:
    name = config_map_name(record_from(step.now).name)
    asked = deeds.deletions("configmaps", name, step.meta.uid, until=step.at)
    return any(deed.by == EffectPoint.DELETE_MACHINE for deed in asked)


def _who(deeds: list[Deed]) -> str:
    return "; ".join(sorted({f"{deed.process} did {deed.name} for {deed.by or 'nobody'}" for deed in deeds}))


_FAITHFUL: Final = "no label of a node is lost, resurrected or given twice"

ALWAYS: Final = (
    Invariant("I1", "no machine is bought twice", (NODE_REQUESTS,), bought_twice),
    Invariant("I1", "no machine is bought twice", (CONFIG_MAPS,), bought_unasked),
    Invariant("I3", "no limit is passed", (CONFIG_MAPS,), beyond_limits),
    Invariant("I4", "no work is lost", (CONFIG_MAPS,), work_given_away),
    Invariant("I4", "no work is lost", (PODS,), pod_taken_away),
    Invariant("I4", "no work is lost", (PODS,), called_failed),
    Invariant("I5", "the machine goes first, then its Node", (NODES,), node_before_machine),
    Invariant("I6", "scale-down never goes below min", (NODE_REMOVAL_REQUESTS,), below_min),
    Invariant("I9", "what is not ours is never touched", (NODES,), stranger_touched),
    Invariant("I9", "what is not ours is never touched", (NODES,), foreign_taint_taken_off),
    Invariant(
        "I10",
        "only the holder of the lease writes",
        (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_MOVES, NODES, PODS, WORKLOADS, QUEUED_JOBS),
        written_by_another,
    ),
    Invariant(
        "I11",
        "in an outage nothing is bought or removed",
        (NODE_REQUESTS, NODE_REMOVAL_REQUESTS, CONFIG_MAPS),
        acted_in_an_outage,
    ),
    Invariant("I12", "no deadline passes in an outage", (NODE_REQUESTS, NODE_REMOVAL_REQUESTS), given_up_too_soon),
    Invariant("I13", "no living machine is taken for dead", (NODES,), living_taken_for_dead),
    Invariant("I13", "no living machine is taken for dead", (CONFIG_MAPS,), powered_off_unasked),
    Invariant("I14", "no volume is torn off a living machine", (VOLUME_ATTACHMENTS,), torn_off),
    Invariant("I15", "a node returns when its old life is over", (NODES,), taken_back_too_soon),
    Invariant("I17", _FAITHFUL, (NODES,), given_wrongly),
    Invariant("I17", _FAITHFUL, (MEMORIES,), remembered_wrongly),
    Invariant("I19", "no queue gives away more than it has", (WORKLOADS,), quota_exceeded),
    Invariant("I20", "no job runs without quota", (QUEUED_JOBS, WORKLOADS), runs_without_quota),
    Invariant("I20", "no job runs without quota", (PODS,), pod_without_quota),
    Invariant("I21", "no job is put back more often than it may be", (WORKLOADS,), counted_wrongly),
    Invariant("I22", "a stopped job gets its template back", (QUEUED_JOBS,), template_spoilt),
    Invariant("I24", "what replaces a node works before it is emptied", (NODE_MOVES,), drained_too_soon),
    Invariant("I24", "what replaces a node works before it is emptied", (NODES,), emptied_without_a_move),
    Invariant("I27", "few machines test what fails", (NODE_REQUESTS,), too_many_probes),
    Invariant("I25", "no pool gives up more nodes at once than it allows", (NODE_MOVES,), too_many_at_once),
)


def by_kind() -> Mapping[Kind[Any], list[Invariant]]:
    """Who is asked about a step."""
    kinds = {kind for one in ALWAYS for kind in one.kinds}
    return {kind: [one for one in ALWAYS if kind in one.kinds] for kind in kinds}
