"""What Growth would buy for the pods that wait now, and what becomes of each of them: a snapshot in, a report out.

Nothing is worked out a second time here: the decider is asked as ``growth run`` asks it when the longest wait is over,
and its thought is thought to the end. Nothing of it is written.
"""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Final

import msgspec

from growth.api.actions import Hold
from growth.api.growth_kinds import NODE_POOLS
from growth.api.pod import Pod
from growth.api.settings.model import Settings
from growth.cli.plan_inputs import currency_of, notices_in
from growth.decide.capacity.demand_history import RECENT_DEMAND
from growth.decide.capacity.offering_catalog import OFFERING_CATALOG
from growth.decide.contract import Decision
from growth.decide.facts.pending_pods import PENDING_PODS
from growth.decide.fit.demand import importance, why_not
from growth.decide.inputs import inputs_at
from growth.decide.registry.step import CLUSTER_STATE
from growth.decide.scale_up.carry import ScaleUpCarry
from growth.decide.scale_up.context import ScaleUpContext
from growth.decide.scale_up.decider import decide
from growth.decide.scale_up.pending_pods import sort_out
from growth.decide.scale_up.plan import NO_PLAN, PlannedLaunch, ScaleUpPlan
from growth.decide.scale_up.pool_selection import PoolSelection
from growth.observe.snapshot import Snapshot

_UNTRIED: Final = "no scheduler has tried it yet, so nobody knows whether it needs a machine"


class PlannedMachine(msgspec.Struct, frozen=True):
    """One to buy."""

    pool: str
    offering: str
    server_type: str
    location: str
    per_hour: float
    pods: tuple[str, ...] = ()
    why: str = ""
    """What it is for, if not only for these pods."""


class NodeWithSpace(msgspec.Struct, frozen=True):
    """A node on which pods that wait find room."""

    node: str
    is_coming: bool
    """Whether it is on its way; else it stands."""
    pods: tuple[str, ...]


class UnplaceablePod(msgspec.Struct, frozen=True):
    """A pod for which nothing is bought, and why."""

    pod: str
    why: str


class PendingReport(msgspec.Struct, frozen=True):
    """Everything; ``growth plan --output json`` prints this."""

    at: datetime
    pool: str
    """The one that was asked about; empty: all."""
    waiting: int
    machines: tuple[PlannedMachine, ...] = ()
    places: tuple[NodeWithSpace, ...] = ()
    homeless: tuple[UnplaceablePod, ...] = ()
    per_hour: float = 0.0
    """What the machines cost."""
    bound_per_hour: float | None = None
    """No plan that places these pods costs less: proven. Null for one pool alone."""
    currency: str = ""
    notices: tuple[str, ...] = ()


def waiting_report(
    snapshot: Snapshot, settings: Settings, pool: str = "", new_pools: Sequence[str] = ()
) -> PendingReport:
    """Think; with ``pool``, tell only of its machines, and of pods that it may serve."""
    fates = _Fates(snapshot, settings)
    pods = {uid: pod for uid, pod in fates.waiting.items() if not pool or _serves(snapshot, pool, pod)}
    machines = tuple(fates.machine(one) for one in fates.plan.wanted if pool in ("", one.pool.metadata.name))
    return PendingReport(
        at=snapshot.now,
        pool=pool,
        waiting=len(pods),
        machines=machines,
        places=tuple(fates.places(pods)),
        homeless=tuple(UnplaceablePod(_name(pod), why) for pod in _in_order(pods) if (why := fates.why_unplaced(pod))),
        per_hour=sum(one.per_hour for one in machines),
        bound_per_hour=None if pool else fates.plan.bound_per_hour,
        currency=currency_of(snapshot),
        notices=tuple(notices_in(snapshot, settings, new_pools, pool)),
    )


# What a plan for pending pods goes by.
_DERIVATIONS: Final = (OFFERING_CATALOG, RECENT_DEMAND, CLUSTER_STATE, PENDING_PODS)


