"""Nodes that stand empty: who is marked, when, who goes, and what cancels it."""

from datetime import datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject, EditObject, Hold, RecordEvent
from growth.api.machine import Power
from growth.api.meta import ObjectMeta
from growth.api.node_request import PLANNED_FOR
from growth.api.queue.workload import RequeueState, Workload, WorkloadStatus
from growth.api.settings.model import RemovalSettings, Settings
from growth.api.tolerations import Taint
from growth.decide.contract import Decision
from growth.decide.facts.kept_nodes import RetainedNodes
from growth.decide.facts.virtual_pods import ReplacementPods
from growth.decide.queue.requeue import MACHINES, RequeuePolicy, machines_kept_for
from growth.decide.scale_down.decider import CAPABILITY
from tests.decide.passes import Given, deciding
from tests.decide.scale_down.stage import (
    ANOTHER,
    EVERYTHING,
    HOUR,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    SETTINGS,
    a_cloud,
    a_daemon,
    a_machine,
    a_moment_later,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    an_offering,
    decided,
    told,
)

decide = deciding(CAPABILITY)

OURS = a_cloud(a_machine())
BOTH = a_cloud(a_machine(), a_machine(ANOTHER))
# In a cluster in which no node works nothing is removed.
OTHERS_WORK = (BOTH, a_node(ANOTHER), a_pod(node=ANOTHER))
DUE = NOW - SECOND
SOON = NOW + MINUTE


# Marks


def test_an_empty_node_is_marked_with_the_instant_at_which_it_goes() -> None:
    said = a_moment_later(a_pool(), OURS, a_node())
    assert told(said) == [f"mark {NAME} for 2026-03-01T09:09:45Z"]  # it was first seen to be empty 15 s ago
    assert "event Node default-1: ScaleDownPlanned" in told(said, events=True)


def test_taint_and_annotation_are_one_edit_of_the_version_that_was_seen() -> None:
    (edit, _) = a_moment_later(a_pool(), OURS, a_node(taints=[Taint("mine", "", "NoSchedule")])).said
    assert isinstance(edit, EditObject)
    version, taint, annotation = edit.operations
    assert version["op"] == "test"
    assert taint == {
        "op": "add",
        "path": "/spec/taints/-",
        "value": {"key": "growth.dev/scale-down", "effect": "NoSchedule"},
    }
    assert annotation["value"] == {"growth.dev/scale-down-at": "2026-03-01T09:09:45Z"}


def test_a_node_that_is_empty_for_a_moment_is_left_alone_and_looked_at_again() -> None:
    said = decided(a_pool(), OURS, a_node())
    assert (told(said), said.requeue_at) == ([], NOW + 15 * SECOND)


def test_a_pool_that_is_less_patient_than_a_scheduler_is_taken_at_its_word() -> None:
    assert decided(a_pool(scaleDown={"emptyAfter": "8s"}), OURS, a_node()).requeue_at == NOW + 2 * SECOND


@pytest.mark.parametrize(
    "pod",
    [
        pytest.param(a_daemon(), id="a DaemonSet's"),
        pytest.param(a_pod(annotations={"kubernetes.io/config.mirror": "x"}), id="a mirror pod"),
        pytest.param(
            a_pod(owner={"kind": "Node", "name": NAME, "uid": "n", "controller": True}), id="a static pod of the node"
        ),
        pytest.param(a_pod(status={"phase": "Succeeded"}), id="one that succeeded"),
        pytest.param(a_pod(status={"phase": "Failed"}), id="one that failed"),
    ],
)
def test_pods_that_are_no_work_keep_no_node(pod: object) -> None:
    assert told(a_moment_later(a_pool(), OURS, a_node(), pod))[0].startswith(f"mark {NAME}")


def test_a_node_with_work_is_never_marked() -> None:
    for pod in (a_pod(), a_pod(terminating=True), a_pod(status={"phase": "Pending"})):
        assert told(a_moment_later(a_pool(), OURS, a_node(), pod)) == []


