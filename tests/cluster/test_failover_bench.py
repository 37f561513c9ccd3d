"""What ``python -m bench.failover`` makes of what it sees. A whole run takes minutes: proof takes its time."""

import time

import pytest

from bench.failover_witness import Death, Home, Witness, after, figures, in_words, wrong_taints
from growth.api.change import Change, ChangeType
from growth.api.meta import ObjectMeta
from growth.api.node import Node, NodeSpec
from growth.api.out_of_service import SHUTDOWN
from growth.api.pod import Pod, PodSpec, PodStatus
from growth.api.storage import AttachmentSource, VolumeAttachment, VolumeAttachmentSpec, VolumeAttachmentStatus

VOLUME = "volume-of-db-0-0"


def a_death(
    node: str,
    noticed: float | None = None,
    tainted: float | None = None,
    detached: float | None = None,
    running: float | None = None,
) -> Death:
    """Each in seconds after the power cut."""
    detected_at, tainted_at, detached_at, running_at = (
        None if after_seconds is None else 1000.0 + after_seconds
        for after_seconds in (noticed, tainted, detached, running)
    )
    return Death(Home("db-0-0", "old", node, VOLUME), 1000.0, detected_at, tainted_at, detached_at, running_at)


def a_pod(uid: str, node: str) -> Change[Pod]:
    pod = Pod(ObjectMeta("db-0-0", "failover", uid), PodSpec(), node_name=node, status=PodStatus("Running"))
    return Change(ChangeType.ADDED, pod, None)


def an_attachment(
    node: str, happened: ChangeType = ChangeType.ADDED, *, attached: bool = True
) -> Change[VolumeAttachment]:
    spec = VolumeAttachmentSpec("disk.example.com", node, AttachmentSource(persistent_volume_name=VOLUME))
    found = VolumeAttachment(ObjectMeta(f"csi-{node}", uid=node), spec, VolumeAttachmentStatus(attached=attached))
    return Change(happened, found, found if happened is not ChangeType.ADDED else None)


def a_witness_of_a_power_cut() -> tuple[Witness, Death]:
    witness = Witness({"db-0-0": VOLUME})
    witness.hear_of_attachments([an_attachment("n1")])
    witness.hear_of_pods([a_pod("old", "n1")])
    home = witness.home_of("db-0-0")
    assert home is not None
    assert (home.uid, home.node) == ("old", "n1")
    witness.note_cut(home)
    return witness, witness.deaths["n1"]


def test_each_moment_counts_from_the_power_cut_of_its_own_machine() -> None:
    told = figures([a_death("n1", 14, 21, 22, 23), a_death("n2", 16, 25, 26, 30), a_death("n3", 12, 20, None, None)])
    assert told["detect_s"] == {"median": 14.0, "max": 16.0}
    assert told["tainted_s"] == {"median": 21.0, "max": 25.0}
    assert told["detached_s"] == {"median": 24.0, "max": 26.0}
    assert told["running_s"] == {"median": 26.5, "max": 30.0}
    assert told["stuck"] == 1


def test_what_never_happened_has_no_figure() -> None:
    told = figures([a_death("n1"), a_death("n2")])
    assert (told["running_s"], told["stuck"]) == (None, 2)
    assert after([a_death("n1")], 1100.0) is None
    assert after([a_death("n1", 101, 112, 113, 116)], 1100.0) == {"median": 16.0, "max": 16.0}


def test_progress_is_told_in_words() -> None:
    words = "2 noticed, 1 out of service, 0 detached, 0 running elsewhere"
    assert in_words([a_death("n1", 14, 21, None, None), a_death("n2", 15)]) == words


@pytest.mark.parametrize("is_attached", [False, True])
def test_a_pod_runs_again_only_when_its_volume_is_attached_where_it_runs(*, is_attached: bool) -> None:
    witness, death = a_witness_of_a_power_cut()
    witness.hear_of_attachments([an_attachment("n1", ChangeType.DELETED)])
    assert death.detached_at is not None
    witness.hear_of_pods([a_pod("new", "n2")])
    assert death.running_at is None
    witness.hear_of_attachments([an_attachment("n2", attached=is_attached)])
    assert (death.running_at is not None) == is_attached
    assert death.heirs == {"new"}


def test_a_volume_on_two_nodes_at_one_time_is_told_of() -> None:
    witness, _ = a_witness_of_a_power_cut()
    assert not witness.attached_twice
    witness.hear_of_attachments([an_attachment("n2")])
    assert witness.attached_twice == {VOLUME}


def test_a_new_pod_that_is_ended_as_well_is_told_of() -> None:
    witness, death = a_witness_of_a_power_cut()
    witness.hear_of_pods([a_pod("new", "n2")])
    assert figures([death])["ended_again"] == 0
    witness.hear_of_pods([a_pod("newer", "n3")])
    assert figures([death])["ended_again"] == 1


def test_a_taint_on_a_node_whose_machine_has_power_is_wrong() -> None:
    witness, _ = a_witness_of_a_power_cut()
    tainted = [Node(ObjectMeta(name, uid=name), NodeSpec(taints=(SHUTDOWN,))) for name in ("n1", "n2")]
    witness.hear_of_nodes([Change(ChangeType.ADDED, node, None) for node in tainted])
    assert wrong_taints(witness) == ["n2"]
    witness.tainted["n1"] = time.time() - 60
    assert wrong_taints(witness) == ["n1", "n2"], "it had power when it was tainted"
