"""Whatever happens, in whatever order: nothing is bought twice, nobody runs in circles, nobody is forgotten.

Pods come and go, purchases are accepted, fail, arrive or are deleted by people, offerings are sold out and come back,
the process starts anew, the clock jumps. Then faults stop, and everybody who fits a machine must get one.
"""

from collections import Counter
from datetime import timedelta

import msgspec
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from growth.api.actions import CreateObject
from growth.api.node_request import PLANNED_FOR, NodeRequest
from growth.api.offering import OFFERING, Offering
from growth.decide.scale_up.pod_results import PodResults
from tests.decide.marketplace import a_node, a_pool
from tests.decide.scale_up.town import LARGE, MS, SECOND, SMALL, Town, a_pod
from tests.drawing import examples

CPUS = st.sampled_from(["500m", "1", "1500m", "3", "6", "64"])
FITS = {"500m", "1", "1500m", "3", "6"}
A_WHILE = st.sampled_from([50 * MS, 200 * MS, 2 * SECOND, 12 * SECOND, timedelta(minutes=2), timedelta(hours=1)])
LIVE = ("Pending", "Provisioning")
MAX_SMALL = 4


class Growing(RuleBasedStateMachine):
    """A town with a scheduler that is slow and does as planned."""

    @initialize(limited=st.booleans())
    def begin(self, limited: bool) -> None:  # noqa: FBT001 - hypothesis names it
        small = {"name": "small", **({"max": MAX_SMALL} if limited else {})}
        self.town = Town(a_pool(types=[small, "large"]))
        self.town.refuses = self._witness
        self.is_limited, self.number = limited, 0
        self.asked: Counter[str] = Counter()
        """By pod, for how many machines it was the reason."""
        self.lost: Counter[str] = Counter()
        """By pod, how many times a machine that it was planned for was lost."""
        self.cpus: dict[str, str] = {}
        self.names: set[str] = set()

    def _witness(self, action: CreateObject) -> str:
        """Nobody is refused; but everything that is asked for is seen."""
        pods = action.body["metadata"].get("annotations", {}).get(PLANNED_FOR, "").split(",")
        if action.subject.name not in self.names:
            self.asked.update(pods)
        self.names.add(action.subject.name)
        assert any(uid in self.town.world.waiting for uid in pods), "a machine is asked for, and nobody waits for it"
        return ""

    def _requests(self, *phases: str) -> list[NodeRequest]:
        return [one for one in self.town.requests if one.status.phase in phases]

    def _lose(self, request: NodeRequest) -> None:
        self.lost.update(request.planned_for)

    # What happens

    @rule(cpu=CPUS, count=st.integers(1, 5))
    def pods_come(self, cpu: str, count: int) -> None:
        for _ in range(count):
            self.number += 1
            pod = a_pod(f"web-{self.number}", cpu)
            self.cpus[pod.metadata.uid] = cpu
            self.town.add(pod)

    @rule(data=st.data())
    @precondition(lambda self: self.town.world.waiting)
    def a_pod_goes(self, data: st.DataObject) -> None:
        uid = data.draw(st.sampled_from(sorted(self.town.world.waiting)))
        self.town.remove(self.town.world.waiting[uid])

    @rule(lasting=A_WHILE)
    def time_passes(self, lasting: timedelta) -> None:
        self.town.run(lasting)

    @rule()
    @precondition(lambda self: self._requests("Pending"))
    def a_purchase_is_accepted(self) -> None:
        self.town.move(self._requests("Pending")[0], "Provisioning")

    @rule(data=st.data())
    @precondition(lambda self: self._requests(*LIVE))
    def a_purchase_fails(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self._requests(*LIVE)))
        self._lose(request)
        self.town.move(request, "Unmet")

    @rule(data=st.data())
    @precondition(lambda self: self._requests(*LIVE))
    def a_person_deletes_a_request(self, data: st.DataObject) -> None:
        request = data.draw(st.sampled_from(self._requests(*LIVE)))
        self._lose(request)
        self.town.remove(request)
        self.names.discard(request.metadata.name)

    @rule()
    @precondition(lambda self: self._requests("Unmet"))
    def a_failure_is_forgotten(self) -> None:
        self.town.remove(self._requests("Unmet")[0])

    @rule()
    @precondition(lambda self: self._requests("Provisioning"))
    def a_machine_arrives(self) -> None:
        request = self._requests("Provisioning")[0]
        offering = request.spec.target_offering
        cpu = "8" if offering == LARGE.id else "2"
        self.town.move(request, "Ready")
        self.town.add(a_node(request.metadata.name, offering=offering, has={"cpu": cpu, "memory": "16Gi"}))
        self._schedule()

    def _schedule(self) -> None:
        """Pods go where they were planned to go."""
        nodes = self.town.world.nodes
        places = {uid: one.metadata.name for one in self._requests("Ready") for uid in one.planned_for}
        if self.town.memory is not None:
            said = self.town.remembered.verdicts.items()
            places = {**{uid: one.node for uid, one in said if one.said is PodResults.EXPECTED}, **places}
        for uid, pod in list(self.town.world.waiting.items()):
            node = places.get(uid, "")
            free = self.town.world.room.free(node) if node in nodes else {}
            asked = self.town.world.shapes.of(pod.spec).requests
            if free and all(amount <= free.get(name, 0) for name, amount in asked.items()):
                self.town.bind(pod, node)

    @rule(stock=st.sampled_from([None, 0, 1]))
    def the_stock_changes(self, stock: int | None) -> None:
        self.town.sell(*(_with_stock(one, stock) for one in (SMALL, LARGE)))

    @rule()
    def the_process_starts_anew(self) -> None:
        self.town.restart()

    @rule(by=st.sampled_from([timedelta(hours=-1), timedelta(seconds=-5), timedelta(hours=1)]))
    def the_clock_jumps(self, by: timedelta) -> None:
        self.town.jump(by)

    # What holds

    @invariant()
    def nobody_has_two_machines(self) -> None:
        if not hasattr(self, "town"):
            return
        planned = Counter(uid for one in self._requests(*LIVE) for uid in one.planned_for)
        assert all(count == 1 for count in planned.values()), f"planned twice: {planned}"
        over = {uid: count for uid, count in self.asked.items() if count > 1 + self.lost[uid]}
        assert not over, f"bought more than once, and once for each that failed: {over}"

    @invariant()
    def limits_hold(self) -> None:
        if not hasattr(self, "town") or not self.is_limited:
            return
        held = {one.metadata.name for one in self._requests(*LIVE) if one.spec.target_offering == SMALL.id}
        nodes = self.town.world.nodes.items()
        held |= {name for name, node in nodes if node.metadata.labels[OFFERING] == SMALL.id}
        assert len(held) <= MAX_SMALL

    def teardown(self) -> None:
        """Faults stop: all who fit a machine get one, then nothing moves any more."""
        if not hasattr(self, "town"):
            return
        town = self.town
        town.add(a_pool(types=("small", "large")))
        town.sell(SMALL, LARGE)
        town.run(SECOND)
        for _ in range(100):
            for request in self._requests("Unmet"):
                town.remove(request)
            for request in self._requests("Pending"):
                town.move(request, "Provisioning")
            while self._requests("Provisioning"):
                self.a_machine_arrives()
            self._schedule()
            if not any(self.cpus[uid] in FITS for uid in town.world.waiting):
                break
            town.run(2 * SECOND)
        else:
            raise AssertionError(f"these are forgotten: {town.names(town.world.waiting)}")
        town.remove(*self._requests("Ready"))
        town.run(timedelta(hours=4))
        plans = len(town.plans)
        town.run(timedelta(hours=1))
        assert len(town.plans) == plans
        assert town.look().requeue_at is None
        assert all(town.record(pod) is not None for pod in town.world.waiting.values())
        assert not any(pod.node_name for pod in town.world.marked.values()), "who is bound is not marked any more"


def _with_stock(offering: Offering, stock: int | None) -> Offering:
    return msgspec.structs.replace(offering, stock=stock)


TestGrowing = Growing.TestCase
TestGrowing.settings = settings(max_examples=examples(40), stateful_step_count=25, deadline=None)
