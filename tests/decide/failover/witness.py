"""A stage that minds every promise in every pass, by what it saw itself and not by what the decider remembers."""

from collections import Counter
from collections.abc import Sequence
from typing import Any

from growth.api.actions import Action, DeleteObject, EditObject, FenceMachine, Hold, ReleasePod
from growth.api.kinds import VOLUME_ATTACHMENTS
from growth.api.machine import Power, PowerReading
from growth.api.out_of_service import HARDWARE, OUT_OF_SERVICE, SHUTDOWN, out_of_service_taint, proof_on
from growth.api.tolerations import tolerates
from growth.decide.contract import Decision
from tests.decide.failover.stage import Stage

WRITES = (EditObject, DeleteObject, ReleasePod, FenceMachine)


class WatchedStage(Stage):
    """Fails as soon as something is wanted that must not be."""

    def look(self) -> Decision[Any]:
        decision = super().look()
        assert decision.requeue_at is None or decision.requeue_at > self.now
        wanted = [one for one in decision.said if isinstance(one, WRITES)]
        if self.settings.failover.mode != "act":
            assert wanted == [], "only who acts writes"
        self._mind_that_nothing_is_done_twice(wanted)
        for one in wanted:
            self._mind(one)
        return decision

    def _mind_that_nothing_is_done_twice(self, wanted: Sequence[Action]) -> None:
        on_nodes = Counter(one.subject.name for one in wanted if not isinstance(one, ReleasePod))
        on_pods = Counter(one.subject for one in wanted if isinstance(one, ReleasePod))
        assert max((*on_nodes.values(), *on_pods.values()), default=1) == 1, "two actions on one thing"
        released = {self._node_of(one) for one in wanted if isinstance(one, ReleasePod)}
        assert not released & set(on_nodes), "a node is changed while its pods are ended"

    def _mind(self, one: Action | Hold) -> None:
        match one:
            case EditObject() if any("/spec/taints" in step["path"] and step["op"] == "add" for step in one.operations):
                self._mind_the_proof(one.subject.name)
            case EditObject():
                self._mind_the_return(one)
            case ReleasePod():
                self._mind_the_release(one)
            case DeleteObject():
                self._mind_the_end(one.subject.name)
            case FenceMachine():
                assert self.settings.failover.fence
                assert self._told_of(one.subject.name)[-1][1].power is Power.ON
            case _:
                pass

    def _told_of(self, name: str) -> list[tuple[float, PowerReading]]:
        """What was read about its machine since its last sign of life, in the order in which it was read."""
        machine = self.world.nodes[name].spec.provider_id.removeprefix("kwok://growth/")
        since = self.observed.get(name, -1.0)
        told = [(at, one) for at, one in self.delivered if one.machine_id == machine and at > since]
        return sorted(told, key=lambda one: (one[0], not one[1].is_dead))

    def _mind_the_proof(self, name: str) -> None:
        told = self._told_of(name)
        contrary = max((at for at, one in told if not one.is_dead), default=-1.0)
        dead = sorted({at for at, one in told if one.is_dead and at > contrary})
        assert len(dead) >= 3, f"{name} is tainted on {dead}"
        assert dead[-1] - dead[0] > 9.999, f"{name} is tainted after {dead[-1] - dead[0]} s"
        assert self.elapsed - dead[-1] < 5, f"{name} is tainted on an answer that is {self.elapsed - dead[-1]} s old"
        assert self.elapsed - self.renewals.get(name, -20.0) > 19.999, f"{name} renews its Lease"
        assert out_of_service_taint(self.world.nodes[name]) is None, f"{name} is tainted already"

    def _mind_the_return(self, edit: EditObject) -> None:
        node = self.world.nodes[edit.subject.name]
        name = node.metadata.name
        assert proof_on(node) is not None, f"{name} has no note of ours"
        assert node.is_ready
        ours = (SHUTDOWN, HARDWARE)
        assert all(taint in ours for taint in node.spec.taints if taint.key == OUT_OF_SERVICE)
        if out_of_service_taint(node) is None:
            return  # a person took the taint off, and only our note goes
        pods = self.world.pods_by_node.get(name, {}).values()
        attached = self.world.tables[VOLUME_ATTACHMENTS].values()
        assert [pod for pod in pods if not any(tolerates(one, SHUTDOWN) for one in pod.spec.tolerations)] == []
        assert [pod for pod in self.world.lingering.values() if pod.node_name == name] == []
        assert [one for one in attached if one.spec.node_name == name] == []
        assert name not in self.observed or self.elapsed - self.observed[name] < 20.001

    def _mind_the_release(self, release: ReleasePod) -> None:
        name = self._node_of(release)
        assert out_of_service_taint(self.world.nodes[name]) is not None, "pods are ended after the taint"
        at, last = self._told_of(name)[-1]
        assert last.is_dead
        assert self.elapsed - at < 5

    def _mind_the_end(self, name: str) -> None:
        node = self.world.nodes[name]
        assert out_of_service_taint(node) is not None
        assert [one.power for _, one in self._told_of(name)[-3:]] == [Power.GONE] * 3
        assert self.elapsed - self._told_of(name)[-1][0] < 5
        attached = self.world.tables[VOLUME_ATTACHMENTS].values()
        assert [one for one in attached if one.spec.node_name == name] == []

    def _node_of(self, release: Action) -> str:
        known = [*self.world.lingering.values()]
        known += [pod for pods in self.world.pods_by_node.values() for pod in pods.values()]
        return next(pod.node_name for pod in known if pod.metadata.uid == release.subject.uid)
