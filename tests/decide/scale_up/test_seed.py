"""Every sentence of the seed's "Handle New Demand", and the tests that hold us to it.

``make stories`` plays the stories on a virtual and on a real cluster; the others are tests of this folder.
"""

from importlib import import_module

import pytest

from tests.stories.growing_pods import STORIES

HERE = "tests.decide.scale_up"
SENTENCES: dict[str, list[str]] = {
    "1. Find Unschedulable Pods, label as Demands.": [
        "test_pending_pods_backoff.test_pods_that_no_scheduler_refused_are_not_demand",
        "test_pending_pods_backoff.test_pods_that_no_machine_helps_lead_to_nothing",
        "test_decider.test_a_plan_is_made_when_no_pod_has_come_for_a_moment",
        "story a burst of pods is one plan",
    ],
    "2.1. Match pod to NodePool if the pod asks for a specific NodePool.": [
        "test_pool_selection.test_the_four_rules_of_the_seed",
        "story node affinity chooses the pool",
    ],
    "2.2. If pod doesn't request a NodePool, and a default NodePool exists, use that.": [
        "test_pool_selection.test_the_four_rules_of_the_seed",
        "test_plan.test_all_placed_asks_for_each_machine_of_the_cheapest_plan",
    ],
    "2.3. If pod doesn't request a NodePool, and no default exists, create error event.": [
        "test_pod_events.test_who_asks_for_no_pool_where_there_is_no_default",
        "story without a default pool pods must ask for one",
    ],
    "2.4. If pod requests a NodePool, and it doesn't exist, create error event.": [
        "test_pod_events.test_who_asks_for_a_pool_that_is_not_there",
        "story a pool that is not there is told and planned for when it appears",
    ],
    "3. Retrieve NodeRequests in state Pending/Provisioning.": [
        "tests.decide.capacity.test_upcoming_nodes.test_pods_have_their_places_until_they_had_the_time_to_get_there",
        "test_plan.test_pods_that_fit_a_machine_that_is_coming_join_it",
        "story pods join a machine that is coming",
    ],
    "4. Retrieve NodeRequests in state Unmet: plan around them.": [
        "test_plan.test_what_is_unmet_is_planned_around",
        "test_decider.test_what_was_asked_for_and_could_not_be_had_is_planned_around_at_once",
    ],
    "5. Provide the Solver with Demands, Offerings, and existing NodeRequests smuggled as Offerings.": [
        "tests.decide.capacity.test_upcoming_nodes.test_a_machine_stands_on_the_stage_as_the_node_that_it_will_be",
        "test_plan.test_free_room_is_not_bought_again",
        "test_plan.test_what_pools_have_counts_against_their_limits",
        "story free room is used before anything is bought",
    ],
    "6.1. If the PlacementSolution is AllPlaced, create a NodeRequest for each potential node.": [
        "test_plan.test_all_placed_asks_for_each_machine_of_the_cheapest_plan",
        "test_launches.test_a_request_names_its_pool_its_offering_and_its_pods",
    ],
    "6.2. If the PlacementSolution is NoDemands, do nothing.": [
        "test_plan.test_no_demands_asks_for_nothing",
        "test_decider.test_where_nobody_waits_nothing_is_thought_or_asked_for",
    ],
    "6.3. If IncompletePlacement, create NodeRequests where possible, but also emit events.": [
        "test_plan.test_incomplete_placement_buys_what_it_can_and_says_why_not_the_rest",
        "test_pod_events.test_who_finds_no_place_is_told_why_and_how_often_is_written_on_it",
    ],
    "6.4. If a pod has been unplaceable for N consecutive loops, apply exponential backoff.": [
        "test_pending_pods.test_the_schedule_is_that_of_the_design",
        "test_pending_pods.test_a_failure_is_counted_at_most_once_in_ten_seconds",
        "test_decider.test_failures_count_anew_after_a_plan_that_placed_the_pod",
        "test_pending_pods_backoff.test_who_found_no_place_is_tried_again_on_schedule_then_not_at_all",
    ],
    "6.4. After reaching a backoff ceiling, mark the pod as BackOff, exclude it, emit a BackOff event.": [
        "test_pod_events.test_who_is_given_up_is_told_so",
        "test_pending_pods_backoff.test_who_is_in_back_off_is_not_part_of_plans_for_others",
        "test_decider.test_a_new_process_begins_with_what_is_written_in_the_cluster",
        "story a pod that nothing fits is told why and helped when its pool changes",
        "story back off survives a restart",
    ],
    "6.4. BackOff pods are re-evaluated when an offering recovers from Unmet.": [
        "tests.decide.capacity.test_retry_fingerprint.test_these_are_other_circumstances",
        "test_plan.test_an_offering_on_trial_is_probed_with_one_machine",
        "test_pending_pods_backoff.test_who_is_in_back_off_is_tried_at_once_when_its_pool_changes",
        "story a pool whose pods are all in back off comes back when there is stock",
        "story after a failure one machine is bought to see whether it comes",
    ],
}


@pytest.mark.parametrize("sentence", SENTENCES)
def test_every_step_of_the_seed_is_held_by_tests_that_exist(sentence: str) -> None:
    stories = {story.name for story in STORIES.all}
    for name in SENTENCES[sentence]:
        if name.startswith("story "):
            assert name.removeprefix("story ") in stories
        else:
            module, _, test = name.rpartition(".")
            where = module if module.startswith("tests.") else f"{HERE}.{module}"
            assert callable(getattr(import_module(where), test))


def test_every_story_of_demand_belongs_to_a_sentence() -> None:
    told = {name.removeprefix("story ") for tests in SENTENCES.values() for name in tests if name.startswith("story ")}
    assert told == {story.name for story in STORIES.all}
