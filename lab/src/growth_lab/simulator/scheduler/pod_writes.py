"""What the scheduler writes into pods: that one has its node, that none was found, that room is kept."""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.pod_conditions import with_condition
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Store

SCHEDULED = "PodScheduled"


class Writer:
    """Writes to pods that still exist; a pod that went in the meantime needs nothing any more."""

    def __init__(self, clock: Clock, store: Store) -> None:
        self._clock, self._store = clock, store

    def bind(self, name: str, namespace: str, uid: str, node: str) -> bool:
        """The pod is bound: its node, its condition, and no room is kept any more. False if it is gone."""
        pod = self._get(name, namespace, uid)
        if pod is None or pod.get("spec", {}).get("nodeName"):
            return False
        bound = with_condition(pod, {"type": SCHEDULED, "status": "True"}, self._clock.stamp(), is_observed=False)
        status = {"conditions": bound["status"]["conditions"], "nominatedNodeName": None}
        self._store.patch(PODS, name, namespace, {"spec": {"nodeName": node}, "status": status})
        return True

    def refuse(self, name: str, namespace: str, uid: str, message: str, *, clears_nomination: bool) -> None:
        """No node fits the pod."""
        self._complain(name, namespace, uid, "Unschedulable", message, clears_nomination=clears_nomination)

    def fail(self, name: str, namespace: str, uid: str, message: str) -> None:
        """Something else went wrong."""
        self._complain(name, namespace, uid, "SchedulerError", message, clears_nomination=True)

    def _complain(
        self, name: str, namespace: str, uid: str, reason: str, message: str, *, clears_nomination: bool
    ) -> None:
        pod = self._get(name, namespace, uid)
        if pod is None:
            return
        status: Json = {"conditions": self._with(pod, {"status": "False", "reason": reason, "message": message})}
        if clears_nomination:
            status["nominatedNodeName"] = None
        self._store.patch(PODS, name, namespace, {"status": status})

    def nominate(self, name: str, namespace: str, uid: str, node: str, message: str = "") -> None:
        """Room is kept for the pod on this node; with a message, because others have to go there first."""
        pod = self._get(name, namespace, uid)
        if pod is None:
            return
        status: Json = {"nominatedNodeName": node}
        if message:
            wanted = {"status": "False", "reason": "Unschedulable", "message": message}
            status["conditions"] = self._with(pod, wanted)
        self._store.patch(PODS, name, namespace, {"status": status})

    def _get(self, name: str, namespace: str, uid: str) -> Json | None:
        pod = self._store.get(PODS, name, namespace)
        return pod if pod is not None and pod["metadata"]["uid"] == uid else None

    def _with(self, pod: Json, wanted: Json) -> list[Json]:
        changed = with_condition(pod, {"type": SCHEDULED, **wanted}, self._clock.stamp())
        return changed["status"]["conditions"]
