"""Cohorts and preemption against a model that is as simple as can be, on small trees by chance.

Who is admitted, on which flavors, who is sent back and why must be the same, pass after pass, while some end, come,
change their priority or have their quota edited. Workloads have no jobs here: who is evicted is gone a pass later.
"""

from random import Random
from typing import Any

import pytest
from hypothesis import example, given
from hypothesis import settings as profile
from hypothesis import strategies as st

from growth.api.actions import PatchObject
from growth.api.queue.kinds import CLUSTER_QUEUES, WORKLOADS
from growth.api.queue.workload import EVICTED, PREEMPTED, QUOTA_RESERVED, WAITS_FOR_PREEMPTED
from growth.decide.contract import Decision
from growth.decide.queue.preemption import promised_to
from growth.decide.queue.quota_tree import Quota as Owned
from growth.decide.queue.quota_tree import QuotaNode
from tests.decide.queue.cohort_model import Node, Outcome, Pass, Queue, Quota, Slot, Tree, Work
from tests.decide.queue.cohort_worlds import (
    GROUPS,
    draw_holding,
    draw_tree,
    draw_work,
    hold,
    put_tree,
    put_work,
    queue_spec,
)
from tests.decide.queue.stage import NOW, Stage, settings
from tests.drawing import examples

CPU = ("red", "cpu")
SEEDS = st.integers(0, 2**32)


class Twins:
    """The same things happen to the queue and to the model."""

    def __init__(self, chance: Random, *, preemptors_first: bool) -> None:
        self.chance, self.preemptors_first = chance, preemptors_first
        self.stage = Stage(settings(wait=False, preemptors_first=preemptors_first))
        self.nodes, self.queues = draw_tree(chance)
        self.works: dict[str, Work] = {}
        self.made = 0
        put_tree(self.stage, self.nodes)
        for _ in range(chance.randint(0, 12)):
            self._holder()
        for _ in range(chance.randint(1, 5)):
            self._come()

    def _work(self) -> Work:
        work = draw_work(self.chance, self.made, self.chance.choice(self.queues))
        self.made += 1
        self.works[work.name] = work
        return work

    def _holder(self) -> None:
        """Somebody holds quota already, as far as there is some."""
        work = self._work()
        flavors = draw_holding(self.chance, work)
        tree, uses = Tree(self.nodes), [(one.queue.name, one.uses or {}) for one in self.works.values()]
        if all(tree.is_right(slot, uses) for slot in work.uses or {}):
            put_work(self.stage, work, flavors)
        else:
            del self.works[work.name]

    def _come(self) -> None:
        put_work(self.stage, self._work())

    def look(self) -> None:
        """Both decide, alike; then it is so."""
        for workload in self.stage.workloads():
            said = workload.condition(QUOTA_RESERVED)
            self.works[workload.metadata.name].is_waiting = said is not None and said.reason == WAITS_FOR_PREEMPTED
        model = Pass(Tree(self.nodes), self.works.values(), preemptors_first=self.preemptors_first)
        expected = model.run()
        decision = self.stage.look()
        assert _outcome(decision, self.works) == expected
        for said in decision.said:
            self.stage.take(said)
        for work in self.works.values():
            if work.is_evicted:
                work.uses, work.is_evicted = None, False
        for name, flavors in expected.admitted.items():
            hold(self.works[name], flavors, self.stage.now)
        for name in expected.sent_back:
            self.works[name].is_evicted = self.works[name].was_sent_back = True
        reported = {one.metadata.name: promised_to(one) for one in self.stage.workloads()}
        assert {name: reported[name] for name in model.promised} == model.promised
        for name, flavors in model.promised.items():
            self.works[name].promised = flavors

    def happen(self) -> None:
        """Something happens in between, or nothing."""
        work = self.chance.choice(sorted(self.works.values(), key=lambda one: one.name)) if self.works else None
        match self.chance.choice(["", "", "come", "end", "prefer", "edit", "restart"]):
            case "come":
                self._come()
            case "end" if work is not None:
                del self.works[work.name]
                self.stage.drop(WORKLOADS, work.name)
            case "prefer" if work is not None:
                work.priority = self.chance.randint(0, 3)
                self.stage.change(WORKLOADS, work.name, {"spec": {"priority": work.priority}})
            case "edit":
                self._edit()
            case "restart":
                self.stage.memory = None
            case _:
                pass

    def _edit(self) -> None:
        queue = self.chance.choice(self.queues)
        slot = self.chance.choice(sorted(queue.quotas))
        before = queue.quotas[slot]
        nominal = self.chance.randint(before.lend or 0, 8)
        queue.quotas = {**queue.quotas, slot: Quota(nominal, before.borrow, before.lend)}
        self.stage.change(CLUSTER_QUEUES, queue.name, {"spec": queue_spec(queue)})


