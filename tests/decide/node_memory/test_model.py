"""For any sequence of labels, deletions, returns, crashes and replays the labels end as the model says."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import timedelta
from functools import partial
from typing import Any, Final, Literal

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from growth.api.actions import Action
from growth.api.node_memory import MARKER
from growth.decide.contract import Decision
from growth_lab.simulator import served_kinds
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.store import Event
from tests.decide.node_memory.model import HOSTNAME, Model
from tests.decide.node_memory.small_cluster import Replica, Server, small_settings
from tests.drawing import examples

NODES: Final = ("steady", "shaky")
# Most of what happens is about one of them: what goes wrong takes many things that happen to the same node.
ABOUT: Final = ("shaky", "shaky", "shaky", "shaky", "steady")
KEYS: Final = ("team", "example.com/rack", HOSTNAME)
REPLICAS: Final = 3
Fate = Literal["done", "first", "late", "lost"]
"""What becomes of what a replica decides: it is carried out; the first of it is, and then it stalls; it is looked at
what it was decided on, and the write comes later; nothing of it ever is."""
Step = tuple[Any, ...]


def steps() -> st.SearchStrategy[list[Step]]:
    """What happens, to whom; often what leads somewhere, seldom what goes wrong."""
    node, replica, key = st.sampled_from(ABOUT), st.integers(0, REPLICAS - 1), st.sampled_from(KEYS)
    brought = st.dictionaries(key, st.just("brought"), max_size=1)
    observed = st.sampled_from([15, 15, 15, 1, 2, 3, 3, 4, 6, 7, 9, 11, 13, 14])
    fate = st.sampled_from(["done", "done", "done", "first", "late", "late", "lost"])
    often: list[tuple[int, st.SearchStrategy[Step]]] = [
        (8, st.tuples(st.just("turn"), replica, observed, fate)),
        (4, st.tuples(st.just("toggle"), node, brought)),
        (3, st.tuples(st.just("label"), node, key)),
        (1, st.tuples(st.just("unlabel"), node, key)),
        (1, st.tuples(st.just("beat"), node)),
        (2, st.tuples(st.just("wait"), st.sampled_from([0.5, 2.0, 6.0]))),
        (1, st.tuples(st.just("everybody"))),
        (1, st.tuples(st.just("crash"), replica)),
        (1, st.tuples(st.just("relist"), replica, st.integers(0, 3))),
        (2, st.tuples(st.just("late"), st.integers(0, 9))),
        (1, st.tuples(st.just("replay"), st.integers(0, 30))),
    ]
    return st.lists(st.one_of([one for weight, one in often for _ in range(weight)]), min_size=30, max_size=90)


@dataclass
class Life:
    """A run."""

    mode: str
    is_held: bool = False
    """Whether nodes have the finalizer."""
    is_crowded: bool = False
    """Whether all replicas believe at once that every shard is theirs: that must do no harm, either."""
    server: Server = field(default_factory=Server)
    late: list[Callable[[], None]] = field(default_factory=list[Callable[[], None]])
    transactions: list[Json] = field(default_factory=list[Json])

    def __post_init__(self) -> None:
        self.settings = small_settings(mode=self.mode, finalizer=self.is_held)
        memory = self.settings.memory
        self.model = Model(self.mode, {"memories": memory.namespace, "transactions": memory.transaction_namespace})
        self.store = self.server.store
        self.store.listen(served_kinds.NODES, self._hear_of_node)
        self.store.listen(served_kinds.CONFIG_MAPS, self._hear_of_config_map)
        self.replicas = [
            Replica(
                self.server, self.settings, "all" if self.is_crowded else f"r{number}", is_alone=not self.is_crowded
            )
            for number in range(REPLICAS)
        ]

    def _hear_of_node(self, event: Event) -> None:
        self.model.hear_of_node(event, is_ours=bool(self.server.writer))

    def _hear_of_config_map(self, event: Event) -> None:
        if event.what == "ADDED" and event.object["metadata"]["namespace"] == "growth-transactions":
            self.transactions.append(event.object)
        self.model.hear_of_config_map(event)

    def step(self, what: str, *about: Any) -> None:  # noqa: ANN401 - each step has its own
        """Let one thing happen, if it can."""
        getattr(self, f"_{what}")(*about)

    def _turn(self, number: int, mask: int, fate: Fate) -> None:
        replica = self.replicas[number]
        for place, stream in enumerate(replica.streams):
            if mask & 1 << place:
                stream.hear()
        assert_nothing_is_stale(replica)
        self._carry_out(replica.decide(), replica.identity, fate)

    def _carry_out(self, actions: list[Action], writer: str, fate: Fate) -> None:
        for number, action in enumerate(actions):
            write = self.server.perform(action, writer) if fate != "lost" else None
            if write is None:
                continue
            if fate == "done" or (fate == "first" and not number):
                write()
            elif fate == "late":
                self.late.append(write)

    def _everybody(self) -> None:
        for number in range(REPLICAS):
            self._turn(number, 15, "done")

    def _node(self, name: str) -> Json | None:
        return self.store.get(served_kinds.NODES, name)

    def _label(self, name: str, key: str) -> None:
        """With a value that no label ever had."""
        if self._node(name) is not None:
            value = f"v{self.store.version}"
            self.store.patch(served_kinds.NODES, name, patch={"metadata": {"labels": {key: value}}})

    def _unlabel(self, name: str, key: str) -> None:
        if self._node(name) is not None:
            self.store.patch(served_kinds.NODES, name, patch={"metadata": {"labels": {key: None}}})

    def _beat(self, name: str) -> None:
        if self._node(name) is not None:
            self.store.patch(served_kinds.NODES, name, patch={"status": {"beat": self.store.version}})

    def _delete(self, name: str) -> None:
        if self._node(name) is not None:
            self.store.delete(served_kinds.NODES, name)

    def _add(self, name: str, labels: dict[str, str]) -> None:
        if self._node(name) is None:
            self.store.create(served_kinds.NODES, {"metadata": {"name": name, "labels": labels}})

    def _toggle(self, name: str, labels: dict[str, str]) -> None:
        """It goes, or comes back with what it brings."""
        if self._node(name) is not None:
            self._delete(name)
        else:
            self._add(name, labels)

    def _wait(self, seconds: float) -> None:
        self.server.clock.instant += timedelta(seconds=seconds)

    def _crash(self, number: int) -> None:
        replica = self.replicas[number]
        self.model.miss(replica.streams[0].version, forgets=True)
        replica.crash()

    def _relist(self, number: int, place: int) -> None:
        stream = self.replicas[number].streams[place]
        if not place:
            self.model.miss(stream.version, forgets=False)
        stream.relist()

    def _late(self, number: int) -> None:
        if self.late:
            self.late.pop(number % len(self.late))()

    def _replay(self, number: int) -> None:
        if self.transactions:
            again = self.transactions[number % len(self.transactions)]
            meta = {key: again["metadata"][key] for key in ("name", "namespace")}
            if self.store.get(served_kinds.CONFIG_MAPS, meta["name"], meta["namespace"]) is None:
                self.store.create(served_kinds.CONFIG_MAPS, {"metadata": meta, "data": again["data"]})

    # The end

    def settle(self) -> None:
        """Nothing more happens: in time everything is dealt with, and then nobody writes anything."""
        for _ in range(60):
            self._wait(1)
            version = self.store.version
            self._everybody()
            if self.store.version == version and self._is_quiet():
                return
        raise AssertionError(f"it never ends: {self._untidy()}")

    def _is_quiet(self) -> bool:
        looks = [
            page_pass for one in self.replicas for looks in one.desk.shards.values() for page_pass in looks.values()
        ]
        return not self._untidy() and not any(look.due or look.works or look.records for look in looks)

    def _untidy(self) -> list[str]:
        transactions = self.store.all(served_kinds.CONFIG_MAPS, self.settings.memory.transaction_namespace)
        nodes = [
            one for one in self.store.all(served_kinds.NODES) if MARKER not in (one["metadata"].get("labels") or {})
        ]
        return [one["metadata"]["name"] for one in (*transactions, *nodes)]

    def end(self) -> None:
        """Faults stop. Then every node goes once more, and comes back with nothing."""
        for write in self.late:
            write()
        self.settle()
        for name in NODES:
            self._delete(name)
        self.settle()
        restored = self.model.restored
        for name in NODES:
            self._add(name, {})
        self.settle()
        assert self.model.restored == restored + len(NODES)


def assert_nothing_is_stale(replica: Replica) -> None:
    """Who looks only at what changed says the same as who looks at everything."""
    quick, thorough = replica.page_pass(), replica.page_pass(msgspec.structs.replace(replica.desk, journal=0))
    assert _shown(quick) == _shown(thorough)
    assert quick.requeue_at == thorough.requeue_at


def _shown(decision: Decision[Any]) -> list[Any]:
    """What is said, but for instants, and but for the version of a checkpoint: its content is the same."""
    said: list[Any] = msgspec.to_builtins(decision.said)
    for one in said:
        data: dict[str, Any] = one.get("body", {}).get("data", {})
        for key in data.keys() & {"memory", "checkpoint", "memento"}:
            if data[key] is not None:
                memento = msgspec.json.decode(data[key])
                data[key] = {**memento, "at": "", "version": memento["version"] if key != "checkpoint" else 0}
    return sorted(said, key=str)


def live(mode: str, program: list[Step], *, is_held: bool = False, is_crowded: bool = False) -> None:
    life = Life(mode, is_held, is_crowded)
    for name in NODES:
        life.step("add", name, {"team": name})
    for _ in range(3):
        life.step("everybody")
    for what, *about in program:
        life.step(what, *about)
    life.end()


@st.composite
def lives(draw: st.DrawFn) -> Callable[[], None]:
    """Any life of a small cluster."""
    mode, program = draw(st.sampled_from(["merge", "replace"])), draw(steps())
    is_held, is_crowded = draw(st.booleans()), draw(st.booleans())
    return partial(live, mode, program, is_held=is_held, is_crowded=is_crowded)


@settings(max_examples=examples(30), deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_the_labels_end_as_the_model_says(life: Callable[[], None]) -> None:
    life()


@pytest.mark.long
@settings(max_examples=500, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(lives())
def test_the_labels_of_many_lives_end_as_the_model_says(life: Callable[[], None]) -> None:
    life()
