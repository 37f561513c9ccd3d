"""The question as it comes out of what is seen."""

from growth.api.out_of_service import SHUTDOWN
from growth.api.scale_down import LEAVES
from growth.decide.consolidate.advice import advise
from growth.decide.consolidate.asking import question_of
from growth.decide.consolidate.candidates import choice_in
from growth.decide.consolidate.question import Question
from growth.observe.world import World
from tests.decide.consolidate.seen import NOW, POOL, SETTINGS, SOLD, STATE, a_cloud, a_pod, heard
from tests.decide.marketplace import a_node, a_pool, a_removal, an_entry
from tests.decide.stages import a_pod as a_plain_pod


def asked(world: World, *things: object, **fields: object) -> Question:
    snapshot = heard(world, *things).snapshot(NOW)
    choice = choice_in(snapshot, STATE, SETTINGS, {})
    return question_of(snapshot, STATE, SETTINGS, choice, **{"at_once": {"default": 3}, **fields})  # pyright: ignore[reportArgumentType]


def test_the_whole_way_from_what_is_seen_to_what_is_advised() -> None:
    """Two nodes that are used by a quarter each; one is enough."""
    nodes = [a_node(name) for name in ("a", "b")]
    pods = [a_pod(f"web-{name}", node=name) for name in ("a", "b")]
    question = asked(World(), POOL, a_cloud("a", "b"), *nodes, *pods)
    (move,) = advise(question).moves
    assert (move.form, move.saves_per_hour, len(move.to)) == ("fold", 1.0, 1)


def test_it_outlives_what_it_was_made_of() -> None:
    world = World()
    nodes = [a_node(name) for name in ("a", "b")]
    pods = [a_pod(f"web-{name}", node=name) for name in ("a", "b")]
    question = asked(world, POOL, a_cloud("a", "b"), *nodes, *pods)
    before = advise(question)
    heard(world, a_pod("big", node="a", requests={"cpu": "1500m"}), a_pod("large", node="b", requests={"cpu": "1500m"}))
    assert advise(question) == before
    assert before.moves


def test_what_leaves_is_no_room_and_its_pods_keep_some() -> None:
    """Without room for those who must leave ``leaving``, a and b would be one."""
    nodes = [a_node("a"), a_node("b"), a_node("leaving"), a_node("marked", taints=[LEAVES])]
    nodes.append(a_node("dead", taints=[SHUTDOWN]))
    pods = [a_pod(f"web-{name}", node=name) for name in ("a", "b")]
    pods += [a_pod(f"tenant-{number}", node="leaving", requests={"cpu": "1"}) for number in range(2)]
    pods += [a_pod("goes", node="leaving", terminating=True)]
    everything = (POOL, a_cloud(*(one.metadata.name for one in nodes)), *nodes, *pods, a_removal("leaving"))
    question = asked(World(), *everything)
    assert question.stage.nodes.keys() == {"a", "b"}
    assert {one.name for one in question.candidates} == {"a", "b"}
    assert len(question.others) == 3
    assert sorted(pod.metadata.name for pod in question.ghosts) == ["tenant-0", "tenant-1"]
    assert all(not pod.node_name for pod in question.ghosts)
    assert advise(question).moves == ()


def test_what_may_be_bought_is_what_growing_may_buy() -> None:
    dry = an_entry(SOLD[0].id)
    going = a_pool("going", deleted_at=NOW)
    new = a_pool("new", finalizers=())
    question = asked(World(), a_pool(types=["small", "large"], learnt=[dry]), going, new, a_cloud())
    assert [pool.metadata.name for pool in question.pools] == ["default"]
    assert [one.server_type for one in question.offerings] == ["large"]


def test_ghosts_and_limits_of_a_wave_are_the_callers() -> None:
    ghost = a_plain_pod("ghost", requests={"cpu": "1"})
    question = asked(World(), POOL, a_cloud("a"), a_node("a"), at_once={"default": 7}, ghosts=(ghost,))
    assert question.ghosts == (ghost,)
    assert question.at_once == {"default": 7}