def test_within_the_delay_after_a_scale_up_a_mark_is_for_later() -> None:
    young = a_node(ANOTHER, born=NOW - MINUTE)
    said = told(a_moment_later(a_pool(scaleDown={"emptyAfter": "1m"}), BOTH, a_node(), young, a_pod(node=ANOTHER)))
    assert said == [f"mark {NAME} for 2026-03-01T09:09:00Z"]


def test_what_was_just_asked_for_is_a_scale_up_too() -> None:
    coming = a_request(ANOTHER, "Provisioning", asked_at=NOW - MINUTE)
    said = told(a_moment_later(a_pool(scaleDown={"emptyAfter": "1m"}), OURS, a_node(), coming))
    assert said == [f"mark {NAME} for 2026-03-01T09:09:00Z"]


def test_a_node_that_became_one_of_several_newcomers_waits_for_the_last() -> None:
    due, young = a_node(at=DUE), a_node(ANOTHER, born=NOW - MINUTE)
    said = decided(a_pool(), BOTH, due, young, a_pod(node=ANOTHER))
    assert (told(said), said.requeue_at) == ([f"hold {NAME}: RecentScaleUp"], NOW + 9 * MINUTE)


def in_scope(scope: str) -> Settings:
    return Settings(removal=RemovalSettings(delay_after_scale_up_scope=scope))


WEB = a_node(ANOTHER, pool="web", born=NOW - MINUTE)


@pytest.mark.parametrize(
    "grown",
    [
        pytest.param((WEB, a_pod(node=ANOTHER)), id="a node that came"),
        pytest.param((a_request("web-9", pool="web", asked_at=NOW - MINUTE),), id="a request"),
    ],
)
def test_scale_up_of_another_pool_delays_a_removal_unless_the_scope_is_the_pool(grown: tuple[object, ...]) -> None:
    seen = (a_pool(), a_pool("web"), BOTH, a_node(at=DUE), *grown)
    said = decided(*seen)
    assert (told(said), said.requeue_at) == ([f"hold {NAME}: RecentScaleUp"], NOW + 9 * MINUTE)
    (hold,) = [one for one in said.said if isinstance(one, Hold)]
    assert "2026-03-01T09:09:00Z, because its cluster was scaled up" in hold.why
    assert "delayAfterScaleUp of pool default is 10m" in hold.why
    assert decided(*seen, settings=in_scope("cluster")).said == said.said
    assert told(decided(*seen, settings=in_scope("pool"))) == [f"remove {NAME}"]


@pytest.mark.parametrize("scope", ["cluster", "pool"])
def test_scale_up_of_its_own_pool_delays_a_removal_in_any_scope(scope: str) -> None:
    young = a_node(ANOTHER, born=NOW - MINUTE)
    said = decided(a_pool(), BOTH, a_node(at=DUE), young, a_pod(node=ANOTHER), settings=in_scope(scope))
    assert told(said) == [f"hold {NAME}: RecentScaleUp"]
    (hold,) = [one for one in said.said if isinstance(one, Hold)]
    assert f"its {scope} was scaled up" in hold.why


def test_delay_after_a_scale_up_is_that_of_the_node_s_own_pool() -> None:
    hasty = a_pool(scaleDown={"delayAfterScaleUp": "30s"})
    assert told(decided(hasty, a_pool("web"), BOTH, a_node(at=DUE), WEB, a_pod(node=ANOTHER))) == [f"remove {NAME}"]


def test_foreign_node_that_came_is_no_scale_up() -> None:
    foreign = a_node(ANOTHER, pool="", born=NOW - MINUTE)
    assert told(decided(a_pool(), a_pool("web"), OURS, a_node(at=DUE), foreign)) == [f"remove {NAME}"]


# Going


