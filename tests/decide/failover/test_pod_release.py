"""A node that is out of service: what leaves it, in which order, and what is said of what does not."""

import msgspec
import pytest

from growth.api.actions import DeleteObject, EditObject, ReadPower, RecordEvent, ReleasePod
from growth.api.change import ChangeType
from growth.api.kinds import PODS
from growth.api.machine import Power
from growth.api.node import NodeSystemInfo
from growth.api.out_of_service import PROOF, SHUTDOWN, proof_on
from tests.decide.failover.stage import DAEMON, EVERYTHING, SECOND, Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")


def steps(stage: Stage) -> list[str]:
    """What was done, in its order."""
    wanted = (EditObject, ReleasePod, DeleteObject)
    return [f"{type(one).__name__} {one.subject.name}" for _, one in stage.hands.begun if isinstance(one, wanted)]


def released(stage: Stage) -> list[str]:
    return [one.subject.name for one in stage.hands.of(ReleasePod)]


def test_pods_are_ended_at_once_and_their_volumes_come_off() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.pod("agent", "n1", owner=DAEMON)
    stage.database("db-1", "n2")
    stage.cut("n1")
    stage.wait(33)
    assert steps(stage) == ["EditObject n1", "ReleasePod agent", "ReleasePod db-0"]
    assert list(stage.attachments) == ["csi-db-1-n2"]
    assert stage.story("n1")[-1] == "Released"


def test_pods_that_tolerate_the_taint_are_untouched() -> None:
    stage = Stage(*FIVE)
    stage.pod("stays", "n1", tolerations=[EVERYTHING])
    stage.pod("static", "n1", annotations={"kubernetes.io/config.mirror": "x"})
    stage.pod("goes", "n1", tolerations=[{"key": "node.kubernetes.io/unreachable", "operator": "Exists"}])
    stage.cut("n1")
    stage.wait(120)
    assert released(stage) == ["goes"]


def test_a_tolerating_pod_that_keeps_its_volume_is_told_of() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1", tolerations=[EVERYTHING])
    stage.cut("n1")
    stage.wait(92)
    assert "HeldByToleration" in stage.holds().values()
    assert stage.remembered().stuck == 1


def test_a_finalizer_does_not_hold_the_volume_and_is_told_of() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1", finalizers=["batch.kubernetes.io/job-tracking"])
    stage.cut("n1")
    stage.wait(95)
    assert released(stage) == ["db-0"]
    assert stage.attachments == {}
    assert "batch.kubernetes.io/job-tracking" in stage.why("n1", "HeldByFinalizer")


def test_a_driver_that_does_not_answer_is_told_of_after_a_minute() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.kept.add("csi-db-0-n1")
    stage.cut("n1")
    stage.wait(85)
    assert stage.holds() == {}
    stage.wait(10)
    assert stage.why("n1", "DriverSilent") == "volume disk-db-0: the driver csi.example.org does not confirm"
    assert stage.remembered().stuck == 1


def test_a_volume_that_nobody_detaches_is_told_of() -> None:
    stage = Stage(*FIVE)
    pod = stage.database("db-0", "n1")
    del stage.pods[pod.metadata.uid]
    stage.tell(PODS, pod, happened=ChangeType.DELETED)  # nobody ends it, so nobody detaches
    stage.cut("n1")
    stage.wait(95)
    assert stage.holds() == {"n1": "NotDetached"}


def test_with_speed_standard_kubernetes_ends_the_pods_and_people_hear_of_it_all_the_same() -> None:
    stage = Stage(*FIVE, settings=terms(speed="standard"))
    stage.database("db-0", "n1")
    stage.cut("n1")
    stage.wait(120)
    assert stage.tainted == ["n1"]
    assert released(stage) == []
    told = [one for one in stage.hands.of(RecordEvent) if one.reason == "FailedOver"]
    assert [(one.subject.kind, one.subject.name) for one in told] == [("Pod", "db-0")]


def test_pods_that_nobody_evicts_are_ended_a_moment_later() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(31)
    stage.change("n1", taints=())
    stage.change("n1", taints=(SHUTDOWN,))
    stage.wait(10)
    stage.pod("late", "n1")
    stage.wait(6)
    assert released(stage) == ["late"]


def test_a_machine_that_is_gone_for_good_loses_its_node_when_no_volume_hangs_there() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.pod("agent", "n1", owner=DAEMON, tolerations=[EVERYTHING])
    stage.kept.add("csi-db-0-n1")
    stage.cut("n1", power=Power.GONE)
    stage.wait(60)
    assert steps(stage) == ["EditObject n1", "ReleasePod db-0"]
    stage.kept.clear()
    stage.drop_attachment("csi-db-0-n1")
    stage.wait(6)
    assert steps(stage)[2:] == ["DeleteObject n1"]
    assert "n1" not in stage.nodes


def test_a_machine_that_is_only_off_keeps_its_node() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(600)
    assert steps(stage) == ["EditObject n1"]


def test_work_that_tolerates_everything_keeps_the_node_of_a_machine_that_is_gone() -> None:
    stage = Stage(*FIVE)
    stage.pod("stays", "n1", tolerations=[EVERYTHING])
    stage.cut("n1", power=Power.GONE)
    stage.wait(120)
    assert "n1" in stage.nodes
    assert stage.holds() == {"n1": "HeldByToleration"}


def test_a_guard_keeps_the_node_of_a_machine_that_is_gone() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.kept.add("csi-db-0-n1")
    stage.cut("n1", power=Power.GONE)
    stage.wait(60)
    stage.change("n1", annotations={"growth.dev/do-not-disrupt": "true"})
    stage.kept.clear()
    stage.drop_attachment("csi-db-0-n1")
    stage.wait(60)
    assert stage.holds() == {"n1": "DoNotDisrupt"}
    asked = len(stage.hands.of(ReadPower))
    stage.wait(600)
    assert len(stage.hands.of(ReadPower)) - asked < 70, "nothing is pressing"


