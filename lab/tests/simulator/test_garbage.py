"""The garbage collector: who goes with whom, when, and who stays."""

from collections.abc import Sequence

from growth_lab.simulator.garbage import Garbage
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CONFIG_MAPS, DEPLOYMENTS, JOBS, PODS, REPLICA_SETS, Resource
from growth_lab.simulator.workloads import Workloads
from growth_lab.simulator.workloads.pod_from_template import controller_reference
from lab.tests.simulator.rehearsal import Rehearsal, a_workload, rehearse


def a_thing(scene: Rehearsal, name: str, owners: Sequence[Json] = ()) -> Json:
    meta = {"name": name, "namespace": "default", "ownerReferences": list(owners)}
    return scene.store.create(CONFIG_MAPS, {"metadata": meta})


def owned_by(owner: Json, *, blocks: bool = True) -> Json:
    return {**controller_reference(owner, CONFIG_MAPS), "blockOwnerDeletion": blocks}


def things(scene: Rehearsal) -> list[str]:
    return [thing["metadata"]["name"] for thing in scene.store.all(CONFIG_MAPS)]


def delete(scene: Rehearsal, name: str, finalizer: str = "", resource: Resource = CONFIG_MAPS) -> None:
    """As the API server does for a propagation policy."""
    if finalizer:
        scene.store.patch(resource, name, "default", {"metadata": {"finalizers": [finalizer]}})
    scene.store.delete(resource, name, "default")


def test_dependents_go_in_the_background_a_moment_later() -> None:
    async def play(scene: Rehearsal) -> None:
        Garbage(scene.clock, scene.store, scene.timings)
        owner = a_thing(scene, "owner")
        child = a_thing(scene, "child", [owned_by(owner)])
        a_thing(scene, "grandchild", [owned_by(child)])
        a_thing(scene, "stranger")
        delete(scene, "owner")
        assert things(scene) == ["child", "grandchild", "stranger"]
        await scene.wait()
        assert things(scene) == ["stranger"]

    rehearse(play)


def test_who_has_another_owner_stays_and_forgets_the_lost_one() -> None:
    async def play(scene: Rehearsal) -> None:
        Garbage(scene.clock, scene.store, scene.timings)
        lost, kept = a_thing(scene, "lost"), a_thing(scene, "kept")
        a_thing(scene, "child", [owned_by(lost), owned_by(kept)])
        delete(scene, "lost")
        await scene.wait()
        child = scene.store.get(CONFIG_MAPS, "child", "default")
        assert child is not None
        assert [owner["name"] for owner in child["metadata"]["ownerReferences"]] == ["kept"]

    rehearse(play)


def test_who_is_born_after_its_owner_died_goes_too() -> None:
    async def play(scene: Rehearsal) -> None:
        owner = a_thing(scene, "owner")
        delete(scene, "owner")
        a_thing(scene, "older", [owned_by(owner)])
        Garbage(scene.clock, scene.store, scene.timings)
        a_thing(scene, "younger", [owned_by(owner)])
        a_thing(scene, "owner")  # the same name is not the same owner
        await scene.wait()
        assert things(scene) == ["owner"]

    rehearse(play)


def test_an_owner_of_an_unknown_kind_is_never_called_gone() -> None:
    async def play(scene: Rehearsal) -> None:
        Garbage(scene.clock, scene.store, scene.timings)
        foreign = {"apiVersion": "example.org/v1", "kind": "Thing", "name": "x", "uid": "1"}
        a_thing(scene, "child", [foreign])
        await scene.wait()
        assert things(scene) == ["child"]

    rehearse(play)


def test_orphans_stay_and_name_no_owner() -> None:
    async def play(scene: Rehearsal) -> None:
        Garbage(scene.clock, scene.store, scene.timings)
        owner = a_thing(scene, "owner")
        a_thing(scene, "child", [owned_by(owner)])
        delete(scene, "owner", "orphan")
        await scene.wait()
        child = scene.store.get(CONFIG_MAPS, "child", "default")
        assert things(scene) == ["child"]
        assert child is not None
        assert "ownerReferences" not in child["metadata"]

    rehearse(play)


def test_in_the_foreground_the_owner_goes_last() -> None:
    async def play(scene: Rehearsal) -> None:
        Garbage(scene.clock, scene.store, scene.timings)
        owner = a_thing(scene, "owner")
        child = a_thing(scene, "child", [owned_by(owner)])
        a_thing(scene, "grandchild", [owned_by(child)])
        order: list[str] = []
        scene.store.listen(CONFIG_MAPS, lambda event: order.append(event.key[1]) if event.what == "DELETED" else None)
        delete(scene, "owner", "foregroundDeletion")
        await scene.wait()
        assert order == ["grandchild", "child", "owner"]

    rehearse(play)


def test_only_dependents_that_block_are_waited_for() -> None:
    async def play(scene: Rehearsal) -> None:
        Garbage(scene.clock, scene.store, scene.timings)
        owner = a_thing(scene, "owner")
        for name, blocks in (("blocking", True), ("easy", False)):
            a_thing(scene, name, [owned_by(owner, blocks=blocks)])
            scene.store.patch(CONFIG_MAPS, name, "default", {"metadata": {"finalizers": ["example.org/hold"]}})
        delete(scene, "owner", "foregroundDeletion")
        await scene.wait()
        assert things(scene) == ["owner", "blocking", "easy"]
        scene.store.patch(CONFIG_MAPS, "blocking", "default", {"metadata": {"finalizers": None}})
        await scene.wait()
        assert things(scene) == ["easy"]

    rehearse(play)


def test_a_deployment_takes_its_pods_along_with_their_grace() -> None:
    async def play(scene: Rehearsal) -> None:
        Workloads(scene.clock, scene.store, scene.timings)
        Garbage(scene.clock, scene.store, scene.timings)
        scene.store.create(DEPLOYMENTS, a_workload(replicas=2))
        await scene.wait()
        running = scene.run(scene.pods()[0])
        scene.store.delete(DEPLOYMENTS, "web", "default")
        await scene.wait()
        assert list(scene.store.all(REPLICA_SETS)) == []
        (left,) = scene.store.all(PODS)
        assert left["metadata"]["uid"] == running["metadata"]["uid"]
        assert left["metadata"]["deletionGracePeriodSeconds"] == 30

    rehearse(play)


def test_an_orphaned_replica_set_goes_on_working() -> None:
    async def play(scene: Rehearsal) -> None:
        Workloads(scene.clock, scene.store, scene.timings)
        Garbage(scene.clock, scene.store, scene.timings)
        scene.store.create(DEPLOYMENTS, a_workload(replicas=2))
        await scene.wait()
        delete(scene, "web", "orphan", DEPLOYMENTS)
        await scene.wait()
        scene.delete(scene.pods()[0])
        await scene.wait()
        assert len(scene.pods()) == 2
        assert list(scene.store.all(DEPLOYMENTS)) == []

    rehearse(play)


def test_a_finished_job_that_is_to_be_forgotten_goes_with_its_pods() -> None:
    async def play(scene: Rehearsal) -> None:
        Workloads(scene.clock, scene.store, scene.timings)
        Garbage(scene.clock, scene.store, scene.timings)
        spec = {"completions": 1, "ttlSecondsAfterFinished": 10, "template": a_workload()["spec"]["template"]}
        scene.store.create(JOBS, {"metadata": {"name": "batch", "namespace": "default"}, "spec": spec})
        await scene.wait()
        scene.set_phase(scene.pods()[0], "Succeeded")
        await scene.wait(20)
        assert list(scene.store.all(JOBS)) == scene.pods() == []

    rehearse(play)
