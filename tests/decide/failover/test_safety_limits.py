"""What keeps a node in service although its machine is dead."""

import msgspec
import pytest

from growth.api.machine import Power
from growth.api.out_of_service import MAINTENANCE, SHUTDOWN
from growth.api.settings.model import RegistrySettings, Settings
from tests.decide.failover.stage import ZONE, Stage, machine_id, terms

FIVE = ("n1", "n2", "n3", "n4", "n5")
CONTROL_PLANE = {"node-role.kubernetes.io/control-plane": ""}


def numbered(count: int) -> list[str]:
    return [f"n{number:02}" for number in range(1, count + 1)]


def easy(*, control_plane: bool = False) -> Settings:
    """Settings in which the cluster counts as healthy, whatever is unready."""
    acting = terms(control_plane=control_plane)
    return msgspec.structs.replace(acting, registry=RegistrySettings(unready_percent=100))


def test_nothing_keeps_a_single_dead_node_in_service() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(40)
    assert stage.tainted == ["n1"]


@pytest.mark.parametrize("key", ["growth.dev/do-not-disrupt", "karpenter.sh/do-not-disrupt"])
def test_who_must_not_be_disrupted_stays_and_people_hear_of_it(key: str) -> None:
    stage = Stage(*FIVE)
    stage.change("n1", annotations={key: "true"})
    stage.cut("n1")
    stage.wait(60)
    assert stage.tainted == []
    assert stage.told(events=True) == ["hold n1: DoNotDisrupt", "event Node n1: DoNotDisrupt"]


def test_a_node_that_a_person_works_on_stays_and_only_if_it_is_cordoned() -> None:
    stage = Stage(*FIVE)
    for name in ("n1", "n2"):
        stage.change(name, annotations={MAINTENANCE: "new disk"}, unschedulable=name == "n1")
    stage.cut("n1", "n2")
    stage.wait(60)
    assert stage.tainted == ["n2"]
    assert stage.told(events=True) == ["hold n1: Maintenance", "event Node n1: Maintenance"]


def test_nothing_is_failed_over_in_an_unhealthy_cluster() -> None:
    stage = Stage(*numbered(8))
    for name in numbered(5)[1:]:
        stage.set_ready(name, "False")  # four that live, and are unready
    stage.cut("n01")
    stage.wait(60)
    assert stage.holds() == {"n01": "ClusterUnhealthy"}
    assert stage.tainted == []
    for name in numbered(5)[1:]:
        stage.set_ready(name, "True")
    stage.wait(30)
    assert stage.tainted == ["n01"]


def test_who_is_silent_counts_before_it_is_unready() -> None:
    stage = Stage(*numbered(8))
    stage.silence(*numbered(4)[1:])
    stage.cut("n01")
    stage.wait(36)
    assert all(node.is_ready for node in stage.nodes.values())
    assert "4 of 8 nodes are unready or silent" in stage.why("n01", "ClusterUnhealthy")
    assert stage.tainted == []


def test_nodes_that_go_anyway_make_neither_a_cluster_nor_a_zone_unhealthy() -> None:
    stage = Stage(*FIVE)
    for name in numbered(9):
        stage.add(name)
        stage.set_ready(name, "False")
        stage.remove(name)
    stage.cut("n1")
    stage.wait(40)
    assert stage.tainted == ["n1"]


def test_two_at_once_and_the_longest_silent_first() -> None:
    stage = Stage(*numbered(12))
    for name in ("n09", "n05", "n02", "n07"):
        stage.database(f"db-{name}", name)
        stage.kept.add(f"csi-db-{name}-{name}")
        stage.cut(name)
        stage.wait(10)  # each of them was heard of ten seconds later than the one before
    stage.wait(60)
    assert sorted(stage.tainted) == ["n05", "n09"]
    assert {stage.holds()[name] for name in ("n02", "n07")} == {"TooMany"}
    stage.kept.clear()
    stage.drop_attachment("csi-db-n09-n09")
    stage.wait(1)
    assert sorted(stage.tainted) == ["n02", "n05", "n09"]


def test_a_tenth_of_a_large_pool_at_once() -> None:
    stage = Stage(*numbered(40))
    for name in numbered(6):
        stage.database(f"db-{name}", name)
        stage.kept.add(f"csi-db-{name}-{name}")
    stage.cut(*numbered(6))
    stage.wait(60)
    assert stage.tainted == numbered(4)


def test_one_that_is_stuck_does_not_keep_the_others_waiting_for_ever() -> None:
    stage = Stage(*numbered(9))
    for name in numbered(3):
        stage.database(f"db-{name}", name)
        stage.kept.add(f"csi-db-{name}-{name}")
    stage.cut(*numbered(3))
    stage.wait(300)
    assert stage.tainted == numbered(2)
    stage.wait(60)
    assert stage.tainted == numbered(3)


def test_nobody_overtakes_while_a_taint_is_not_seen_yet() -> None:
    """The watch lags for longer than an answer is fresh."""
    stage = Stage(*numbered(9))
    for name in numbered(3):
        stage.database(f"db-{name}", name)
        stage.kept.add(f"csi-db-{name}-{name}")
    stage.cut(*numbered(3))
    stage.wait(20)
    stage.lag = 30.0
    stage.hands.takes = 0.3
    stage.wait(30)
    assert stage.tainted == numbered(2)


