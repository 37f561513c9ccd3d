"""Deployments: versions, rolling updates within their bounds, and status."""

from typing import Any

import pytest

from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import DEPLOYMENTS, PODS, REPLICA_SETS
from growth_lab.simulator.workloads import Workloads
from growth_lab.simulator.workloads.pod_state import state_of
from growth_lab.simulator.workloads.rollout import Bounds, bounds_of
from lab.tests.simulator.rehearsal import Hands, Rehearsal, a_template, a_workload, rehearse

NEW = {"template": {"spec": {"containers": [{"name": "app", "image": "shop/app:2"}]}}}


def start(scene: Rehearsal, **spec: Any) -> Json:  # noqa: ANN401
    Workloads(scene.clock, scene.store, scene.timings)
    Hands(scene)
    wanted: Json = {"replicas": 4, **spec}
    return scene.store.create(DEPLOYMENTS, a_workload(**wanted))


def sizes(scene: Rehearsal) -> list[int]:
    return [known["spec"]["replicas"] for known in scene.store.all(REPLICA_SETS)]


def change(scene: Rehearsal, **spec: Any) -> None:  # noqa: ANN401
    scene.store.patch(DEPLOYMENTS, "web", "default", {"spec": spec})


def test_one_replica_set_per_template_named_by_its_hash() -> None:
    async def play(scene: Rehearsal) -> None:
        owner = start(scene)
        await scene.wait(3)
        (known,) = scene.store.all(REPLICA_SETS)
        label = known["metadata"]["labels"]["pod-template-hash"]
        assert known["metadata"]["name"] == f"web-{label}"
        assert known["spec"]["selector"]["matchLabels"] == {"app": "web", "pod-template-hash": label}
        assert known["metadata"]["ownerReferences"][0]["uid"] == owner["metadata"]["uid"]
        assert known["metadata"]["annotations"] == {
            "deployment.kubernetes.io/revision": "1",
            "deployment.kubernetes.io/desired-replicas": "4",
            "deployment.kubernetes.io/max-replicas": "5",
        }
        assert len(scene.pods(app="web", **{"pod-template-hash": label})) == 4

    rehearse(play)


def test_the_status_says_when_it_is_available_and_done() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait(0.09)
        early = scene.status(DEPLOYMENTS, "web")
        assert early["unavailableReplicas"] == 4
        assert {c["type"]: (c["status"], c["reason"]) for c in early["conditions"]} == {
            "Available": ("False", "MinimumReplicasUnavailable"),
            "Progressing": ("True", "ReplicaSetUpdated"),
        }
        await scene.wait(3)
        late = scene.status(DEPLOYMENTS, "web")
        counts = ("replicas", "readyReplicas", "availableReplicas", "updatedReplicas", "observedGeneration")
        assert [late[count] for count in counts] == [4, 4, 4, 4, 1]
        assert [c["reason"] for c in late["conditions"]] == ["MinimumReplicasAvailable", "NewReplicaSetAvailable"]
        deployment = scene.store.get(DEPLOYMENTS, "web", "default")
        assert deployment is not None
        assert deployment["metadata"]["annotations"] == {"deployment.kubernetes.io/revision": "1"}

    rehearse(play)


def test_scaling_reaches_the_pods() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait(3)
        change(scene, replicas=7)
        await scene.wait(3)
        assert len(scene.pods()) == 7
        change(scene, replicas=2)
        await scene.wait(3)
        assert len(scene.pods()) == 2
        assert scene.status(DEPLOYMENTS, "web")["replicas"] == 2

    rehearse(play)


def test_a_rolling_update_never_leaves_its_bounds() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, replicas=8)
        await scene.wait(3)
        seen: list[tuple[int, int]] = []

        def note(_: object) -> None:
            active = [pod for pod in scene.pods() if state_of(pod).is_active]
            seen.append((len(active), sum(state_of(pod).is_ready for pod in active)))

        scene.store.listen(PODS, note)
        change(scene, **NEW)
        await scene.wait(60)
        assert max(count for count, _ in seen) <= 8 + 2
        assert min(ready for _, ready in seen) >= 8 - 2
        assert sizes(scene) == [0, 8]
        images = [pod["spec"]["containers"][0]["image"] for pod in scene.pods()]
        assert images == ["shop/app:2"] * 8

    rehearse(play)


def test_an_update_whose_pods_never_get_ready_stops_at_the_bounds() -> None:
    async def play(scene: Rehearsal) -> None:
        Workloads(scene.clock, scene.store, scene.timings)
        scene.store.create(DEPLOYMENTS, a_workload(replicas=8))
        await scene.wait()
        scene.run_all()
        await scene.wait()
        change(scene, **NEW)
        await scene.wait(60)
        assert sizes(scene) == [6, 4]
        assert scene.status(DEPLOYMENTS, "web")["availableReplicas"] == 6

    rehearse(play)


def test_going_back_uses_the_old_replica_set_again() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, template=a_template())
        await scene.wait(3)
        change(scene, **NEW)
        await scene.wait(60)
        change(scene, template=a_template())
        await scene.wait(60)
        assert sizes(scene) == [4, 0]
        revisions = [
            part(known, "metadata", "annotations")["deployment.kubernetes.io/revision"]
            for known in scene.store.all(REPLICA_SETS)
        ]
        assert revisions == ["3", "2"]

    rehearse(play)


def test_recreate_waits_until_the_old_pods_are_gone() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, strategy={"type": "Recreate"})
        await scene.wait(3)
        most: list[int] = []
        change(scene, **NEW)
        scene.store.listen(
            PODS, lambda _: most.append(len({p["spec"]["containers"][0]["image"] for p in scene.pods()}))
        )
        await scene.wait(10)
        assert max(most) == 1
        assert sizes(scene) == [0, 4]

    rehearse(play)


def test_a_paused_deployment_is_scaled_but_not_updated() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait(3)
        change(scene, paused=True, replicas=6)
        await scene.wait(3)
        assert sizes(scene) == [6]
        change(scene, **NEW)
        await scene.wait(3)
        assert sizes(scene) == [6]

    rehearse(play)


def test_old_versions_are_forgotten_beyond_the_limit() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene, revisionHistoryLimit=1)
        for version in range(5):
            await scene.wait(60)
            change(scene, template=a_template(terminationGracePeriodSeconds=version))
        await scene.wait(60)
        assert sizes(scene) == [0, 4]

    rehearse(play)


@pytest.mark.parametrize(
    ("spec", "bounds"),
    [
        ({"replicas": 10}, Bounds(3, 2)),
        ({"replicas": 1}, Bounds(1, 0)),
        ({"replicas": 5, "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "10%"}}}, Bounds(0, 1)),
        ({"replicas": 3, "strategy": {"rollingUpdate": {"maxSurge": 2, "maxUnavailable": 5}}}, Bounds(2, 3)),
    ],
    ids=[
        "surge is rounded up, unavailable down",
        "a single pod is never missing",
        "both zero would never move, so one may be missing",
        "no more can be missing than there are",
    ],
)
def test_bounds(spec: Json, bounds: Bounds) -> None:
    assert bounds_of(spec) == bounds


def test_a_default_that_is_written_out_is_no_new_version() -> None:
    async def play(scene: Rehearsal) -> None:
        start(scene)
        await scene.wait(3)
        change(scene, template=a_template(restartPolicy="Always", terminationGracePeriodSeconds=30))
        await scene.wait(3)
        assert sizes(scene) == [4]

    rehearse(play)
