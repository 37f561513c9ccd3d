"""What else an action was decided on is looked at before it is sent; and what is there already may do."""

import pytest

from growth.act.action_runner import carry_out
from growth.api.actions import CreateObject, PatchObject, Precondition, Result
from growth.api.core import ObjectReference
from growth.api.kinds import NODES
from growth.api.node_memory import MEMORIES
from growth.api.references import reference_by_name
from growth.kube.errors import Forbidden, KubeError, ServerTrouble, Unreachable
from growth.kube.transport import Method, Request
from tests.act.workshop import Workshop
from tests.kube.replica import virtual

MEMORY = reference_by_name(MEMORIES, "worker-1", "growth-memory")
MEMORY_PATH = MEMORIES.path("worker-1", "growth-memory")
NODE_PATH = NODES.path("worker-1")


def a_memory(workshop: Workshop, text: str = "first") -> int:
    """Put one there; its version."""
    meta = {"name": "worker-1", "namespace": "growth-memory"}
    made = workshop.api.put(MEMORY_PATH, {"kind": "ConfigMap", "metadata": meta, "data": {"memory": text}})
    return int(made["metadata"]["resourceVersion"])


def a_restore(workshop: Workshop, *given: Precondition) -> PatchObject:
    made = workshop.api.put(NODE_PATH, {"kind": "Node", "metadata": {"name": "worker-1"}})
    subject = ObjectReference("Node", "worker-1", "", made["metadata"]["uid"], "v1")
    version = int(made["metadata"]["resourceVersion"])
    body = {"metadata": {"labels": {"team": "blue"}}}
    return PatchObject(subject=subject, why="it left", body=body, resource_version=version, given=given)


def labels(workshop: Workshop) -> dict[str, str]:
    return workshop.api.objects[NODE_PATH]["metadata"].get("labels", {})


@virtual
async def test_what_is_as_it_was_seen_is_in_nobodys_way() -> None:
    workshop = Workshop()
    absent = reference_by_name(MEMORIES, "worker-2", "growth-memory")
    action = a_restore(workshop, Precondition(MEMORY, a_memory(workshop)), Precondition(absent, None))
    assert (await carry_out(action, workshop.doors)).result is Result.DONE
    assert labels(workshop) == {"team": "blue"}


@pytest.mark.parametrize("seen", ["another version", "gone", "there"])
def test_what_has_changed_since_makes_it_stale_and_nothing_is_sent(seen: str) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        version = a_memory(workshop) if seen != "gone" else 7
        if seen == "another version":
            a_memory(workshop, "second")
        action = a_restore(workshop, Precondition(MEMORY, None if seen == "there" else version))
        outcome = await carry_out(action, workshop.doors)
        assert outcome.result is Result.STALE
        assert "growth-memory/worker-1 has changed since this was decided" in outcome.message
        assert labels(workshop) == {}
        assert workshop.passed == []

    story()


@pytest.mark.parametrize(
    ("error", "result"),
    [
        (Unreachable("no route", sent=False), Result.FAILED),
        (ServerTrouble("busy", status=503, reason=""), Result.FAILED),
        (Forbidden("not yours", status=403, reason="Forbidden"), Result.REFUSED),
    ],
)
def test_who_cannot_look_does_not_write(error: KubeError, result: Result) -> None:
    @virtual
    async def story() -> None:
        workshop = Workshop()
        action = a_restore(workshop, Precondition(MEMORY, a_memory(workshop)))

        async def fail(request: Request) -> None:
            if request.method is Method.GET:
                raise error

        workshop.send.before = fail
        assert (await carry_out(action, workshop.doors)).result is result
        assert labels(workshop) == {}

    story()


@virtual
async def test_its_own_version_counts_too() -> None:
    workshop = Workshop()
    action = a_restore(workshop, Precondition(MEMORY, a_memory(workshop)))
    workshop.api.put(NODE_PATH, {**workshop.api.objects[NODE_PATH], "spec": {"unschedulable": True}})
    assert (await carry_out(action, workshop.doors)).result is Result.STALE
    assert labels(workshop) == {}


def a_creation(text: str, *, if_absent: bool) -> CreateObject:
    return CreateObject(subject=MEMORY, why="it left", body={"data": {"memory": text}}, if_absent=if_absent)


@virtual
async def test_whatever_has_the_name_will_do_where_only_absence_matters() -> None:
    workshop = Workshop()
    assert (await carry_out(a_creation("first", if_absent=True), workshop.doors)).result is Result.DONE
    assert (await carry_out(a_creation("second", if_absent=True), workshop.doors)).result is Result.DONE
    assert workshop.api.objects[MEMORY_PATH]["data"] == {"memory": "first"}
    assert (await carry_out(a_creation("second", if_absent=False), workshop.doors)).result is Result.REFUSED
