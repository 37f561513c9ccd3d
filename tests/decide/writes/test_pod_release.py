"""What is left on a node whose machine is gone: released in Kubernetes' own order, and nothing else is waited for."""

import msgspec

from growth.api.actions import DeleteObject, EditObject
from growth.api.node import Node
from growth.api.out_of_service import SHUTDOWN
from growth.api.tolerations import Taint
from growth.decide.writes.pod_release import is_free, released
from tests.decide.scale_down.stage import HOUR, NAME, a_daemon, a_node, a_pod, a_snapshot, an_attachment, told

OUT = a_node(taints=[SHUTDOWN])
CLAIM = {"name": "data", "persistentVolumeClaim": {"claimName": "data"}}


def said(node: Node, *things: object) -> list[str]:
    return told(released(a_snapshot(node, *things), node))


def test_where_nothing_is_left_nothing_is_done() -> None:
    assert said(a_node()) == []
    assert said(a_node(), a_pod(node="another"), an_attachment(node="another")) == []


def test_the_taint_comes_first_and_keeps_the_others() -> None:
    node = a_node(taints=[Taint("mine", "", "NoSchedule")])
    (edit,) = released(a_snapshot(node, a_pod()), node)
    assert isinstance(edit, EditObject)
    out_of_service = {"key": "node.kubernetes.io/out-of-service", "value": "nodeshutdown", "effect": "NoExecute"}
    assert edit.operations[-1] == {"op": "add", "path": "/spec/taints/-", "value": out_of_service}


def test_a_taint_that_a_person_put_there_is_as_good() -> None:
    node = a_node(taints=[Taint("node.kubernetes.io/out-of-service", "by-hand", "NoExecute")])
    assert said(node, a_pod()) == ["delete Pod app"]


def test_pods_are_deleted_without_waiting_for_a_kubelet_that_will_never_answer() -> None:
    (delete,) = released(a_snapshot(OUT, a_pod(terminating=True)), OUT)
    assert isinstance(delete, DeleteObject)
    assert (delete.grace_seconds, bool(delete.subject.uid)) == (0, True)


def test_one_that_a_finalizer_holds_is_somebody_elses_business() -> None:
    held = a_pod(terminating=True)
    meta = msgspec.structs.replace(held.metadata, finalizers=("example.org/backup",))
    assert said(OUT, msgspec.structs.replace(held, metadata=meta)) == []


def test_daemons_go_with_their_node() -> None:
    assert said(a_node(), a_daemon()) == []
    assert said(OUT, a_daemon(), a_pod()) == ["delete Pod app"]


def test_a_daemon_goes_first_only_as_long_as_it_may_keep_a_volume_there() -> None:
    daemon = a_daemon(volumes=[CLAIM])
    assert said(OUT, daemon, an_attachment()) == ["delete Pod daemon", f"hold {NAME}: Detaching"]
    # It comes back as often as it is deleted, and its node would stay for ever.
    assert said(OUT, daemon) == []


def test_the_node_waits_for_its_volumes() -> None:
    assert said(OUT, an_attachment()) == [f"hold {NAME}: Detaching"]
    two = released(a_snapshot(OUT, an_attachment("a"), an_attachment("b")), OUT)
    assert two[0].why == "2 volumes still hang on it"


def test_a_node_is_free_when_nobody_is_left_who_may_have_run_there() -> None:
    born = a_pod().metadata.creation_timestamp
    assert born is not None
    after, before = born + HOUR, born - HOUR
    assert is_free(a_snapshot(OUT), OUT, None)
    assert is_free(a_snapshot(OUT, a_daemon()), OUT, None)
    assert not is_free(a_snapshot(OUT, a_pod()), OUT, None)
    assert not is_free(a_snapshot(OUT, a_pod()), OUT, after)
    # It comes back as often as it is deleted, because it tolerates everything.
    assert is_free(a_snapshot(OUT, a_pod()), OUT, before)
    assert not is_free(a_snapshot(OUT, a_pod(), an_attachment()), OUT, before)