def test_when_its_time_is_over_its_removal_is_asked_for() -> None:
    said = decided(a_pool(), OURS, a_node(at=DUE)).said
    assert told(said) == [f"remove {NAME}"]
    (create,) = [one for one in said if isinstance(one, CreateObject)]
    assert create.body == {
        "spec": {
            "pool": "default",
            "nodeName": NAME,
            "providerID": f"kwok://{NAME}",
            "reason": "nobody needed it for 10m",
        }
    }
    assert "event Node default-1: ScaleDown" in told(said, events=True)


def test_before_its_time_nothing_happens_and_we_are_woken_then() -> None:
    said = decided(a_pool(), OURS, a_node(at=SOON))
    assert (told(said), said.requeue_at) == ([], SOON)


def test_what_is_being_removed_is_not_asked_for_again() -> None:
    said = decided(a_pool(), OURS, a_node(at=DUE), a_removal(is_going=True))
    assert told(said) == []


def test_an_unready_node_is_not_marked_and_a_mark_that_it_bears_goes() -> None:
    """Its patience is another one, counted from when it fell silent (``unready``)."""
    silent = a_node(ready=False, unready_since=NOW - 5 * MINUTE)
    assert told(a_moment_later(a_pool(), *OTHERS_WORK, silent)) == []
    marked = a_node(at=DUE, ready=False, unready_since=NOW - 5 * MINUTE)
    assert told(decided(a_pool(), *OTHERS_WORK, marked)) == [f"unmark {NAME}"]


# What cancels a mark


DO_NOT, KARPENTERS, AUTOSCALERS = (
    "growth.dev/do-not-disrupt",
    "karpenter.sh/do-not-disrupt",
    "cluster-autoscaler.kubernetes.io/",
)
NODES_THAT_FORBID = [{DO_NOT: "true"}, {KARPENTERS: "true"}, {f"{AUTOSCALERS}scale-down-disabled": "true"}]
DAEMONS_THAT_FORBID = [
    a_daemon(annotations=wish)
    for wish in ({DO_NOT: "true"}, {KARPENTERS: "true"}, {f"{AUTOSCALERS}safe-to-evict": "false"})
]


def assert_cancelled(said: Decision[Any]) -> None:
    assert told(said) == [f"unmark {NAME}"]
    assert f"event Node {NAME}: ScaleDownCancelled" in told(said, events=True)


@pytest.mark.parametrize("at", [DUE, SOON], ids=["its time is over", "its time is to come"])
def test_what_cancels_a_mark(at: datetime) -> None:
    node = a_node(at=at)
    assert_cancelled(decided(a_pool(), OURS, node, a_pod(tolerations=[EVERYTHING])))
    assert_cancelled(decided(a_pool(scaleDown={"enabled": False}), OURS, node))
    assert_cancelled(decided(a_pool(types=[{"name": "small", "min": 1}]), OURS, node))
    assert_cancelled(decided(a_pool(), OURS, node, a_pod(node="", status={"nominatedNodeName": NAME})))
    for wish in NODES_THAT_FORBID:
        assert_cancelled(decided(a_pool(), OURS, a_node(at=at, annotations=wish)))
    for daemon in DAEMONS_THAT_FORBID:
        assert_cancelled(decided(a_pool(), OURS, node, daemon))


def test_demand_that_fits_cancels_it() -> None:
    assert told(decided(a_pool(), OURS, a_node(at=DUE), expected=[NAME])) == [f"unmark {NAME}"]


def test_everything_of_a_mark_goes_and_nothing_else() -> None:
    others = [Taint("first", "", "NoSchedule"), Taint("growth.dev/scale-down", "x", "NoExecute")]
    (edit, _) = decided(a_pool(), OURS, a_node(at=DUE, taints=others), a_pod()).said
    assert isinstance(edit, EditObject)
    assert [one["path"] for one in edit.operations[1:]] == [
        "/spec/taints/2",
        "/spec/taints/1",
        "/metadata/annotations/growth.dev~1scale-down-at",
    ]


