"""Preemption: a pod that fits nowhere takes the place of less important ones, and waits until they are gone.

As kube-scheduler's default: on each node that only its pods keep from fitting, all less important pods are thought
away; as many as possible are spared, the most important first. The node is taken where the most important victim is
the least important, then where they weigh least together, then where they are fewest. Budgets are not looked at: the
scheduler prefers to respect them, but does not promise it.
"""

from typing import Final, NamedTuple

from growth.api.pod import Pod
from growth.decide.fit import SimulatedCluster, fit
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.pod_conditions import with_condition
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.scheduler.cache import Picture
from growth_lab.simulator.scheduler.unschedulable_message import Refusal
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Store

_TARGET: Final = "DisruptionTarget"
_BY_US: Final = "PreemptionByScheduler"


class Eviction(NamedTuple):
    """Who has to go where, for whom."""

    pod: Pod
    node: str
    victims: tuple[Pod, ...]


class Preemption:
    """Plans evictions on the stage and carries them out in the store."""

    def __init__(self, clock: Clock, store: Store, picture: Picture) -> None:
        self._clock, self._store, self._picture = clock, store, picture

    def plan(self, pod: Pod, refusal: Refusal) -> Eviction | None:
        """The best eviction for a pod that was refused, or None."""
        priority = pod.spec.priority
        if pod.spec.preemption_policy == "Never" or not self._picture.has_pods_below(priority):
            return None
        plans = [self._plan_on(pod, node) for node in refusal.evictable]
        return min((plan for plan in plans if plan is not None), key=_cost, default=None)

    def is_under_way(self, pod: Pod, refusal: Refusal) -> bool:
        """Whether those that had to go for this pod are still leaving, and it will fit when they are gone."""
        node = pod.status.nominated_node_name
        return node in refusal.evictable and any(
            other.spec.priority < pod.spec.priority and _is_victim(other)
            for other in self._picture.pods_on(node).values()
        )

    def carry_out(self, eviction: Eviction) -> None:
        """The victims are told to go."""
        for victim in eviction.victims:
            meta = victim.metadata
            pod = self._store.get(PODS, meta.name, meta.namespace)
            if pod is None or pod["metadata"]["uid"] != meta.uid:
                continue
            condition = {
                "type": _TARGET,
                "status": "True",
                "reason": _BY_US,
                "message": "default-scheduler: preempting to accommodate a higher priority pod",
            }
            changed = with_condition(pod, condition, self._clock.stamp())
            delete_pod(self._store, self._store.replace(PODS, changed))

    def _plan_on(self, pod: Pod, node: str) -> Eviction | None:
        stage = self._picture.stage
        below = [other for other in self._picture.pods_on(node).values() if other.spec.priority < pod.spec.priority]
        if not below:
            return None
        mark = stage.mark()
        for other in below:
            stage.remove(other.metadata.uid, node)
        victims = _spare(stage, pod, node, sorted(below, key=_importance)) if fit(stage, pod, node) is None else None
        stage.back_to(mark)
        return None if victims is None else Eviction(pod, node, tuple(victims))


def _is_victim(pod: Pod) -> bool:
    condition = pod.condition(_TARGET)
    return pod.metadata.deletion_timestamp is not None and condition is not None and condition.reason == _BY_US


def _spare(stage: SimulatedCluster, pod: Pod, node: str, below: list[Pod]) -> list[Pod]:
    """Those who have to go: who still fits beside the pod is put back."""
    victims: list[Pod] = []
    for other in below:
        stage.place(other, node)
        if fit(stage, pod, node) is not None:
            stage.remove(other.metadata.uid, node)
            victims.append(other)
    return victims


def _importance(pod: Pod) -> tuple[int, float, str]:
    """The most important first, then the oldest."""
    started = pod.status.start_time
    return -pod.spec.priority, started.timestamp() if started is not None else 0.0, pod.metadata.name


def _cost(plan: Eviction) -> tuple[int, int, int, str]:
    priorities = [victim.spec.priority for victim in plan.victims]
    return max(priorities, default=0), sum(priorities), len(priorities), plan.node