def _outcome(decision: Decision[Any], works: dict[str, Work]) -> Outcome:
    """What was decided on admissions and victims."""
    admitted: dict[str, tuple[dict[str, str], ...]] = {}
    sent_back: dict[str, str] = {}
    for said in decision.said:
        if not isinstance(said, PatchObject) or said.subject.kind != "Workload" or "status" not in said.body:
            continue
        name, status = said.subject.name, said.body["status"]
        if status.get("admission"):
            admitted[name] = tuple(one["flavors"] for one in status["admission"]["podSetAssignments"])
        conditions = {one["type"]: one for one in status.get("conditions", ()) if one["status"] == "True"}
        if EVICTED in conditions and not works[name].is_evicted and works[name].uses is not None:
            sent_back[name] = conditions[PREEMPTED]["reason"]
    return Outcome(admitted, sent_back)


def live(seed: int, *, preemptors_first: bool = False) -> None:
    twins = Twins(Random(seed), preemptors_first=preemptors_first)  # noqa: S311 - no secret
    for _ in range(5):
        twins.look()
        twins.happen()


@profile(max_examples=examples(80))
@given(SEEDS, st.booleans())
@example(seed=1429, preemptors_first=False)  # a head that has to borrow stands before a preemptor
@example(seed=3607, preemptors_first=False)  # a preemptor was itself preempted, and another one waits
def test_those_are_admitted_and_sent_back_whom_the_model_says(seed: int, preemptors_first: bool) -> None:  # noqa: FBT001
    live(seed, preemptors_first=preemptors_first)


def test_who_wants_nothing_more_of_something_is_asked_about_it_all_the_same() -> None:
    """Its cohort uses too much of it already; model and decider had different opinions on whether that matters."""
    live(1464172)


@pytest.mark.long
@profile(max_examples=1500)
@given(SEEDS, st.booleans())
def test_the_same_on_many_more_trees(seed: int, preemptors_first: bool) -> None:  # noqa: FBT001
    live(seed, preemptors_first=preemptors_first)


def _members(nodes: list[Node]) -> dict[str, QuotaNode]:
    members: dict[str, QuotaNode] = {}
    for node in nodes:
        quotas = {slot: Owned(quota.nominal, quota.borrow, quota.lend) for slot, quota in node.quotas.items()}
        members[node.name] = QuotaNode(
            node.name, quotas, members[node.parent.name] if node.parent is not None else None
        )
    return members


@profile(max_examples=examples(100))
@given(SEEDS)
def test_what_is_left_is_as_much_as_may_be_used_without_breaking_the_law(seed: int) -> None:
    """By definition: so much more can be used that everybody still uses no more than it may, and not one more."""
    chance = Random(seed)  # noqa: S311 - no secret
    nodes, queues = draw_tree(chance)
    members, tree = _members(nodes), Tree(nodes)
    uses: list[tuple[str, dict[Slot, int]]] = []
    for _ in range(chance.randint(0, 8)):
        queue = chance.choice(queues)
        slot = chance.choice(sorted(queue.quotas))
        left = members[queue.name].available(slot)
        most = members[queue.name].capacity(slot)
        assert tree.is_right(slot, [*uses, (queue.name, {slot: left})])
        assert not tree.is_right(slot, [*uses, (queue.name, {slot: left + 1})])
        assert tree.is_right(slot, [(queue.name, {slot: most})])
        assert not tree.is_right(slot, [(queue.name, {slot: most + 1})])
        amount = chance.randint(0, left)
        members[queue.name].use(slot, amount)
        uses.append((queue.name, {slot: amount}))
        assert all(members[node.name].used(slot) == tree.used(node, slot, list(uses)) for node in nodes)


def test_a_cohort_without_queues_lends_what_it_has() -> None:
    """Quota that is nobody's own: a Cohort of its own beside the teams', under the same parent."""
    company = Node("company")
    spare = Node("spare", company, {CPU: Quota(5)})
    team = Queue("team", company, {CPU: Quota(1)}, GROUPS[1])
    stage = Stage(settings(wait=False))
    put_tree(stage, [company, spare, team])
    put_work(stage, Work("large", "1", team, 0, NOW, ({"cpu": 6},)))
    stage.settle()
    assert stage.admitted() == ["large"]


def test_what_is_waited_for_is_not_shown_as_borrowed() -> None:
    """Its pods are still there, and somebody more important waits for its place: three are used, none is borrowed."""
    team = Queue("team", Node("company"), {CPU: Quota(3)}, GROUPS[1], within="LowerPriority")
    stage = Stage(settings(wait=False))
    put_tree(stage, [*team.path[1:], team])
    holder = Work("low", "1", team, 0, NOW, ({"cpu": 3},))
    hold(holder, ({"cpu": "red"},), NOW)
    put_work(stage, holder, ({"cpu": "red"},))
    put_work(stage, Work("high", "2", team, 1, NOW, ({"cpu": 3},)))
    for said in stage.look().said:
        stage.take(said)
    (usage,) = stage.queue("team").status.flavors_reservation
    assert (usage.resources[0].total, usage.resources[0].borrowed) == ("3m", "0")
