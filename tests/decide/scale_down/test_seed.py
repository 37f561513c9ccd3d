"""Every step of the seed's "Node Removal and ScaleDown", every sentence of what was required beyond it, and the tests
that hold us to it.

``make stories`` plays the stories on a virtual and on a real cluster; the others are tests, named by their modules.
"""

from importlib import import_module

import pytest

from tests.stories.shrinking import STORIES

HERE = "tests.decide.scale_down"
SEED: dict[str, list[str]] = {
    "1. For each Node with a NodePool label that has no pods (ignoring DaemonSets etc.), mark it, ScaleDownAt.": [
        "test_empty_nodes.test_an_empty_node_is_marked_with_the_instant_at_which_it_goes",
        "test_empty_nodes.test_pods_that_are_no_work_keep_no_node",
        "test_empty_nodes.test_a_node_with_work_is_never_marked",
        "test_empty_nodes.test_without_a_pool_nothing_is_done",
        "story a node that nobody needs goes",
    ],
    "1. The taint must be NoSchedule.": [
        "test_empty_nodes.test_taint_and_annotation_are_one_edit_of_the_version_that_was_seen",
        "tests.api.test_taints.test_the_taint_keeps_new_pods_away_and_no_others",
    ],
    "2. Where the current time has passed ScaleDownTime, verify, then create a NodeRemovalRequest, Pending.": [
        "test_empty_nodes.test_when_its_time_is_over_its_removal_is_asked_for",
        "test_empty_nodes.test_before_its_time_nothing_happens_and_we_are_woken_then",
    ],
    "2. If pods have been scheduled since (e.g. via tolerations), remove the taint and cancel the scale-down.": [
        "test_empty_nodes.test_what_cancels_a_mark",
        "test_empty_nodes.test_everything_of_a_mark_goes_and_nothing_else",
        "story a pod that tolerates everything slips in and the node stays",
    ],
    "3. For each NodeRemovalRequest Pending, request deletion and update the state to Deprovisioning.": [
        "test_removal_requests.test_a_pending_removal_asks_the_provider_and_has_the_node_looked_at_in_the_last_instant",
        "test_removal_requests.test_that_the_provider_was_asked_is_written_with_the_attempt_and_its_time",
    ],
    "4.1. Check state of Node on Provider; if deleted, remove the NodeRemovalRequest and free the node.": [
        "test_removal_requests.test_the_machine_goes_first_then_what_is_left_then_the_node_then_the_request",
        "test_removal_requests.test_what_a_provider_said_before_it_was_asked_proves_nothing",
    ],
    "4.1. If pods are present (e.g. via tolerations), cancel the removal: as long as there is a machine.": [
        "test_removal_requests.test_before_each_step_it_is_looked_whether_the_node_is_needed",
        "tests.act.test_termination.test_a_pod_that_moved_in_unseen_keeps_it_and_the_provider_is_not_asked",
    ],
    "4.2. Request deletion, increment removalAttempt, set removeAttemptedAt to now.": [
        "test_removal_requests.test_that_the_provider_was_asked_is_written_with_the_attempt_and_its_time",
        "test_removal_requests.test_each_attempt_is_counted_once",
    ],
    "4.3. If now - removeAttemptedAt exceeds a TTL, re-attempt deletion.": [
        "test_removal_requests.test_it_is_asked_again_when_its_time_is_over_and_not_before",
        "test_removal_requests.test_a_new_process_does_not_wait_longer",
    ],
    "4.4. If removalAttempt exceeds a total count, RemovalFailed; emit an event on it and on the Node.": [
        "test_removal_requests.test_after_so_many_attempts_it_has_failed_in_the_providers_own_words",
        "test_removal_requests.test_a_removal_that_failed_is_told_on_it_and_on_its_node_and_keeps_the_mark",
        "story a machine that cannot be deleted waits for a person",
    ],
}
REQUIRED: dict[str, list[str]] = {
    "Empty nodes ignore DaemonSet, mirror and finished pods.": [
        "test_empty_nodes.test_pods_that_are_no_work_keep_no_node"
    ],
    "The check is repeated before each step and directly before the provider is asked.": [
        "test_removal_requests.test_before_each_step_it_is_looked_whether_the_node_is_needed",
        "tests.act.test_termination.test_a_pod_that_moved_in_unseen_keeps_it_and_the_provider_is_not_asked",
    ],
    "Demand that fits the node cancels it too.": [
        "test_empty_nodes.test_demand_that_fits_cancels_it",
        "test_empty_nodes_reuse.test_demand_that_fits_a_marked_node_takes_it_back_and_nothing_is_bought",
        "story demand that fits takes a marked node back",
    ],
    "RemovalFailed keeps the taint.": [
        "test_removal_requests.test_a_removal_that_failed_is_told_on_it_and_on_its_node_and_keeps_the_mark"
    ],
    "It counts as cost and toward max.": [
        "test_empty_nodes_reuse.test_what_leaves_costs_and_counts_until_it_is_gone_and_keeps_nothing_warm"
    ],
    "It is shown by a metric.": [
        "tests.run.test_health.test_removals_are_counted_by_phase_and_a_phase_without_any_is_zero"
    ],
    "scaleDown.retryFailedAfter (default off) or growth request retry NAME resumes it.": [
        "test_removal_requests.test_the_pool_may_resume_it_and_by_default_does_not",
        "test_removal_requests.test_a_person_resumes_it_and_attempts_count_from_one",
    ],
    "Never below min.": [
        "test_empty_nodes.test_of_two_nodes_of_a_type_one_stays_ready",
        "test_empty_nodes.test_neither_what_leaves_nor_what_is_not_ready_keeps_anything_ready",
        "test_properties.test_scale_down_never_goes_below_min",
        "story what a pool keeps ready stays",
    ],
    "None within 10 min after a scale-up.": [
        "test_empty_nodes.test_within_the_delay_after_a_scale_up_a_mark_is_for_later",
        "test_empty_nodes.test_what_was_just_asked_for_is_a_scale_up_too",
        "test_empty_nodes.test_a_node_that_became_one_of_several_newcomers_waits_for_the_last",
    ],
    "do-not-disrupt (ours and the peers') is respected.": [
        "test_empty_nodes.test_what_cancels_a_mark",
        "tests.api.test_pod_classification.test_who_must_not_be_disturbed_says_so_in_one_of_three_tongues",
        "story what must not be disturbed stays until that is over",
    ],
    "The machine goes first, then what is left on it is released, then the Node object.": [
        "test_removal_requests.test_the_machine_goes_first_then_what_is_left_then_the_node_then_the_request",
        "tests.decide.writes.test_pod_release.test_the_node_waits_for_its_volumes",
        "story a volume is detached before its node goes",
    ],
    "Requests in Deprovisioning take the same way.": [
        "test_removal_requests.test_a_machine_that_never_became_a_node_just_goes",
        "test_removal_requests.test_a_node_that_never_became_ready_goes_whatever_was_bound_to_it",
        "test_removal_requests.test_a_given_up_node_that_became_ready_late_is_not_cancelled_by_its_own_request",
    ],
    "Leaked machines after their grace take the same way.": [
        "tests.decide.node_requests.test_orphaned_machines.test_one_that_cannot_be_used_is_removed_when_its_grace_is_over",
        "story a leaked machine goes after its grace",
    ],
    "deletionPolicy: Drain first cordons and evicts through the eviction API.": [
        "test_pool_deletion.test_all_nodes_are_marked_at_once_whoever_works_there",
        "test_pool_deletion.test_pods_are_asked_to_leave_from_so_many_nodes_at_a_time_as_the_pool_allows",
        "story a pool is drained as budgets allow",
    ],
    "Orphan leaves machines and nodes as they are.": [
        "test_pool_deletion.test_orphan_leaves_machines_nodes_and_pods_as_they_are",
        "tests.decide.pool_status.test_decider.test_an_orphaned_pool_is_held_until_its_nodes_can_be_left_as_they_are",
        "story an orphaned pool leaves everything as it is",
    ],
    "A clock that jumps ends no patience.": [
        "test_empty_nodes.test_after_a_jump_of_the_clock_patience_begins_anew",
        "test_empty_nodes.test_a_clock_that_was_set_back_keeps_no_node_for_ever",
        "test_removal_requests.test_each_attempt_is_counted_although_the_clock_was_set_back",
        "tests.decide.node_requests.test_orphaned_machines.test_a_clock_that_jumps_ends_no_grace",
    ],
    "While a provider is silent nothing is concluded.": [
        "test_removal_requests.test_a_provider_that_is_silent_proves_nothing",
        "test_properties.test_while_the_provider_is_silent_nothing_is_concluded",
    ],
    "What is not ours is never touched.": [
        "test_empty_nodes.test_what_no_provider_can_prove_to_be_ours_is_not_touched",
        "test_removal_requests.test_a_removal_of_a_node_that_was_never_ours_touches_nothing",
        "test_properties.test_a_stranger_is_never_touched",
    ],
    "An unready node goes after unreadyAfter.": ["test_unready_nodes.test_an_unready_node_goes_after_its_own_patience"],
    "100 nodes emptied over an hour are all gone within their delays plus one minute.": [
        "tests.stories.test_quiet_night.test_every_node_is_gone_a_minute_after_its_delay_at_the_latest"
    ],
}
SENTENCES = {**SEED, **REQUIRED}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_sentence_is_held_by_tests_that_exist(sentence: str) -> None:
    stories = {story.name for story in STORIES.all}
    for name in SENTENCES[sentence]:
        if name.startswith("story "):
            assert name.removeprefix("story ") in stories
        else:
            module, _, test = name.rpartition(".")
            where = module if module.startswith("tests.") else f"{HERE}.{module}"
            assert callable(getattr(import_module(where), test))


def test_every_story_of_scale_down_belongs_to_a_sentence() -> None:
    told = {name.removeprefix("story ") for tests in SENTENCES.values() for name in tests if name.startswith("story ")}
    assert told == {story.name for story in STORIES.all}
