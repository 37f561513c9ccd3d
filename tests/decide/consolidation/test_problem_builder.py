"""The question as it comes out of what is seen."""

import msgspec
from hypothesis import given, settings
from hypothesis import strategies as st

from growth.api.out_of_service import PROOF, SHUTDOWN
from growth.api.taints import LEAVES, closed
from growth.decide.consolidation.candidates import choice_in
from growth.decide.consolidation.move_search import advise
from growth.decide.consolidation.pod_movability import PodBindings
from growth.decide.consolidation.problem import ConsolidationProblem
from growth.decide.consolidation.problem_builder import question_of
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.observe.cache import ClusterCache
from tests.decide.consolidation.fleet import judge
from tests.decide.consolidation.seen import (
    MINUTE,
    NOW,
    OWNER,
    POOL,
    SOLD,
    a_budget,
    a_cloud,
    a_context,
    a_pod,
    observed,
)
from tests.decide.marketplace import a_node, a_pool, a_removal, an_entry
from tests.decide.passes import Given
from tests.decide.stages import a_pod as a_plain_pod
from tests.drawing import examples


def asked(world: ClusterCache, *things: object, **fields: object) -> ConsolidationProblem:
    snapshot = observed(world, *things).snapshot(NOW)
    context = a_context(snapshot)
    choice = choice_in(context, {})
    return question_of(context, choice, **{"at_once": {"default": 3}, **fields})  # pyright: ignore[reportArgumentType]


def test_the_whole_way_from_what_is_seen_to_what_is_advised() -> None:
    """Two nodes that are used by a quarter each; one is enough."""
    nodes = [a_node(name) for name in ("a", "b")]
    pods = [a_pod(f"web-{name}", node=name) for name in ("a", "b")]
    question = asked(ClusterCache(), POOL, a_cloud("a", "b"), *nodes, *pods)
    (move,) = advise(question).moves
    assert (move.form, move.saves_per_hour, len(move.to)) == ("fold", 1.0, 1)


def test_it_outlives_what_it_was_made_of() -> None:
    nodes = [a_node(name) for name in ("a", "b")]
    pods = [a_pod(f"web-{name}", node=name) for name in ("a", "b")]
    world = ClusterCache()
    question = asked(world, POOL, a_cloud("a", "b"), *nodes, *pods)
    observed(world, *(a_pod(f"big-{name}", node=name, requests={"cpu": "1500m"}) for name in ("a", "b")))
    assert [move.form for move in advise(question).moves] == ["fold"]


def test_what_leaves_is_no_room_and_its_pods_keep_some() -> None:
    """Without room for those who must leave ``leaving``, a and b would be one."""
    nodes = [a_node("a"), a_node("b"), a_node("leaving"), a_node("marked", taints=[LEAVES])]
    nodes.append(a_node("dead", taints=[SHUTDOWN]))
    pods = [a_pod(f"web-{name}", node=name) for name in ("a", "b")]
    pods += [a_pod(f"tenant-{number}", node="leaving", requests={"cpu": "1"}) for number in range(2)]
    pods += [a_pod("goes", node="leaving", terminating=True)]
    everything = (POOL, a_cloud(*(one.metadata.name for one in nodes)), *nodes, *pods, a_removal("leaving"))
    question = asked(ClusterCache(), *everything)
    assert question.simulated.nodes.keys() == {"a", "b"}
    assert {one.name for one in question.candidates} == {"a", "b"}
    assert len(question.others) == 3
    assert sorted(pod.metadata.name for pod in question.ghosts) == ["tenant-0", "tenant-1"]
    assert all(not pod.node_name for pod in question.ghosts)
    assert advise(question).moves == ()


def test_what_may_be_bought_is_what_growing_may_buy() -> None:
    dry = an_entry(SOLD[0].id)
    going = a_pool("going", deleted_at=NOW)
    new = a_pool("new", finalizers=())
    question = asked(ClusterCache(), a_pool(types=["small", "large"], learnt=[dry]), going, new, a_cloud())
    assert [pool.metadata.name for pool in question.pools] == ["default"]
    assert [one.server_type for one in question.offerings] == ["large"]


