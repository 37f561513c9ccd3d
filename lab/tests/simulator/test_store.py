"""The store: versions, history, finalizers, and who hears what in which order."""

import random
from collections.abc import Callable, Coroutine
from typing import Any

import pytest

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.served_kinds import CONFIG_MAPS, NODES, PODS
from growth_lab.simulator.store import HISTORY, Event, Exists, Missing, Store, TooOld
from growth_lab.simulator.virtual_loop import run_virtually


def on_a_store(test: Callable[[Store], Coroutine[Any, Any, None]]) -> None:
    async def play() -> None:
        await test(Store(Clock(), random.Random(1)))  # noqa: S311 - a seed

    run_virtually(play())


def a_thing(name: str = "one", **fields: Any) -> dict[str, Any]:  # noqa: ANN401
    return {"metadata": {"name": name, **fields.pop("metadata", {})}, **fields}


def test_every_write_has_a_version_of_its_own_and_old_states_stay_as_they_were() -> None:
    async def play(store: Store) -> None:
        first = store.create(NODES, a_thing(spec={"a": 1}))
        second = store.patch(NODES, "one", patch={"spec": {"b": 2}})
        assert (first["spec"], second["spec"]) == ({"a": 1}, {"a": 1, "b": 2})
        versions = [int(thing["metadata"]["resourceVersion"]) for thing in (first, second)]
        assert versions == [store.version - 1, store.version]
        assert (first["metadata"]["generation"], second["metadata"]["generation"]) == (1, 2)

    on_a_store(play)


def test_a_patch_that_changes_nothing_is_no_write() -> None:
    async def play(store: Store) -> None:
        thing = store.create(NODES, a_thing(spec={"a": 1}))
        assert store.patch(NODES, "one", patch={"spec": {"a": 1, "b": None}}) is thing

    on_a_store(play)


def test_names_must_be_new_and_objects_must_be_there() -> None:
    async def play(store: Store) -> None:
        store.create(CONFIG_MAPS, a_thing(metadata={"namespace": "a"}))
        store.create(CONFIG_MAPS, a_thing(metadata={"namespace": "b"}))
        with pytest.raises(Exists, match='configmaps "one" already exists'):
            store.create(CONFIG_MAPS, a_thing(metadata={"namespace": "a"}))
        with pytest.raises(Missing, match='nodes "one" not found'):
            store.delete(NODES, "one")
        assert [thing["metadata"]["namespace"] for thing in store.all(CONFIG_MAPS, "b")] == ["b"]

    on_a_store(play)


def test_an_object_with_a_finalizer_goes_with_its_last_finalizer() -> None:
    async def play(store: Store) -> None:
        store.create(NODES, a_thing(metadata={"finalizers": ["growth.dev/machines"]}))
        marked = store.delete(NODES, "one")
        assert "deletionTimestamp" in marked["metadata"]
        store.patch(NODES, "one", patch={"metadata": {"finalizers": None}})
        assert store.get(NODES, "one") is None

    on_a_store(play)


def test_a_pod_with_time_goes_when_it_is_deleted_without_any() -> None:
    async def play(store: Store) -> None:
        store.create(PODS, a_thing(metadata={"namespace": "default"}))
        store.delete(PODS, "one", "default", grace_seconds=30)
        store.patch(PODS, "one", "default", {"status": {"phase": "Running"}})
        shown = store.delete(PODS, "one", "default", grace_seconds=60)
        assert shown["metadata"]["deletionGracePeriodSeconds"] == 30
        store.delete(PODS, "one", "default")
        assert store.get(PODS, "one", "default") is None

    on_a_store(play)


def test_what_a_listener_writes_is_told_after_what_made_it_write() -> None:
    async def play(store: Store) -> None:
        heard: list[tuple[str, str]] = []

        def answer(event: Event) -> None:
            if event.what == "ADDED":
                store.patch(NODES, "one", patch={"spec": {"seen": True}})

        store.listen(NODES, answer)
        stop = store.listen(NODES, lambda event: heard.append((event.what, event.object["metadata"]["name"])))
        store.create(NODES, a_thing())
        assert heard == [("ADDED", "one"), ("MODIFIED", "one")]
        stop()
        store.delete(NODES, "one")
        assert len(heard) == 2

    on_a_store(play)


def test_history_reaches_back_so_far_and_says_so_when_it_does_not() -> None:
    async def play(store: Store) -> None:
        store.create(NODES, a_thing())
        begin = store.version
        for number in range(HISTORY):
            store.patch(NODES, "one", patch={"spec": {"number": number}})
        assert len(store.since(NODES, begin)) == HISTORY
        store.patch(NODES, "one", patch={"spec": {"number": "more"}})
        with pytest.raises(TooOld):
            store.since(NODES, begin)
        assert [event.object["spec"]["number"] for event in store.since(NODES, store.version - 1)] == ["more"]
        store.compact()
        with pytest.raises(TooOld):
            store.since(NODES, store.version - 1)
        assert store.since(NODES, store.version) == []

    on_a_store(play)


def test_the_seed_decides_uids_and_generated_names() -> None:
    made: list[tuple[str, str]] = []

    async def play(store: Store) -> None:
        meta = store.create(PODS, {"metadata": {"generateName": "web-", "namespace": "default"}})["metadata"]
        made.append((meta["uid"], meta["name"]))

    on_a_store(play)
    on_a_store(play)
    assert made[0] == made[1]
    assert made[0][1].startswith("web-")
    assert len(made[0][0]) == 36


def test_a_name_that_somebody_has_is_drawn_again() -> None:
    """As the API server does: two of thousands of pods may be drawn the same letters."""

    class Stubborn(random.Random):
        drawn = 0

        def choices(self, *_: Any, **__: Any) -> list[str]:  # noqa: ANN401
            self.drawn += 1
            return list("aaaaa" if self.drawn < 3 else "bbbbb")

    async def play() -> None:
        store = Store(Clock(), Stubborn(1))
        made = [store.create(PODS, {"metadata": {"generateName": "web-"}})["metadata"]["name"] for _ in range(2)]
        assert made == ["web-aaaaa", "web-bbbbb"]

    run_virtually(play())