def test_why_an_empty_node_is_left_alone_is_held_and_shown() -> None:
    node = a_node(annotations={"growth.dev/do-not-disrupt": "true"})
    assert told(decided(a_pool(), OURS, node)) == [f"hold {NAME}: DoNotDisrupt"]
    (hold,) = decided(a_pool(scaleDown={"enabled": False}), OURS, node).said
    assert hold.why == "it bears growth.dev/do-not-disrupt"


def test_a_finished_pod_forbids_nothing() -> None:
    done = a_pod(annotations={"growth.dev/do-not-disrupt": "true"}, status={"phase": "Succeeded"})
    assert told(decided(a_pool(), OURS, a_node(at=DUE), done)) == [f"remove {NAME}"]


def test_a_node_is_kept_for_the_pods_that_it_was_bought_for() -> None:
    pod = a_pod(node="")
    request = a_request(phase="Ready", since=NOW - SECOND)
    meta = msgspec.structs.replace(request.metadata, annotations={PLANNED_FOR: pod.metadata.uid})
    launched = msgspec.structs.replace(request, metadata=meta)
    assert told(decided(a_pool(), OURS, a_node(at=DUE), launched, pod)) == [f"unmark {NAME}"]
    assert told(decided(a_pool(), OURS, a_node(at=DUE), launched)) == [f"remove {NAME}"]
    late = NOW + 2 * MINUTE
    assert told(decided(a_pool(), OURS, a_node(at=DUE), launched, pod, now=late)) == [f"remove {NAME}"]


def test_a_node_is_kept_for_the_successor_of_a_pod_that_loses_its_machine() -> None:
    lost = a_pod(node=ANOTHER)
    request = a_request(phase="Ready", since=NOW - SECOND)
    meta = msgspec.structs.replace(request.metadata, annotations={PLANNED_FOR: f"successor-of-{lost.metadata.uid}"})
    launched = msgspec.structs.replace(request, metadata=meta)
    snapshot = a_snapshot(a_pool(), OURS, a_node(at=DUE), launched, lost)
    given = Given(facts=(ReplacementPods.of([lost]),))
    assert told(decide(snapshot, given, SETTINGS)) == [f"unmark {NAME}"]


def test_a_machine_for_which_a_workload_will_come_back_stays_although_its_time_is_over() -> None:
    snapshot = a_snapshot(a_pool(), OURS, a_node(at=DUE))
    meta = ObjectMeta(name="job", annotations={MACHINES: f"elsewhere,{NAME}"})
    workload = Workload(meta, status=WorkloadStatus(requeue_state=RequeueState(1, SOON)))
    kept = RetainedNodes(frozenset(machines_kept_for(workload, RequeuePolicy(), NOW)))
    assert told(decide(snapshot, Given(facts=(kept,)), SETTINGS)) == [f"unmark {NAME}"]


def test_a_node_that_is_being_prepared_is_not_empty_yet() -> None:
    assert told(a_moment_later(a_pool(), OURS, a_node(is_closed=True), a_request(phase="Ready"))) == []
    assert told(a_moment_later(a_pool(), OURS, a_node(), a_request(phase="Provisioning"))) == []


def test_the_kept_request_of_a_ready_node_keeps_no_node() -> None:
    assert told(decided(a_pool(), OURS, a_node(at=DUE), a_request(phase="Ready"))) == [f"remove {NAME}"]


# Half a mark, and a wrong one


@pytest.mark.parametrize(
    "node",
    [
        pytest.param(a_node(tainted=True), id="a person's taint"),
        pytest.param(a_node(at=DUE, tainted=False), id="an annotation without the taint"),
        pytest.param(a_node(at="tomorrow"), id="what is no time"),
        pytest.param(a_node(at=NOW + HOUR), id="a time that nobody would have written"),
    ],
)
def test_half_a_mark_and_a_wrong_one_are_made_right_before_anything_goes(node: object) -> None:
    assert told(decided(a_pool(), OURS, node)) == []
    assert told(a_moment_later(a_pool(), OURS, node)) == [f"mark {NAME} for 2026-03-01T09:09:45Z"]


