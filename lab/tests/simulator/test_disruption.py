"""Disruption budgets: what may go, for every way to write a budget and every owner of pods."""

from typing import Any

import pytest

from growth_lab.simulator.disruption import Budgets
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import BUDGETS, DEPLOYMENTS, JOBS, PODS, STATEFUL_SETS
from growth_lab.simulator.workloads import Workloads
from lab.tests.simulator.rehearsal import Rehearsal, a_workload, rehearse


def a_budget(name: str = "web", **spec: Any) -> Json:  # noqa: ANN401
    selector = {"matchLabels": {"app": "web"}}
    return {"metadata": {"name": name, "namespace": "default"}, "spec": {"selector": selector, **spec}}


async def start(scene: Rehearsal, replicas: int = 4, **spec: Any) -> None:  # noqa: ANN401
    """A Deployment with all pods ready, and a budget."""
    Workloads(scene.clock, scene.store, scene.timings)
    Budgets(scene.clock, scene.store, scene.timings)
    scene.store.create(DEPLOYMENTS, a_workload(replicas=replicas))
    scene.store.create(BUDGETS, a_budget(**spec))
    await scene.wait()
    scene.run_all()
    await scene.wait()


def figures(scene: Rehearsal, name: str = "web") -> list[int]:
    status = scene.status(BUDGETS, name)
    return [status[field] for field in ("expectedPods", "currentHealthy", "desiredHealthy", "disruptionsAllowed")]


def reason(scene: Rehearsal) -> tuple[str, str, str]:
    (condition,) = scene.status(BUDGETS, "web")["conditions"]
    return condition["status"], condition["reason"], condition["message"]


@pytest.mark.parametrize(
    ("spec", "wanted"),
    [
        ({"minAvailable": 3}, [4, 4, 3, 1]),
        ({"minAvailable": "60%"}, [4, 4, 3, 1]),
        ({"minAvailable": "100%"}, [4, 4, 4, 0]),
        ({"maxUnavailable": 1}, [4, 4, 3, 1]),
        ({"maxUnavailable": "30%"}, [4, 4, 2, 2]),
        ({"maxUnavailable": 9}, [4, 4, 0, 4]),
        ({}, [4, 4, 0, 4]),
    ],
    ids=[
        "a number that must stay",
        "a share that must stay is rounded up",
        "all must stay",
        "a number that may go",
        "a share that may go is rounded up",
        "no fewer than none must stay",
        "a budget that asks for nothing",
    ],
)
def test_what_may_go(spec: Json, wanted: list[int]) -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, **spec)
        assert figures(scene) == wanted
        is_allowed = wanted[-1] > 0
        assert reason(scene) == (str(is_allowed), "SufficientPods" if is_allowed else "InsufficientPods", "")

    rehearse(play)


def test_pods_that_are_not_ready_or_leave_do_not_count() -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, maxUnavailable=2)
        scene.set_phase(scene.pods()[0], "Running", ready=False)
        await scene.wait()
        assert figures(scene) == [4, 3, 2, 1]
        scene.delete(scene.pods()[1])
        await scene.wait()
        assert figures(scene) == [4, 2, 2, 0]

    rehearse(play)


def test_an_eviction_is_believed_for_two_minutes() -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, maxUnavailable=1)
        name = scene.names()[0]
        evicted = {"disruptionsAllowed": 0, "disruptedPods": {name: scene.clock.stamp()}}
        scene.store.patch(BUDGETS, "web", "default", {"status": evicted})
        await scene.wait(100)
        assert figures(scene) == [4, 3, 3, 0]
        await scene.wait(30)
        assert figures(scene) == [4, 4, 3, 1]
        assert "disruptedPods" not in scene.status(BUDGETS, "web")

    rehearse(play)


def test_an_eviction_that_shows_is_forgotten() -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, maxUnavailable=2)
        first, second, *_ = scene.pods()
        stamps = {pod["metadata"]["name"]: scene.clock.stamp() for pod in (first, second)}
        scene.store.patch(BUDGETS, "web", "default", {"status": {"disruptedPods": stamps}})
        scene.delete(first)
        await scene.wait()
        assert list(scene.status(BUDGETS, "web")["disruptedPods"]) == [second["metadata"]["name"]]

    rehearse(play)


def test_owners_that_have_no_size_cannot_be_counted() -> None:
    """Seen on Kubernetes 1.36."""

    async def play(scene: Rehearsal) -> None:
        Workloads(scene.clock, scene.store, scene.timings)
        Budgets(scene.clock, scene.store, scene.timings)
        template = a_workload()["spec"]["template"]
        scene.store.create(JOBS, {"metadata": {"name": "web", "namespace": "default"}, "spec": {"template": template}})
        scene.store.create(BUDGETS, a_budget(maxUnavailable=1))
        await scene.wait()
        assert reason(scene) == ("False", "SyncFailed", "jobs.batch does not implement the scale subresource")
        assert figures(scene) == [0, 0, 0, 0]

    rehearse(play)


def test_pods_whose_owner_is_gone_cannot_be_counted() -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, maxUnavailable=1)
        scene.store.delete(DEPLOYMENTS, "web", "default")
        name = scene.names()[0]
        scene.set_phase(scene.pod(name), "Running", ready=False)
        await scene.wait()
        assert reason(scene) == ("False", "SyncFailed", f'found no controllers for pod "{name}"')

    rehearse(play)


def test_sizes_of_several_owners_are_added() -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, maxUnavailable="50%")
        template = a_workload("web")["spec"]["template"]
        scene.store.create(STATEFUL_SETS, a_workload("db", template, replicas=2, podManagementPolicy="Parallel"))
        await scene.wait()
        assert figures(scene) == [6, 4, 3, 1]

    rehearse(play)


def test_pods_without_owner_count_only_where_a_number_must_stay() -> None:
    async def play(scene: Rehearsal) -> None:
        Budgets(scene.clock, scene.store, scene.timings)
        scene.store.create(BUDGETS, a_budget("number", minAvailable=1))
        scene.store.create(BUDGETS, a_budget("missing", maxUnavailable=1))
        meta = {"name": "bare", "namespace": "default", "labels": {"app": "web"}}
        scene.run(scene.store.create(PODS, {"metadata": meta, "spec": {}}))
        await scene.wait()
        assert figures(scene, "number") == [1, 1, 1, 0]
        assert figures(scene, "missing") == [0, 1, 0, 0]

    rehearse(play)


def test_labels_and_selectors_may_change() -> None:
    async def play(scene: Rehearsal) -> None:
        await start(scene, minAvailable=1)
        everybody = {"matchLabels": None, "matchExpressions": [{"key": "app", "operator": "Exists"}]}
        scene.store.patch(BUDGETS, "web", "default", {"spec": {"selector": everybody}})
        await scene.wait()
        assert figures(scene) == [4, 4, 1, 3]
        scene.store.patch(PODS, scene.names()[0], "default", {"metadata": {"labels": {"app": None}}})
        await scene.wait()
        assert figures(scene) == [3, 3, 1, 2]
        scene.store.patch(BUDGETS, "web", "default", {"spec": {"selector": None}})
        await scene.wait()
        assert figures(scene) == [0, 0, 1, 0]

    rehearse(play)