def test_what_a_pool_did_wrong_it_does_not_repeat() -> None:
    mistake = an_entry(SOLD[0].id, reason="Invalid")
    tried = an_entry(SOLD[1].id, reason="Invalid", until=NOW - MINUTE)
    question = asked(ClusterCache(), a_pool(types=["small", "large"], learnt=[mistake, tried]), a_cloud())
    assert question.closed == {("default", SOLD[0].id)}
    assert question.trials == (f"default/{SOLD[1].id}",)


def test_a_node_that_is_just_being_given_up_is_none_to_move_to() -> None:
    """Failover noted that its pods lose their machine; the taint is written in this moment."""
    lost = a_pod("lost", node="lost")
    world = observed(ClusterCache(), POOL, a_cloud("a", "lost"), a_node("a"), a_node("lost"), lost)
    snapshot = world.snapshot(NOW)
    context = a_context(snapshot, Given(facts=(ReplacementPods.of([lost]),)))
    choice = choice_in(context, {})
    question = question_of(context, choice, at_once={})
    assert question.simulated.nodes.keys() == {"a"}
    assert [pod.metadata.name for pod in question.ghosts] == ["lost"]
    assert [one.name for one in choice.candidates] == ["a"]


def test_a_node_whose_old_life_is_not_cleared_yet_is_none_to_move_to() -> None:
    """The taint is gone, our note is still there."""
    node = a_node("back")
    metadata = msgspec.structs.replace(node.metadata, annotations={PROOF: "{}"})
    question = asked(ClusterCache(), POOL, a_cloud("back"), msgspec.structs.replace(node, metadata=metadata))
    assert question.simulated.nodes.keys() == set()


def test_ghosts_and_limits_of_a_wave_are_the_callers() -> None:
    ghost = a_plain_pod("ghost", requests={"cpu": "1"})
    question = asked(ClusterCache(), POOL, a_cloud("a"), a_node("a"), at_once={"default": 7}, ghosts=(ghost,))
    assert question.ghosts == (ghost,)
    assert question.at_once == {"default": 7}


STATES = ["open", "open", "open", "leaving", "marked", "dead", "unready", "closed", "foreign"]


@st.composite
def worlds(draw: st.DrawFn) -> list[object]:
    """Nodes in all states, with pods on them of which some must stay."""
    things: list[object] = [a_pool(types=[{"name": "small", "min": draw(st.integers(0, 2))}, "large"])]
    names: list[str] = []
    for number, state in enumerate(draw(st.lists(st.sampled_from(STATES), max_size=7))):
        name = f"n{number}"
        taints = {"marked": [LEAVES], "dead": [SHUTDOWN], "closed": [closed(name)]}.get(state, [])
        things.append(a_node(name, ready=state != "unready", taints=taints))
        things += [a_removal(name)] if state == "leaving" else []
        names += [name] if state != "foreign" else []
        for count, owner in enumerate(draw(st.lists(st.sampled_from([OWNER, OWNER, OWNER, None]), max_size=3))):
            things.append(a_pod(f"{name}-{count}", node=name, owner=owner, labels={"app": draw(st.sampled_from("xy"))}))
    allowed = draw(st.integers(0, 1))
    return [*things, a_budget("x", {"matchLabels": {"app": "x"}}, allowed=allowed), a_cloud(*names)]


@settings(max_examples=examples(60))
@given(things=worlds())
def test_whatever_is_seen_can_be_thought_about(things: list[object]) -> None:
    """Who may go is there, bears nothing that stays, and is no machine twice; each move leaves all pods a place."""
    world = ClusterCache()
    question = asked(world, *things)
    snapshot = world.snapshot(NOW)
    going = {one.name for one in question.candidates}
    assert going <= question.simulated.nodes.keys()
    assert going.isdisjoint(snapshot.to_go.keys() | snapshot.out_of_service.keys() | snapshot.closed.keys())
    bonds = PodBindings(snapshot)
    assert not [pod for name in going for pod in snapshot.pods_by_node.get(name, {}).values() if bonds.why_stays(pod)]
    machines = [machine for cloud in snapshot.clouds.values() for machine in cloud.machines]
    assert len(going) + len(question.others) == len(machines)
    judge(question, advise(question))
