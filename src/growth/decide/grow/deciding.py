"""What should be bought for the pods that wait? Docs: docs/growing.md.

It asks for machines (NodeRequests), says on pods why they wait, and counts how often they waited in vain. It never asks
a provider, never removes anything, and has one plan at a time: the next one is thought of when the last one is seen in
the cluster, so nothing is planned twice.

1. Sort out who waits: who has a place, who is left alone for now, who asks for a pool that is not there.
2. Carry out the last plan: requests that are not seen yet, pods that join machines that are coming.
3. Plan, when no new pod has come for a moment, or the longest wait is over.
4. Say on pods why there is no place, and clear it from those that got one.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence
from datetime import datetime, timedelta
from typing import Final

import msgspec

from growth.api.action import Action, CreateObject, Hold, PatchObject, RecordEvent
from growth.api.backoff import BACK_OFF, BackOff, back_off_of
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import PODS
from growth.api.nodepool import NodePool
from growth.api.noderequest import HANDS_KEYS, PLANNED_FOR, WAKES, NodeRequest
from growth.api.outcome import Result
from growth.api.pod import Pod
from growth.api.references import reference_by_name, reference_to
from growth.api.settings import Settings
from growth.decide.decider import Decision, State
from growth.decide.fit.demand import importance, why_not
from growth.decide.fit.stage import Stage
from growth.decide.grow.backing_off import failed, is_held
from growth.decide.grow.coming import Coming, has_places
from growth.decide.grow.estate import holdings, shortages
from growth.decide.grow.matching import Matching, Unmatched
from growth.decide.grow.planning import NO_PLAN, Plan, Question, Wanted, answer
from growth.decide.grow.warming import Shortage
from growth.decide.offerings import Shop, shop_of
from growth.decide.usable import usable
from growth.decide.waking import nudge
from growth.observe.snapshot import Snapshot

_ACTION: Final = "Planning"
# The scheduler sees free room within a second or so, unless nothing wakes the pod; then a nudge does.
_EXPECTED: Final = timedelta(seconds=15)
_NUDGE_AFTER: Final = timedelta(seconds=3)
# What was made is seen in the watch at once. If it is not, it has gone again.
_SEEN_WITHIN: Final = timedelta(seconds=10)


class Memory(msgspec.Struct, frozen=True):
    """What must be remembered between two passes; a new process begins with nothing and loses nothing."""

    plan: Plan = NO_PLAN
    unserved: frozenset[str] = frozenset()
    """Who wanted a place in the last pass and had none."""
    first_at: datetime | None = None
    last_at: datetime | None = None
    """When the first and the last of those came for whom there is no plan yet."""
    nodes_heard: int = -1
    """How many nodes had come when the last plan was made."""


class _Sorted(msgspec.Struct):
    """Who waits, and how it stands with each."""

    unserved: list[Pod]
    seated: list[Pod]
    unmatched: list[tuple[Pod, Unmatched]]
    held: list[tuple[Pod, BackOff]]
    wake_at: list[datetime]


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """What should happen now."""
    memory = state.memory if isinstance(state.memory, Memory) else Memory(nodes_heard=snapshot.nodes_heard)
    plan = state.answer if isinstance(state.answer, Plan) else memory.plan
    return _Pass(snapshot, state, settings, memory, plan).run()


class _Pass:
    """One look at everything."""

    def __init__(self, snapshot: Snapshot, state: State, settings: Settings, memory: Memory, plan: Plan) -> None:
        self._snapshot, self._state, self._settings = snapshot, state, settings
        self._memory, self._plan = memory, plan
        self._now = snapshot.now
        every = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items())]
        self._requests = snapshot.table(NODE_REQUESTS)
        self._shop = shop_of(snapshot.clouds, every, self._requests.values(), self._now, settings.provision)
        self._every_pool = every
        self._pools = tuple(pool for pool in every if usable(pool, snapshot.clouds))
        self._circumstances = circumstances(self._pools, self._shop)
        self._said: list[Action | Hold] = []

    def run(self) -> Decision:
        unseen = self._unseen()
        sorted_out = self._sort_out(unseen)
        self._carry_out(unseen)
        thought, memory = self._think(sorted_out, is_busy=bool(unseen) or self._state.is_thinking)
        self._tell(sorted_out)
        self._clear()
        wake_at = min((when for when in sorted_out.wake_at if when > self._now), default=None)
        return Decision(tuple(self._said), wake_at, memory, thought)

    # 1. Who waits

    def _sort_out(self, unseen: Sequence[Wanted]) -> _Sorted:
        snapshot, plan, now = self._snapshot, self._plan, self._now
        places = self._places(unseen)
        expected = plan.expected if now < plan.at + _EXPECTED else dict[str, str]()
        came = snapshot.nodes_heard != self._memory.nodes_heard
        matching = Matching(self._every_pool)
        found = _Sorted([], [], [], [], [])
        for uid, pod in snapshot.refused.items():
            if uid in places:
                found.seated.append(pod)
            elif uid in expected:
                self._nudge(pod, found)
            elif why_not(pod) is not None or self._is_aside(uid, found):
                continue
            elif (unmatched := matching.of(pod)) is not None:
                found.unmatched.append((pod, unmatched))
            elif (record := self._record(pod)) is not None and self._is_held(record, came=came):
                found.held.append((pod, record))
                if record.until is not None:
                    found.wake_at.append(record.until)
            else:
                found.unserved.append(pod)
        if expected:
            found.wake_at.append(plan.at + _EXPECTED)
        found.wake_at += [until for pool in self._every_pool for one in pool.status.offerings if (until := one.until)]
        return found

    def _places(self, unseen: Sequence[Wanted]) -> dict[str, str]:
        """By uid, the machine on which a pod has its place."""
        found = {uid: one.name for one in unseen for uid in one.pods}
        for request in self._requests.values():
            if self._has_places(request):
                found |= dict.fromkeys(request.planned_for, request.metadata.name)
        # What joins a machine is written on its request; until that is seen, the plan says it.
        for one in self._plan.joining:
            request = self._requests.get(("", one.request))
            if request is not None and self._has_places(request):
                found |= dict.fromkeys(one.pods, one.request)
        return found

    def _has_places(self, request: NodeRequest) -> bool:
        return has_places(request, self._snapshot, self._state.steady_since, self._settings.provision)

    def _is_aside(self, uid: str, found: _Sorted) -> bool:
        """Whether the last plan had nothing to do with the pod: no machine helps it, or it is nominated elsewhere.

        What must happen first is nothing that we would hear of in particular, so it is asked about again after a while.
        """
        plan = self._plan
        if uid not in plan.set_aside:
            return False
        again_at = plan.at + self._settings.grow.back_off
        found.wake_at.append(again_at)
        return self._now < again_at

    def _record(self, pod: Pod) -> BackOff | None:
        """What is written on a pod, or will be because of the last plan."""
        written, plan = back_off_of(pod), self._plan
        if pod.metadata.uid not in plan.left_out or (written is not None and written.at > plan.at):
            return written
        return failed(written, plan.at, plan.circumstances, self._settings.grow)

    def _is_held(self, record: BackOff, *, came: bool) -> bool:
        return not came and is_held(record, self._now, self._circumstances, self._settings.grow)

    def _nudge(self, pod: Pod, found: _Sorted) -> None:
        """A pod for which a node that stands has room: the scheduler will see it, or must be made to look."""
        plan = self._plan
        if self._now < plan.at + _NUDGE_AFTER:
            found.wake_at.append(plan.at + _NUDGE_AFTER)
            return
        why = f"node {plan.expected[pod.metadata.uid]} has room for it, and nothing else wakes it"
        action = nudge(pod, f"{plan.at:%Y%m%d-%H%M%S}", why)
        if action is not None:
            self._said.append(action)

    # 2. The last plan

    def _unseen(self) -> list[Wanted]:
        """Machines of the last plan whose requests are not in the cluster yet, and are still wanted."""
        plan, waiting = self._plan, self._snapshot.waiting
        return [
            one
            for one in plan.wanted
            if ("", one.name) not in self._requests
            and not self._is_settled(one)
            and (not one.pods or any(uid in waiting for uid in one.pods))
        ]

    def _is_settled(self, wanted: Wanted) -> bool:
        """Whether its request was made and is gone again, or will never be made."""
        outcome = self._state.outcome_of(CreateObject, reference_by_name(NODE_REQUESTS, wanted.name))
        if outcome is None or outcome.at < self._plan.at:
            return False
        if outcome.result is Result.REFUSED:
            return True
        return outcome.result is Result.DONE and self._now - outcome.at > _SEEN_WITHIN

    def _carry_out(self, unseen: Sequence[Wanted]) -> None:
        self._said += [_request(one) for one in unseen]
        for one in self._plan.joining:
            request = self._requests.get(("", one.request))
            if request is None or not self._has_places(request):
                continue
            added = [uid for uid in one.pods if uid not in request.planned_for and uid in self._snapshot.waiting]
            if added:
                self._said.append(_joined(request, added, one.wakes, hands_keys=one.hands_keys))

    # 3. The next plan

    def _think(self, found: _Sorted, *, is_busy: bool) -> tuple[Callable[[], Plan] | None, Memory]:
        missing = self._missing(found)
        keys = frozenset([pod.metadata.uid for pod in found.unserved] + [one.name for one in missing])
        memory, now = self._memory, self._now
        if not keys:
            return None, Memory(self._plan, keys, None, None, memory.nodes_heard)
        first_at, last_at = memory.first_at or now, memory.last_at or now
        if keys - memory.unserved:
            last_at = now
        settings = self._settings.grow
        due = min(last_at + settings.quiet, first_at + settings.at_most)
        if is_busy or now < due:
            found.wake_at.append(due)
            return None, Memory(self._plan, keys, first_at, last_at, memory.nodes_heard)
        question = self._question(found, missing)
        return lambda: answer(question), Memory(self._plan, keys, None, None, self._snapshot.nodes_heard)

    def _missing(self, found: _Sorted) -> tuple[Shortage, ...]:
        """Machines that pools want even without load; those that the last plan could not find are asked for later."""
        if not any(one.min for pool in self._pools for one in pool.spec.server_types):
            return ()
        plan = self._plan
        if any(("", one.name) not in self._requests and not self._is_settled(one) for one in plan.wanted):
            return ()  # some may be on their way
        missing = shortages(self._pools, holdings(self._snapshot, self._shop))
        if plan.circumstances != self._circumstances:
            return missing
        again_at = plan.at + self._settings.grow.back_off
        if self._now >= again_at:
            return missing
        found.wake_at.append(again_at)
        return tuple(one for one in missing if one.name not in plan.left_out)

    def _question(self, found: _Sorted, missing: tuple[Shortage, ...]) -> Question:
        snapshot = self._snapshot
        pools = {pool.metadata.name: pool for pool in self._every_pool}
        coming = [
            Coming(request.metadata.name, pools[request.spec.pool], offering, request.planned_for, request.hands_keys)
            for _, request in sorted(self._requests.items())
            if self._has_places(request)
            and request.spec.pool in pools
            and (offering := self._shop.get(request.spec.target_offering)) is not None
        ]
        removals = snapshot.table(NODE_REMOVAL_REQUESTS)
        machines = [machine.name for cloud in snapshot.clouds.values() for machine in cloud.machines]
        taken = {name for _, name in (*self._requests, *removals)} | {*snapshot.nodes, *machines}
        return Question(
            stage=Stage.copy_of(snapshot),
            pools=self._pools,
            offerings=self._shop.buyable,
            bought=tuple(one.bought for one in holdings(snapshot, self._shop)),
            coming=tuple(coming),
            pods=tuple(sorted(found.unserved, key=importance)),
            seated=tuple(sorted(found.seated, key=importance)),
            shortages=missing,
            taken=frozenset(taken),
            at=self._now,
            circumstances=self._circumstances,
        )

    # 4. What people hear

    def _tell(self, found: _Sorted) -> None:
        for pod, unmatched in found.unmatched:
            subject = reference_to(PODS, pod.metadata)
            self._said.append(Hold(subject=subject, why=unmatched.why, reason=unmatched.reason))
            self._said.append(
                RecordEvent(subject=subject, why=unmatched.why, type="Warning", reason=unmatched.reason, action=_ACTION)
            )
        left_out = self._plan.left_out
        for pod, record in found.held:
            self._tell_of(pod, record, left_out.get(pod.metadata.uid, ""))
        for pool in self._pools:
            for name, why in left_out.items():
                if name.startswith(f"{pool.metadata.name}/"):
                    subject = reference_to(NODE_POOLS, pool.metadata)
                    sentence = f"not as many machines as min asks for: {why}"
                    self._said.append(Hold(subject=subject, why=sentence, reason="NotWarm"))

    def _tell_of(self, pod: Pod, record: BackOff, why: str) -> None:
        """Why a pod found no place, on the pod; and how often, so that a restart knows it."""
        subject = reference_to(PODS, pod.metadata)
        if record != back_off_of(pod):
            body = {"metadata": {"annotations": {BACK_OFF: record.encode()}}}
            self._said.append(PatchObject(subject=subject, why=f"it found no place {record.failures} times", body=body))
        if record.is_final:
            sentence = f"it found no place {record.failures} times and is not tried again until something changes"
            self._said.append(Hold(subject=subject, why=sentence, reason="BackOff"))
            self._said.append(
                RecordEvent(subject=subject, why=sentence, type="Warning", reason="BackOff", action=_ACTION)
            )
        elif why:
            self._said.append(Hold(subject=subject, why=why, reason="NoPlacement"))
        if why:
            self._said.append(
                RecordEvent(subject=subject, why=why, type="Warning", reason="NoPlacement", action=_ACTION)
            )

    def _clear(self) -> None:
        for pod in self._snapshot.marked.values():
            if pod.node_name:
                body = {"metadata": {"annotations": {BACK_OFF: None}}}
                subject = reference_to(PODS, pod.metadata)
                self._said.append(PatchObject(subject=subject, why="it has a node", body=body))


def circumstances(pools: Iterable[NodePool], shop: Shop) -> str:
    """What a plan depends on beside the pods, in a few characters: which pools there are, and what can be bought."""
    facts = [(pool.metadata.name, pool.spec) for pool in pools]
    sold = [(name, one.access.value, one.is_listed) for name, one in sorted(shop.sold.items())]
    return hashlib.sha256(msgspec.json.encode((facts, sold), order="deterministic")).hexdigest()[:10]


def _request(wanted: Wanted) -> CreateObject:
    pool, offering = wanted.pool, wanted.offering
    owner = {
        "apiVersion": NODE_POOLS.api_version,
        "kind": NODE_POOLS.name,
        "name": pool.metadata.name,
        "uid": pool.metadata.uid,
    }
    annotations = {
        **({PLANNED_FOR: ",".join(wanted.pods)} if wanted.pods else {}),
        **({HANDS_KEYS: "true"} if wanted.hands_keys else {}),
        **({WAKES: ",".join(wanted.wakes)} if wanted.wakes else {}),
    }
    pods = len(wanted.pods)
    for_whom = f"{pods} pods wait" if pods > 1 else "a pod waits" if pods else "the pool wants it even without load"
    return CreateObject(
        subject=reference_by_name(NODE_REQUESTS, wanted.name),
        why=f"{for_whom}, and {offering.id} is part of the cheapest plan",
        body={
            "metadata": {"ownerReferences": [owner], **({"annotations": annotations} if annotations else {})},
            "spec": {"pool": pool.metadata.name, "targetOffering": offering.id, "location": offering.location},
        },
    )


def _joined(request: NodeRequest, added: list[str], wakes: tuple[str, ...], *, hands_keys: bool) -> PatchObject:
    annotations = {
        PLANNED_FOR: ",".join((*request.planned_for, *added)),
        **({HANDS_KEYS: "true"} if hands_keys else {}),
        **({WAKES: ",".join((*request.wakes, *wakes))} if wakes else {}),
    }
    return PatchObject(
        subject=reference_to(NODE_REQUESTS, request.metadata),
        why=f"{len(added)} more pods find room on the machine that is coming",
        body={"metadata": {"annotations": annotations}},
        resource_version=request.metadata.resource_version,
    )
