"""What one pass says: of those that changed or are due, and nothing that failed stands in another one's way."""

from datetime import timedelta
from typing import Any

from growth.api.actions import Action, CreateObject, DeleteObject, Outcome, PatchObject, Result, key_of
from growth.api.node_memory import MARKER
from growth.decide.contract import Decision
from growth.decide.node_memory.carry import NodeMemoryCarry
from growth.decide.node_memory.decider import CAPABILITY
from growth_lab.simulator import served_kinds
from tests.decide.node_memory.small_cluster import Replica, Server, small_settings
from tests.decide.passes import Given, deciding

decide = deciding(CAPABILITY)

MORE_THAN_AT_ONCE = 300


class Scene:
    """One replica, whose wishes come true when the test says so."""

    def __init__(self, **memory: object) -> None:
        self.server = Server()
        self.replica = Replica(self.server, small_settings(**memory), "only")

    def add(self, name: str, **labels: str) -> None:
        self.server.store.create(served_kinds.NODES, {"metadata": {"name": name, "labels": labels}})

    def page_pass(self, outcomes: tuple[Outcome, ...] = ()) -> Decision[Any]:
        """Hear everything, and decide."""
        for stream in self.replica.streams:
            stream.hear()
        known = {key_of(outcome.action): outcome for outcome in outcomes}
        state = Given(known, carry=self.replica.desk, identity=self.replica.identity)
        snapshot = self.replica.world.snapshot(self.server.clock.instant)
        decision = decide(snapshot, state, self.replica.settings)
        assert isinstance(decision.carry, NodeMemoryCarry)
        self.replica.desk = decision.carry
        return decision

    def run(self, passes: int) -> None:
        for _ in range(passes):
            for said in self.page_pass().said:
                if isinstance(said, CreateObject | PatchObject | DeleteObject) and (
                    write := self.server.perform(said, "only")
                ):
                    write()

    def wait(self, seconds: float) -> None:
        self.server.clock.instant += timedelta(seconds=seconds)


def about_nodes(decision: Decision[Any]) -> list[Action]:
    return [said for said in decision.said if isinstance(said, PatchObject) and said.subject.kind == "Node"]


def test_a_quiet_cluster_is_written_to_by_nobody_and_wakes_nobody() -> None:
    scene = Scene()
    scene.add("worker-1", team="blue")
    scene.run(6)
    scene.wait(6)
    scene.run(6)
    decision = scene.page_pass()
    assert (decision.said, decision.requeue_at) == ((), None)
    assert isinstance(decision.carry, NodeMemoryCarry)
    assert decision.carry.shards == {}


def test_how_long_a_node_waited_for_its_memory_is_told_once() -> None:
    scene = Scene()
    scene.add("worker-1")
    waiting = scene.page_pass().carry
    assert isinstance(waiting, NodeMemoryCarry)
    assert list(waiting.awaiting) == ["worker-1"]
    scene.wait(3)
    restored: list[float] = []
    for _ in range(6):
        scene.run(1)
        restored += scene.replica.desk.restored
    assert (restored, dict(scene.replica.desk.awaiting)) == ([3.0], {})


def test_where_memory_is_off_nobody_waits_for_it() -> None:
    scene = Scene(mode="off")
    scene.add("worker-1")
    decision = scene.page_pass()
    assert (decision.said, dict(scene.replica.desk.awaiting)) == ((), {})


def test_a_clock_that_was_set_back_delays_nothing() -> None:
    scene = Scene()
    scene.add("worker-1", team="blue")
    scene.run(5)
    first = scene.page_pass().requeue_at
    assert first is not None, "a checkpoint is due"
    scene.wait(-3600)
    second = scene.page_pass().requeue_at
    assert second is not None
    assert second <= scene.server.clock.instant + timedelta(seconds=5)


def test_what_fails_again_and_again_keeps_nobody_else_waiting() -> None:
    scene = Scene()
    for number in range(MORE_THAN_AT_ONCE):
        scene.add(f"worker-{number}")
    for _ in range(20):  # until every coming is written down and every shard is taken
        for said in scene.page_pass().said:
            if isinstance(said, CreateObject | PatchObject) and said.subject.kind != "Node":
                write = scene.server.perform(said, "only")
                assert write is not None
                write()
    first = about_nodes(scene.page_pass())
    failed = tuple(Outcome(action=one, result=Result.REFUSED, at=scene.server.clock.instant) for one in first)
    second = {one.subject.name for one in about_nodes(scene.page_pass(failed))}
    others = {f"worker-{number}" for number in range(MORE_THAN_AT_ONCE)} - {one.subject.name for one in first}
    assert others
    assert others <= second


def test_every_node_is_given_its_marker_in_the_end() -> None:
    scene = Scene()
    for number in range(MORE_THAN_AT_ONCE):
        scene.add(f"worker-{number}")
    scene.run(20)
    assert all(MARKER in node["metadata"]["labels"] for node in scene.server.store.all(served_kinds.NODES))
    assert scene.server.store.count(served_kinds.CONFIG_MAPS) == 0
