"""Drawn jobs and stocks: a plan launches nothing for a job that it leaves partly without a place."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.node_pool import NodePool
from growth.api.offering import Offering
from growth.api.pod import Pod
from growth.decide.capacity.pool_usage import PoolUsage
from growth.decide.capacity.upcoming_nodes import UpcomingNode
from growth.decide.facts.gangs import Gang
from growth.decide.scale_up.plan import ScaleUpPlan, ScaleUpProblem, answer
from tests.decide.marketplace import a_node, a_pool
from tests.decide.scale_up.test_gang_placement import gang, job
from tests.decide.scale_up.test_plan import ask, uids
from tests.decide.scale_up.town import LARGE, NOW, SMALL, Town, a_pod
from tests.drawing import examples

CPUS = st.sampled_from(["400m", "900m", "1500m", "1900m", "3", "7"])


class Drawn(msgspec.Struct, frozen=True):
    """Demand and what there is for it."""

    gangs: tuple[Gang, ...]
    pods: tuple[Pod, ...]
    offerings: tuple[Offering, ...]
    pool: NodePool
    nodes: int
    seated: frozenset[str] = frozenset()

    def question(self) -> ScaleUpProblem:
        town = Town(*(a_node(f"own-{number}", pool="", has={"cpu": "2"}) for number in range(self.nodes)))
        return ask(*self.pods, town=town, pools=(self.pool,), offerings=self.offerings, gangs=self.gangs)


@st.composite
def drawn(draw: st.DrawFn) -> Drawn:
    gangs: list[Gang] = []
    pods: list[Pod] = []
    for number in range(draw(st.integers(1, 5))):
        own = job(f"job-{number}", draw(st.integers(1, 4)), draw(CPUS), priority=draw(st.sampled_from([0, 0, 5])))
        gangs.append(gang(f"job-{number}", *own))
        pods += own
    pods += [a_pod(f"other-{number}", draw(CPUS)) for number in range(draw(st.integers(0, 3)))]
    stock = st.one_of(st.none(), st.integers(0, 4))
    offerings = tuple(msgspec.structs.replace(one, stock=draw(stock)) for one in (SMALL, LARGE))
    most = draw(st.one_of(st.none(), st.integers(1, 4)))
    pool = a_pool(types=[{"name": "small", **({"max": most} if most is not None else {})}, "large"])
    return Drawn(tuple(gangs), tuple(draw(st.permutations(pods))), offerings, pool, draw(st.integers(0, 2)))


def placed(plan: ScaleUpPlan) -> set[str]:
    return {*plan.places, *plan.expected}


@given(drawn())
@settings(max_examples=examples(400), deadline=None)
def test_nothing_is_launched_for_part_of_a_job(case: Drawn) -> None:
    plan = answer(case.question())
    there = placed(plan)
    for one in case.gangs:
        assert one.pods <= there or one.pods.isdisjoint(there), one
    assert all(one.pods for one in plan.wanted), "a machine is launched for no pod"


@given(drawn())
@settings(max_examples=examples(400), deadline=None)
def test_each_pod_has_a_place_or_a_reason(case: Drawn) -> None:
    plan = answer(case.question())
    there, out = placed(plan), set(plan.left_out)
    assert there.isdisjoint(out)
    assert {one.metadata.uid for one in case.pods} == there | out
    assert {one.gang.workload for one in plan.unplaced} == {
        one.workload for one in case.gangs if not one.pods.isdisjoint(out)
    }


@given(drawn())
@settings(max_examples=examples(400), deadline=None)
def test_job_without_a_place_has_none_beside_the_plan(case: Drawn) -> None:
    """What is launched stands there, what is left in stock may be launched, and it is asked about alone."""
    plan = answer(case.question())
    by_uid = {pod.metadata.uid: pod for pod in case.pods}
    seated = tuple(by_uid[uid] for uid in sorted(placed(plan)))
    coming = tuple(UpcomingNode(one.name, case.pool, one.offering, one.pods, one.hands_keys) for one in plan.wanted)
    left = tuple(
        one if one.stock is None else msgspec.structs.replace(one, stock=one.stock - launched(plan, one))
        for one in case.offerings
    )
    for one in plan.unplaced:
        pods = tuple(pod for pod in case.pods if pod.metadata.uid in one.gang.pods)
        town = Town(*(a_node(f"own-{number}", pool="", has={"cpu": "2"}) for number in range(case.nodes)))
        again = answer(
            ask(
                *pods,
                town=town,
                pools=(case.pool,),
                offerings=left,
                seated=seated,
                expected=plan.expected,
                coming=coming,
                launched=bought_by(plan),
                gangs=(one.gang,),
            )
        )
        assert again.unplaced, (one.gang, uids(*pods), NOW)


def launched(plan: ScaleUpPlan, offering: Offering) -> int:
    return sum(one.offering.id == offering.id for one in plan.wanted)


def bought_by(plan: ScaleUpPlan) -> tuple[PoolUsage, ...]:
    return tuple(PoolUsage.of(one.pool.metadata.name, one.offering) for one in plan.wanted)
