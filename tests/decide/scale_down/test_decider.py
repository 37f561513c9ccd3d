"""An unhealthy cluster: nothing goes, nobody is on the way out any more, and afterwards every wait begins anew (S1)."""

from typing import Any

import msgspec
import pytest

from growth.api.actions import CreateObject, DeleteMachine, EvictPod, PatchObject, Result
from growth.api.annotations import STARTED_AT
from growth.api.node import Node
from growth.api.timestamp import format_time
from growth.decide.contract import Decision
from growth.decide.facts.cluster_state import ClusterHealth
from growth.decide.scale_down.decider import CAPABILITY
from tests.decide.passes import Given, cluster_in, deciding
from tests.decide.scale_down.stage import (
    ANOTHER,
    HOUR,
    MINUTE,
    NAME,
    NOW,
    SECOND,
    SETTINGS,
    a_cloud,
    a_machine,
    a_moment_later,
    a_node,
    a_pod,
    a_pool,
    a_removal,
    a_request,
    a_snapshot,
    an_answer,
    decided,
    status_written,
    told,
)

decide = deciding(CAPABILITY)

STARTED = {STARTED_AT: format_time(NOW - HOUR)}
BROKEN = tuple(
    a_node(f"broken-{number}", ready=False, unready_since=NOW - MINUTE, annotations=STARTED) for number in range(4)
)
CLOUD = a_cloud(a_machine(), a_machine(ANOTHER), *(a_machine(node.metadata.name) for node in BROKEN))
MARKED = a_node(at=NOW - SECOND, annotations=STARTED)
HELD = [f"hold {NAME}: ClusterUnhealthy"]


def in_trouble(*things: object) -> tuple[object, ...]:
    """Four nodes of five or six are unready, and their provider answers."""
    return (CLOUD, *BROKEN, *things)


def test_four_unready_nodes_of_eight_halt_it_and_four_of_nine_do_not() -> None:
    works = [a_node(f"works-{number}", annotations=STARTED) for number in range(4)]
    pods = [a_pod(f"pod-{node.metadata.name}", node=node.metadata.name) for node in works]
    machines = [a_machine(node.metadata.name) for node in (*BROKEN, *works, MARKED)]
    cloud = a_cloud(*machines)
    assert told(decided(a_pool(), cloud, *BROKEN, *works[:3], *pods[:3], MARKED)) == [f"unmark {NAME}"]
    assert told(decided(a_pool(), cloud, *BROKEN, *works, *pods, MARKED)) == [f"remove {NAME}"]


def test_a_mark_is_taken_off_and_people_are_told_why() -> None:
    decision = decided(a_pool(), *in_trouble(MARKED))
    assert told(decision, events=True) == [f"unmark {NAME}", f"event Node {NAME}: ScaleDownCancelled"]


def test_half_a_mark_is_taken_off_too() -> None:
    assert told(decided(a_pool(), *in_trouble(a_node(tainted=True, annotations=STARTED)))) == [f"unmark {NAME}"]


def test_a_mark_that_is_not_ours_or_whose_removal_is_asked_for_stays() -> None:
    stranger = a_node("stranger", at=NOW, pool="", provider_id="other://stranger")
    assert told(decided(a_pool(), *in_trouble(stranger))) == []
    assert told(decided(a_pool(), *in_trouble(MARKED, a_removal()))) == HELD


def test_an_empty_node_is_not_marked_and_the_time_that_passed_does_not_count() -> None:
    empty = a_node(annotations=STARTED)
    decision = a_moment_later(a_pool(), *in_trouble(empty))
    assert told(decision) == []
    memory = decision.carry
    well = (a_pool(), CLOUD, empty, a_node(ANOTHER, annotations=STARTED), a_pod(node=ANOTHER))
    assert told(decided(*well, memory=memory)) == []
    assert told(decided(*well, memory=decided(*well, memory=memory).carry, now=NOW + 15 * SECOND)) != []


def test_the_mark_of_a_pool_that_is_deleted_stays_and_nobody_is_evicted() -> None:
    going = a_pool(deleted_at=NOW)
    assert told(decided(going, *in_trouble(MARKED, a_pod()))) == HELD