class _Fates:
    """What becomes of each pod."""

    def __init__(self, snapshot: Snapshot, settings: Settings) -> None:
        self.waiting = snapshot.waiting
        decision = decide(inputs_at(snapshot, settings, _DERIVATIONS, carry=_impatient(snapshot, settings)))
        answer = decision.compute() if decision.compute is not None else None
        self.plan = answer if isinstance(answer, ScaleUpPlan) else NO_PLAN
        outlook = ScaleUpContext(inputs_at(snapshot, settings, _DERIVATIONS, carry=ScaleUpCarry()))
        sorted_out = sort_out(outlook, is_node_new=True)
        self._seated = {
            uid: request.metadata.name
            for request in outlook.requests.values()
            for uid in request.planned_for
            if outlook.has_places(request)
        }
        self._seats = {pod.metadata.uid for pod in sorted_out.seated}
        self._bought = {uid for one in self.plan.wanted for uid in one.pods}
        self._coming = {uid: one.request for one in self.plan.joining for uid in one.pods}
        self._why = {pod.metadata.uid: unmatched.why for pod, unmatched in sorted_out.unmatched}
        self._why |= {uid: one.reason for uid, one in self.plan.set_aside.items()}
        self._why |= self.plan.left_out
        self._held_back = _held_back(decision, outlook)

    def machine(self, wanted: PlannedLaunch) -> PlannedMachine:
        offering, pool = wanted.offering, wanted.pool.metadata.name
        return PlannedMachine(
            pool=pool,
            offering=offering.id,
            server_type=offering.server_type,
            location=offering.location,
            per_hour=offering.price_per_hour,
            pods=tuple(_name(self.waiting[uid]) for uid in wanted.pods if uid in self.waiting),
            why=f"pool {pool} keeps some of {offering.server_type} ready" if wanted.shortage else "",
        )

    def places(self, pods: Mapping[str, Pod]) -> list[NodeWithSpace]:
        """Where there is room already, or soon."""
        found: dict[tuple[str, bool], list[str]] = {}
        for pod in _in_order(pods):
            if place := self._place(pod.metadata.uid):
                found.setdefault(place, []).append(_name(pod))
        return [NodeWithSpace(node, is_coming, tuple(names)) for (node, is_coming), names in sorted(found.items())]

    def _place(self, uid: str) -> tuple[str, bool] | None:
        if uid in self._bought:
            return None
        if uid in self.plan.expected:
            return self.plan.expected[uid], False
        if uid in self._coming:
            return self._coming[uid], True
        return (self._seated[uid], True) if uid in self._seats else None

    def why_unplaced(self, pod: Pod) -> str:
        """Why nothing is bought for it; empty if it has a place, or will have one."""
        uid = pod.metadata.uid
        if uid in self._bought or self._place(uid):
            return ""
        if known := self._why.get(uid):
            return known
        if aside := why_not(pod):
            return aside.reason
        return self._held_back if self._held_back and pod.is_refused else _UNTRIED


def _impatient(snapshot: Snapshot, settings: Settings) -> ScaleUpCarry:
    """As if everybody had waited for as long as anybody waits for a plan, and something had changed since any of them
    found no place."""
    began = snapshot.now - settings.grow.at_most - settings.grow.quiet
    arrivals, nodes_heard = snapshot.arrivals, snapshot.nodes_heard - 1
    return ScaleUpCarry(arrivals=arrivals, first_at=began, last_at=began, nodes_heard=nodes_heard)


def _held_back(decision: Decision[ScaleUpCarry], outlook: ScaleUpContext) -> str:
    """Why nothing at all is bought; empty if it would be."""
    if not outlook.cluster.is_halted and not outlook.cluster.gives_up:
        return ""
    return next((one.why for one in decision.said if isinstance(one, Hold)), "")


def _serves(snapshot: Snapshot, pool: str, pod: Pod) -> bool:
    mine = snapshot.table(NODE_POOLS)["", pool]
    return PoolSelection([mine], [mine]).of(pod) is None


def _in_order(pods: Mapping[str, Pod]) -> list[Pod]:
    return sorted(pods.values(), key=importance)


def _name(pod: Pod) -> str:
    return f"{pod.metadata.namespace}/{pod.metadata.name}"