@pytest.mark.parametrize("node", [a_node(tainted=True), a_node(at=DUE, tainted=False), a_node(at="tomorrow")])
def test_half_a_mark_on_a_node_with_work_is_taken_off(node: object) -> None:
    assert told(decided(a_pool(), OURS, node, a_pod())) == [f"unmark {NAME}"]


def test_a_pool_that_becomes_less_patient_is_believed() -> None:
    marked = a_node(at=NOW + 9 * MINUTE)
    hasty = a_pool(scaleDown={"emptyAfter": "1m", "delayAfterScaleUp": "0s"})
    assert told(a_moment_later(hasty, OURS, marked)) == [f"mark {NAME} for 2026-03-01T09:00:45Z"]
    assert told(a_moment_later(a_pool(scaleDown={"emptyAfter": "1h"}), OURS, marked)) == []


# Min


def test_of_two_nodes_of_a_type_one_stays_ready() -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    assert len(told(a_moment_later(pool, BOTH, a_node(), a_node(ANOTHER)))) == 1


def test_the_one_that_stays_loses_its_mark_before_the_other_one_goes() -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    assert told(decided(pool, BOTH, a_node(at=DUE), a_node(ANOTHER, at=DUE))) == [f"unmark {ANOTHER}"]
    assert told(decided(pool, BOTH, a_node(at=DUE), a_node(ANOTHER))) == [f"remove {NAME}"]


def test_a_node_that_is_ready_and_about_to_be_opened_is_left_alone() -> None:
    assert told(decided(a_pool(), OURS, a_node(at=DUE, is_closed=True))) == []
    assert told(decided(a_pool(), OURS, a_node(at=DUE))) == [f"remove {NAME}"]


def test_marks_do_not_wander() -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    said = a_moment_later(pool, BOTH, a_node(), a_node(ANOTHER, at=SOON))
    assert told(said) == []


def test_names_of_types_are_the_same_in_any_case_and_the_label_is_not_asked() -> None:
    pool = a_pool(types=[{"name": "SMALL", "min": 1}])
    assert told(a_moment_later(pool, OURS, a_node(server_type="whatever"))) == []


def test_of_a_type_that_nobody_sells_any_more_the_label_says_what_it_is() -> None:
    pool, cloud = a_pool(types=[{"name": "Old", "min": 1}]), a_cloud(a_machine(offering="kwok-old-fsn1"))
    assert told(a_moment_later(pool, cloud, a_node(server_type="old"))) == []


def test_neither_what_leaves_nor_what_is_not_ready_keeps_anything_ready() -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    leaving = [a_node(ANOTHER, at=DUE), a_removal(ANOTHER, "Deprovisioning", asked_at=NOW, attempt=1)]
    assert told(decided(pool, BOTH, a_node(at=DUE), *leaving)) == [f"unmark {NAME}"]
    for other in (a_node(ANOTHER, ready=False), a_node(ANOTHER, is_closed=True)):
        assert told(decided(pool, BOTH, a_node(at=DUE), other))[0] == f"unmark {NAME}"


def test_a_node_whose_machine_is_gone_keeps_nothing_ready_although_nobody_noticed_yet() -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    assert told(decided(pool, OURS, a_node(at=DUE), a_node(ANOTHER))) == [f"unmark {NAME}"]


@pytest.mark.parametrize("power", [Power.OFF, Power.STOPPING])
def test_neither_does_one_whose_machine_has_no_power(power: Power) -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    cloud = a_cloud(a_machine(), msgspec.structs.replace(a_machine(ANOTHER), power=power))
    assert told(decided(pool, cloud, a_node(at=DUE), a_node(ANOTHER))) == [f"unmark {NAME}"]