def test_nothing_is_ended_while_the_last_answer_is_old_or_says_otherwise() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(40)
    stage.provider_fails = True
    stage.wait(10)
    stage.database("db-0", "n1")
    stage.wait(60)
    assert released(stage) == []
    stage.provider_fails = False
    stage.powers[machine_id("n1")] = Power.STARTING
    stage.wait(120)
    assert released(stage) == []
    stage.powers[machine_id("n1")] = Power.OFF
    stage.wait(90)
    assert released(stage) == ["db-0"]


def restarted_after_the_taint(stage: Stage) -> None:
    stage.database("db-0", "n1")
    stage.hands.fails = lambda action: isinstance(action, ReleasePod)
    stage.cut("n1")
    stage.wait(31)
    assert stage.tainted == ["n1"]
    stage.restart()


def test_a_restart_keeps_the_proof() -> None:
    stage = Stage(*FIVE)
    restarted_after_the_taint(stage)
    stage.silence("n1")
    stage.wait(25)
    assert released(stage) == ["db-0"]
    assert stage.hands.of(EditObject) == [], "at most one taint"


def test_a_proof_of_another_boot_is_none() -> None:
    stage = Stage(*FIVE)
    restarted_after_the_taint(stage)
    status = msgspec.structs.replace(stage.nodes["n1"].status, node_info=NodeSystemInfo("another"))
    stage.put_node(msgspec.structs.replace(stage.nodes["n1"], status=status))
    stage.wait(21)
    assert released(stage) == []
    stage.wait(12)
    assert released(stage) == ["db-0"], "it is proven anew"


def test_a_proof_from_before_the_last_sign_of_life_is_none() -> None:
    stage = Stage(*FIVE)
    restarted_after_the_taint(stage)
    stage.revive("n1", boots=False)
    stage.wait(11)
    stage.cut("n1")
    stage.wait(22)
    assert released(stage) == []
    stage.wait(12)
    assert released(stage) == ["db-0"]


def test_one_that_failed_and_was_not_deleted_is_ended_by_the_next_process() -> None:
    stage = Stage(*FIVE)
    pod = stage.pod("web", "n1")
    stage.cut("n1")
    stage.wait(15)
    stage.hands.fails = lambda action: isinstance(action, ReleasePod)
    stage.wait(16)
    halfway = msgspec.structs.replace(
        pod,
        status=msgspec.structs.replace(pod.status, phase="Failed"),
        metadata=msgspec.structs.replace(pod.metadata, deletion_timestamp=stage.now),
    )
    stage.put_pod(halfway)
    stage.hands.fails = lambda _: False
    stage.wait(20)
    assert stage.pods == {}


def test_a_person_is_followed_and_warned_if_the_machine_runs() -> None:
    stage = Stage(*FIVE)
    stage.change("n1", taints=(SHUTDOWN,))
    stage.wait(1)
    assert stage.told(events=True) == ["hold n1: OutOfServiceRunning", "event Node n1: OutOfServiceRunning"]
    stage.cut("n1")
    stage.wait(90)
    assert stage.story("n1")[-1] in ("TaintedByHand", "Released")
    assert proof_on(stage.nodes["n1"]) is None


def test_a_node_whose_removal_is_under_way_is_left_to_shrink() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(40)
    stage.remove("n1")
    stage.pod("web", "n1")
    stage.wait(60)
    assert released(stage) == []


def test_how_long_work_was_away_is_counted_from_the_last_sign_of_life() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1")
    stage.cut("n1")
    stage.wait(31)
    assert ("default", "db-0") in stage.remembered().recoveries
    stage.pod("db-0", "n2")
    stage.wait(0)
    seconds = stage.remembered().recovered
    assert [round(one) for one in seconds] == [32]
    stage.wait(5)
    assert stage.remembered().recovered == ()
    assert "Recovered-default/db-0" in stage.story("n1")


@pytest.mark.parametrize("fields", [{"is_forced": True}, {"provider_id": "kwok://growth/n1/0"}])
def test_a_note_that_proves_nothing_about_this_machine_releases_nothing(fields: dict[str, object]) -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(31)
    proof = proof_on(stage.nodes["n1"])
    assert proof is not None
    doubtful = msgspec.structs.replace(proof, **fields)
    stage.change("n1", annotations={PROOF: msgspec.json.encode(doubtful).decode()})
    stage.restart()
    stage.database("db-0", "n1")
    stage.wait(22)
    assert released(stage) == []
    stage.wait(12)
    assert released(stage) == ["db-0"]


def test_nothing_is_done_twice_to_one_pod_at_once() -> None:
    stage = Stage(*FIVE)
    pod = stage.database("db-0", "n1")
    stage.hands.takes = 0.5
    stage.cut("n1")
    stage.wait(20)
    stage.lag = 3.0
    stage.wait(30)
    (release,) = stage.hands.of(ReleasePod)
    assert release.subject.uid == pod.metadata.uid


def test_since_when_a_persons_taint_is_there_counts_from_when_it_was_seen() -> None:
    stage = Stage(*FIVE)
    stage.database("db-0", "n1", tolerations=[EVERYTHING])
    stage.change("n1", taints=(SHUTDOWN,))
    stage.wait(59)
    assert "HeldByToleration" not in stage.holds().values()
    stage.wait(2)
    assert "HeldByToleration" in {one.split(": ")[1] for one in stage.told()}
    assert stage.remembered().seen_out == {stage.nodes["n1"].metadata.uid: stage.now - 61 * SECOND}