def test_who_gets_no_answer_does_not_hold_the_place_of_the_next() -> None:
    stage = Stage(*numbered(9))
    for name in numbered(3):
        stage.database(f"db-{name}", name)
        stage.kept.add(f"csi-db-{name}-{name}")
    stage.settings = terms("observe")
    stage.cut(*numbered(3))
    stage.wait(42)
    first_two = {machine_id(name) for name in numbered(2)}
    stage.unlisted |= first_two
    stage.hands.fails = lambda action: getattr(action, "machine_id", "") in first_two
    stage.wait(6)
    stage.settings = terms()
    stage.wait(20)
    assert stage.tainted == ["n03"]


def test_a_zone_of_which_most_is_down_is_left_alone() -> None:
    stage = Stage(*numbered(15), settings=easy(), zones=("a", "b", "c"))
    in_a = [name for name, node in stage.nodes.items() if node.metadata.labels[ZONE] == "a"]
    in_b = [name for name, node in stage.nodes.items() if node.metadata.labels[ZONE] == "b"]
    stage.cut(*in_a[:3], in_b[0])
    stage.wait(60)
    assert stage.tainted == [in_b[0]]
    assert stage.holds() == dict.fromkeys(in_a[:3], "ZoneFailure")


def test_a_zone_of_which_half_is_down_is_not_one_that_failed() -> None:
    stage = Stage(*numbered(12), settings=easy(), zones=("a", "b"))
    in_a = [name for name, node in stage.nodes.items() if node.metadata.labels[ZONE] == "a"]
    stage.cut(*in_a[:3])
    stage.wait(80)
    assert stage.tainted == in_a[:3]


def test_two_of_two_nodes_are_no_zone_failure() -> None:
    stage = Stage(*numbered(8), settings=easy(), zones=("a", "a", "a", "b"))
    in_b = [name for name, node in stage.nodes.items() if node.metadata.labels[ZONE] == "b"]
    stage.cut(*in_b)
    stage.wait(60)
    assert stage.tainted == in_b


def a_control_plane(*, opt_in: bool) -> Stage:
    stage = Stage(*numbered(9), settings=easy(control_plane=opt_in))
    for name in ("c1", "c2", "c3"):
        stage.add(name, labels=CONTROL_PLANE)
    stage.wait(31)
    return stage


def test_the_control_plane_is_left_alone_unless_that_is_wanted() -> None:
    for is_wanted in (False, True):
        stage = a_control_plane(opt_in=is_wanted)
        stage.cut("c1")
        stage.wait(60)
        assert stage.tainted == (["c1"] if is_wanted else [])
        assert stage.holds() == ({} if is_wanted else {"c1": "ControlPlane"})


def test_the_control_plane_is_left_alone_when_most_of_it_is_down() -> None:
    stage = a_control_plane(opt_in=True)
    stage.cut("c1", "c2")
    stage.wait(60)
    assert stage.tainted == []
    assert stage.holds() == {"c1": "Quorum", "c2": "Quorum"}


def test_a_foreign_node_is_taken_out_only_where_that_is_wanted_and_gone_is_never_believed_of_it() -> None:
    for power, tainted in ((Power.OFF, ["other"]), (Power.GONE, [])):
        stage = Stage(*FIVE, settings=terms(foreign_nodes=True))
        stage.add("other", pool="")
        stage.wait(11)
        stage.cut("other", power=power)
        stage.wait(60)
        assert stage.tainted == tainted
        assert stage.holds() == ({} if tainted else {"other": "NotBelieved"})


def test_a_machine_is_gone_if_the_provider_still_knows_those_that_work() -> None:
    stage = Stage(*FIVE)
    stage.add("other", pool="")  # which it never listed
    stage.wait(11)
    stage.cut("n1", power=Power.GONE)
    stage.wait(60)
    assert "NodeDeleted" in stage.story("n1")


def test_gone_is_not_believed_of_a_provider_that_has_forgotten_one_that_works() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1", power=Power.GONE)
    del stage.powers[machine_id("n2")]
    stage.wait(60)
    assert stage.tainted == []
    assert "nor that of n2, which works" in stage.why("n1", "NotBelieved")


def test_gone_is_not_believed_without_a_witness() -> None:
    stage = Stage(*numbered(6), settings=easy())
    stage.powers["spare/1"] = Power.ON
    stage.cut("n01", power=Power.GONE)
    for name in numbered(6)[1:]:
        stage.nodes[name] = msgspec.structs.replace(
            stage.nodes[name], metadata=msgspec.structs.replace(stage.nodes[name].metadata, labels={ZONE: "fsn1"})
        )
        stage.change(name, provider_id="")
    stage.wait(60)
    assert stage.tainted == []
    assert stage.why("n01", "NotBelieved").endswith("has none whose node works")


def test_a_taint_that_a_person_took_off_is_not_set_again_before_the_node_was_heard_of() -> None:
    stage = Stage(*FIVE)
    stage.cut("n1")
    stage.wait(40)
    stage.change("n1", taints=())
    stage.wait(120)
    assert stage.tainted == []
    assert stage.holds() == {"n1": "TaintRemoved"}
    stage.revive("n1")
    stage.wait(35)
    assert "growth.dev/out-of-service" not in stage.nodes["n1"].metadata.annotations
    stage.cut("n1")
    stage.wait(40)
    assert stage.tainted == ["n1"]


def test_a_dead_node_that_is_tainted_already_is_not_tainted_again() -> None:
    stage = Stage(*FIVE)
    stage.change("n1", taints=(SHUTDOWN,))
    stage.cut("n1")
    stage.wait(60)
    assert stage.nodes["n1"].spec.taints == (SHUTDOWN,)
    assert "growth.dev/out-of-service" not in stage.nodes["n1"].metadata.annotations