@pytest.mark.parametrize(
    "removal",
    [
        pytest.param(a_removal(), id="pending"),
        pytest.param(a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW - HOUR), id="to be asked again"),
        pytest.param(a_removal(phase="RemovalFailed", attempt=5, asked_at=NOW - HOUR), id="failed"),
        pytest.param(a_removal(phase="RemovalFailed", attempt=5, asked_at=NOW - HOUR, retry=True), id="to be retried"),
        pytest.param(a_removal(if_unready=True), id="for being unready"),
    ],
)
def test_removals_are_held_in_every_phase(removal: object) -> None:
    decision = decided(a_pool(), *in_trouble(MARKED, removal))
    assert told(decision) == HELD
    assert not [one for one in decision.said if isinstance(one, DeleteMachine | CreateObject | EvictPod)]


def test_what_a_provider_answered_is_written_down_all_the_same() -> None:
    removal = a_removal()
    said = decided(a_pool(), *in_trouble(MARKED, removal), outcome=an_answer(removal, Result.DONE)).said
    assert told(said) == [f"{NAME} -> Deprovisioning", *HELD]
    assert status_written([one for one in said if isinstance(one, PatchObject)])["removalAttempt"] == 1


def test_pods_of_a_machine_that_is_gone_wait_until_the_cluster_is_well() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW - MINUTE)
    cloud = a_cloud(*(a_machine(node.metadata.name) for node in BROKEN))
    assert told(a_moment_later(a_pool(), cloud, *BROKEN, MARKED, a_pod(), removal)) == HELD


def test_nodes_that_are_unready_for_long_are_not_removed_as_long_as_they_are_too_many() -> None:
    long_silent = [
        a_node(f"broken-{number}", ready=False, unready_since=NOW - HOUR, annotations=STARTED) for number in range(4)
    ]
    works = a_node(ANOTHER, annotations=STARTED)
    assert told(decided(a_pool(), CLOUD, *long_silent, works, a_pod(node=ANOTHER))) == []
    assert told(decided(a_pool(), CLOUD, long_silent[0])) == []  # the only one that there is


# When it is over


def recovered(*things: object, seconds_ago: int) -> Decision[Any]:
    """The same when the cluster is healthy again since a while."""
    snapshot = a_snapshot(*things)
    cluster = cluster_in(snapshot, SETTINGS)
    health = ClusterHealth(healthy_since=NOW - seconds_ago * SECOND, census=cluster.health.census)
    return decide(snapshot, Given(cluster=msgspec.structs.replace(cluster, health=health)), SETTINGS)


def test_the_delay_after_a_scale_up_counts_from_the_recovery() -> None:
    works = (a_node(ANOTHER, annotations=STARTED), a_pod(node=ANOTHER))
    silent: Node = a_node(ready=False, unready_since=NOW - HOUR, annotations=STARTED)
    decision = recovered(a_pool(), CLOUD, *works, silent, seconds_ago=60)
    assert (told(decision), decision.requeue_at) == ([f"hold {NAME}: RecentScaleUp"], NOW + 9 * MINUTE)
    assert told(recovered(a_pool(), CLOUD, *works, silent, seconds_ago=600)) == [f"remove {NAME}"]


def test_an_attempt_before_the_trouble_is_as_old_as_the_recovery() -> None:
    removal = a_removal(phase="Deprovisioning", attempt=1, asked_at=NOW - HOUR)
    works = (a_node(ANOTHER, annotations=STARTED), a_pod(node=ANOTHER))
    assert told(recovered(a_pool(), CLOUD, *works, MARKED, removal, seconds_ago=60)) == []
    said = told(recovered(a_pool(), CLOUD, *works, MARKED, removal, seconds_ago=120))
    assert said == [f"give back {NAME}/1 if {NAME} is empty"]


def test_while_requests_are_given_up_for_lack_of_a_machine_nothing_is_removed() -> None:
    """Step 4 of the registry's loop: the pass ends with that."""
    works = (a_node(ANOTHER, annotations=STARTED), a_pod(node=ANOTHER))
    lost = a_request("default-9", "Provisioning", since=NOW - HOUR)
    assert told(decided(a_pool(), CLOUD, *works, MARKED, a_removal(), lost)) == []
