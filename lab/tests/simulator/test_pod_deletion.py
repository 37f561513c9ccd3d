"""Deleting pods: how long they are given, and what a second deletion can change."""

import random
from typing import Any

import pytest

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.virtual_loop import run_virtually


def a_pod(phase: str = "Running", **spec: object) -> dict[str, Any]:
    meta = {"name": "web", "namespace": "default"}
    return {"metadata": meta, "spec": {"nodeName": "node", **spec}, "status": {"phase": phase}}


@pytest.mark.parametrize(
    ("pod", "wish", "given"),
    [
        (a_pod(), None, 30),
        (a_pod(terminationGracePeriodSeconds=5), None, 5),
        (a_pod(terminationGracePeriodSeconds=5), 60, 60),
        (a_pod(), -1, 1),
        (a_pod(), 0, None),
        (a_pod(terminationGracePeriodSeconds=0), None, None),
        (a_pod(nodeName=""), 60, None),
        (a_pod("Succeeded"), 60, None),
        (a_pod("Failed"), None, None),
    ],
    ids=["default", "its own", "a wish", "less than none", "none", "its own none", "no node", "succeeded", "failed"],
)
def test_a_pod_is_given_time_if_somebody_could_use_it(pod: dict[str, Any], wish: int | None, given: int | None) -> None:
    async def play() -> None:
        store = Store(Clock(), random.Random(1))  # noqa: S311 - a seed
        delete_pod(store, store.create(PODS, pod), wish)
        left = store.get(PODS, "web", "default")
        assert (left and left["metadata"]["deletionGracePeriodSeconds"]) == given

    run_virtually(play())


@pytest.mark.parametrize(("wish", "left"), [(None, 30), (60, 30), (7, 7), (0, None)])
def test_a_pod_on_its_way_out_can_only_be_hurried(wish: int | None, left: int | None) -> None:
    async def play() -> None:
        store = Store(Clock(), random.Random(1))  # noqa: S311 - a seed
        pod = store.create(PODS, a_pod())
        delete_pod(store, pod)
        store.patch(PODS, "web", "default", {"status": {"phase": "Succeeded"}})
        delete_pod(store, pod, wish)
        shown = store.get(PODS, "web", "default")
        assert (shown and shown["metadata"]["deletionGracePeriodSeconds"]) == left

    run_virtually(play())


def test_a_pod_is_never_mistaken_for_another_one_of_its_name() -> None:
    async def play() -> None:
        store = Store(Clock(), random.Random(1))  # noqa: S311 - a seed
        first = store.create(PODS, a_pod())
        delete_pod(store, first, 0)
        second = store.create(PODS, a_pod())
        assert delete_pod(store, first, 0) is first
        assert store.get(PODS, "web", "default") is second

    run_virtually(play())


@pytest.mark.parametrize(
    ("pod", "wish"),
    [(a_pod(), 0), (a_pod("Failed"), None), (a_pod("Pending", nodeName=""), None)],
    ids=["without time", "ended", "no node"],
)
def test_a_pod_that_goes_at_once_is_told_in_two_steps(pod: dict[str, Any], wish: int | None) -> None:
    """Found by comparing stories: a real watch tells that it is leaving, then that it is gone."""

    async def play() -> None:
        store = Store(Clock(), random.Random(1))  # noqa: S311 - a seed
        made = store.create(PODS, pod)
        begin = store.version
        delete_pod(store, made, wish)
        told = [(event.what, "deletionTimestamp" in event.object["metadata"]) for event in store.since(PODS, begin)]
        assert told == [("MODIFIED", True), ("DELETED", True)]

    run_virtually(play())