def test_a_node_with_work_is_one_of_those_that_are_kept_ready() -> None:
    pool = a_pool(types=[{"name": "small", "min": 1}])
    assert told(decided(pool, BOTH, a_node(at=DUE), a_node(ANOTHER), a_pod(node=ANOTHER))) == [f"remove {NAME}"]


def test_the_dearest_goes_first() -> None:
    offerings = [an_offering(price=1.0), an_offering(location="nbg1", price=2.0)]
    cloud = a_cloud(a_machine(), a_machine(ANOTHER, offering="kwok-small-nbg1"), offerings=offerings)
    pool = a_pool(types=[{"name": "small", "min": 1}])
    assert told(a_moment_later(pool, cloud, a_node(), a_node(ANOTHER)))[0].startswith(f"mark {ANOTHER}")


# Whose is it


@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param(a_cloud(a_machine(), problem="no answer"), id="silent"),
        pytest.param(a_cloud(read_at=None, problem="not asked yet"), id="never asked"),
        pytest.param(a_cloud(), id="not its machine"),
        pytest.param(a_cloud(a_machine(NAME)), id="another machine of its name"),
    ],
)
def test_what_no_provider_can_prove_to_be_ours_is_not_touched(cloud: object) -> None:
    foreign = "hcloud://7" if cloud == a_cloud(a_machine(NAME)) else None
    for at in (None, DUE):
        assert told(a_moment_later(a_pool(), cloud, a_node(at=at, provider_id=foreign))) == []


def test_a_mark_of_ours_is_taken_back_although_its_provider_is_silent() -> None:
    silent = a_cloud(a_machine(), problem="no answer")
    assert told(decided(a_pool(), silent, a_node(at=DUE), a_pod())) == [f"unmark {NAME}"]
    assert told(decided(a_pool(), a_cloud(), a_node(at=DUE), a_pod())) == []


def test_without_a_pool_nothing_is_done() -> None:
    assert told(a_moment_later(OURS, a_node(at=DUE))) == []
    assert told(a_moment_later(a_pool(), OURS, a_node(at=DUE, pool=""))) == []


# Clocks


def test_after_a_jump_of_the_clock_patience_begins_anew() -> None:
    said = decided(a_pool(), OURS, a_node(at=DUE), steady_since=NOW - MINUTE)
    assert (told(said), said.requeue_at) == ([f"hold {NAME}: RecentScaleUp"], NOW + 9 * MINUTE)
    late = NOW + 9 * MINUTE
    assert told(decided(a_pool(), OURS, a_node(at=DUE), steady_since=NOW - MINUTE, now=late)) == [f"remove {NAME}"]


def test_after_a_jump_patience_begins_anew_also_where_growing_delays_nothing() -> None:
    pool = a_pool(scaleDown={"delayAfterScaleUp": "0s"})
    said = decided(pool, OURS, a_node(at=DUE), steady_since=NOW - MINUTE)
    assert (told(said), said.requeue_at) == ([], NOW + 9 * MINUTE)


def test_a_clock_that_was_set_back_keeps_no_node_for_ever() -> None:
    marked_by_a_wrong_clock = a_node(at=NOW + HOUR, born=NOW + HOUR)
    said = a_moment_later(a_pool(), OURS, marked_by_a_wrong_clock, steady_since=NOW - MINUTE)
    assert told(said) == [f"mark {NAME} for 2026-03-01T09:09:45Z"]


def test_nothing_goes_a_fraction_too_early() -> None:
    now = NOW + timedelta(milliseconds=300)
    assert told(a_moment_later(a_pool(), OURS, a_node(), now=now)) == [f"mark {NAME} for 2026-03-01T09:09:46Z"]


def test_events_are_about_the_node() -> None:
    said = decided(a_pool(), OURS, a_node(at=DUE), a_pod()).said
    (event,) = [one for one in said if isinstance(one, RecordEvent)]
    assert (event.subject.kind, event.why) == ("Node", "it stays: a pod works on it")
