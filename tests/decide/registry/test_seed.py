"""Every sentence of the seed's "Cluster State Registry", every one that was required beyond it, and the tests that hold
us to it.

``make stories`` plays the stories on a virtual and on a real cluster; the others are tests, named by their modules.
"""

from importlib import import_module

import pytest

from tests.stories.registry import STORIES

HERE = "tests.decide.registry"
USE_CASES: dict[str, list[str]] = {
    "UC1: asked for a short while ago, and not there yet; counted on.": [
        "test_use_cases.test_uc1_what_was_just_asked_for_is_requested",
        "test_use_cases.test_uc1_it_is_requested_since_it_was_asked_for_and_until_its_time_is_over",
        "test_use_cases.test_uc1_a_machine_without_request_has_the_same_time_to_register",
        "test_step_order.test_step_7_what_is_coming_is_not_bought_again",
        "story a machine that is coming is bought once",
    ],
    "UC2: registered a short while ago, and not ready yet; counted on.": [
        "test_use_cases.test_uc2_a_closed_node_that_was_never_ready_boots",
        "test_use_cases.test_uc2_a_node_that_is_ready_and_still_closed_is_being_prepared_for_as_long_as_it_takes",
        "test_step_order.test_step_7_what_is_coming_is_not_bought_again",
        "story a machine that is coming is bought once",
    ],
    "UC3: registered, and never ready in reasonable time; no more of it, and it goes.": [
        "test_use_cases.test_uc3_a_node_that_is_not_ready_in_time_failed_to_start",
        "test_use_cases.test_uc3_whether_it_was_ever_ready_is_what_we_recorded_and_not_a_time_that_looks_like_its_birth",
        "test_step_stories.test_s2_offering_counts_unready_failed_and_overdue_machines_together",
        "tests.decide.scale_down.test_unready_nodes.test_a_node_that_never_started_and_nobody_waits_for_goes",
        "story what failed to start is given up and not launched until a probe works",
    ],
    "UC4: its provider lists no machine for a prolonged time; the target is reduced to what there is.": [
        "test_use_cases.test_uc4_what_its_provider_does_not_have_in_time_was_never_created",
        "test_use_cases.test_uc4_a_provider_that_does_not_answer_proves_nothing",
        "test_use_cases.test_uc4_what_was_given_up_stays_so_and_only_what_was_overdue_speaks_against_its_pool",
        "test_step_order.test_step_4_what_is_missing_for_long_is_given_up_and_the_pass_ends_there",
        "story only what did not arrive is given up",
    ],
    "UC5: its machine is there and did not register for a long time; such machines go one by one.": [
        "test_use_cases.test_uc5_a_machine_whose_node_does_not_come_in_time_never_registered",
        "test_use_cases.test_uc5_a_machine_that_has_neither_request_nor_node_never_registered",
        "test_step_order.test_step_3_machines_that_never_registered_go_one_by_one_the_oldest_first",
        "story machines that never register go one by one",
    ],
    "UC6: unready for 20 minutes or more while few are; it may go, after a longer time.": [
        "test_use_cases.test_uc6_a_node_that_worked_and_does_not_now_is_unready_and_for_long_after_its_time",
        "test_use_cases.test_uc6_the_pool_says_what_long_is_and_without_a_pool_nobody_does",
        "test_step_order.test_step_9_an_unready_node_goes_after_its_longer_time",
        "story nodes that are unready for long",
    ],
    "UC7: being removed; work goes on.": [
        "test_use_cases.test_uc7_what_a_removal_speaks_of_is_being_removed_whatever_else_is_true",
        "test_use_cases.test_uc8_those_that_come_and_go_have_their_reasons",
        "story a node that is being removed is not unready",
    ],
    "UC8: too many unready without a reason; everything halts.": [
        "test_use_cases.test_uc8_too_many_nodes_that_are_unready_without_reason_halt_everything",
        "test_use_cases.test_uc8_those_that_come_and_go_have_their_reasons",
        "story most nodes fall silent and everything halts",
    ],
}
ANSWERS: dict[str, list[str]] = {
    "S1: is the cluster in good enough shape? If not, halt and alert.": [
        "test_step_stories.test_s1_the_cluster_is_healthy_unless_too_many_nodes_are_unready_without_reason",
        "test_decider.test_the_alarm_is_told_on_every_pool_and_in_the_same_words_as_long_as_it_lasts",
        "test_step_order.test_step_2_nothing_is_planned_bought_given_up_or_removed_in_it",
    ],
    "S2: is a pool? If not, it is not scaled up until the situation improves.": [
        "test_step_stories.test_s2_offering_counts_unready_failed_and_overdue_machines_together",
        "test_step_stories.test_s2_it_improves_when_it_was_within_its_limits_for_a_while",
        "test_step_order.test_step_6_what_is_unhealthy_is_not_expanded_and_the_plan_goes_elsewhere",
    ],
    "S3: what should arrive soon? It is not asked for again.": [
        "test_step_stories.test_s3_what_is_asked_for_and_what_boots_is_upcoming_per_pool_and_offering",
        "test_step_order.test_step_7_what_is_coming_is_not_bought_again",
    ],
    "S4: for how long has a pool been missing nodes? What is missing for long is given up.": [
        "test_step_stories.test_s4_what_was_asked_for_and_has_no_node_is_missing_since_the_oldest_was_asked_for",
        "test_step_stories.test_s4_a_gap_that_lasts_gives_up_only_what_did_not_arrive",
    ],
    "It works with unready nodes around; those that do not come back are removed in the end, and replaced.": [
        "test_step_stories.test_s1_the_cluster_is_healthy_unless_too_many_nodes_are_unready_without_reason",
        "test_step_order.test_step_5_nodes_that_are_leaving_or_unready_are_no_place",
        "test_step_order.test_step_9_an_unready_node_goes_after_its_longer_time",
        "story nodes that are unready for long",
    ],
}
STEPS: dict[str, list[str]] = {
    "1. Get all nodes.": ["test_step_order.test_step_1_all_nodes_are_looked_at_whoever_they_belong_to"],
    "2. If most are not ready: alert, skip, wait 10 seconds, and clear the unneeded stats.": [
        "test_step_order.test_step_2_an_unhealthy_cluster_is_told_of_and_looked_at_again_after_ten_seconds",
        "test_step_order.test_step_2_nothing_is_planned_bought_given_up_or_removed_in_it",
        "test_step_order.test_step_2_the_time_that_unneeded_nodes_have_waited_is_forgotten",
    ],
    "3. Remove those that failed to register.": [
        "test_step_order.test_step_3_machines_that_never_registered_go_one_by_one_the_oldest_first",
    ],
    "4. Reduce a group by those that are missing for long, and skip the rest.": [
        "test_step_order.test_step_4_what_is_missing_for_long_is_given_up_and_the_pass_ends_there"
    ],
    "5. Skip pending pods that fit on ready nodes that do not go soon.": [
        "test_step_order.test_step_5_pods_that_fit_on_nodes_that_are_ready_need_no_machine",
        "test_step_order.test_step_5_nodes_that_are_leaving_or_unready_are_no_place",
    ],
    "6. Skip groups that are not healthy.": [
        "test_step_order.test_step_6_what_is_unhealthy_is_not_expanded_and_the_plan_goes_elsewhere",
        "test_step_order.test_step_6_nothing_is_bought_for_a_pool_that_is_unhealthy_as_a_whole",
        "test_step_order.test_step_6_an_unhealthy_pool_leaves_others_alone",
    ],
    "7. Account for those that are yet to come.": [
        "test_step_order.test_step_7_what_is_coming_is_not_bought_again",
        "test_step_order.test_step_7_what_will_not_come_any_more_is_not_counted_on",
    ],
    "8. Calculate the unneeded nodes, unready ones included, in every iteration.": [
        "test_step_order.test_step_8_empty_nodes_are_marked_and_unready_ones_are_watched_by_their_own_record",
        "test_step_order.test_step_8_work_takes_the_mark_off_again",
    ],
    "9. Remove some after 10 minutes, unready ones later, if there was no recent scale-up.": [
        "test_step_order.test_step_9_an_empty_node_goes_when_its_time_is_over_and_not_before",
        "test_step_order.test_step_9_an_unready_node_goes_after_its_longer_time",
        "test_step_order.test_step_9_none_goes_within_the_delay_after_a_scale_up",
        "tests.decide.scale_down.test_empty_nodes.test_scale_up_of_another_pool_delays_a_removal_unless_the_scope_is_the_pool",
    ],
}
REQUIRED: dict[str, list[str]] = {
    "Each node and each machine has exactly one state, with since-when and why.": [
        "test_properties.test_everything_is_in_exactly_one_state",
        "test_properties.test_everything_is_in_exactly_one_state_for_a_long_time",
        "test_use_cases.test_uc6_it_is_said_how_the_node_and_its_machine_are",
        "test_decider.test_those_in_trouble_are_named_the_most_serious_first",
    ],
    "RemovalFailed, Ready and Foreign are states, too.": [
        "test_use_cases.test_uc7_a_removal_that_failed_is_a_state_of_its_own",
        "test_use_cases.test_a_node_that_works_is_ready_and_nothing_changes_that_but_an_event",
        "test_use_cases.test_a_node_without_our_label_is_foreign",
    ],
    "The lists are joined by providerID, then by name.": [
        "test_use_cases.test_a_node_and_its_machine_belong_together_by_provider_id_whatever_they_are_called",
        "test_use_cases.test_a_node_without_provider_id_belongs_to_the_machine_of_its_name",
        "test_use_cases.test_a_node_of_that_name_on_another_machine_is_not_the_requests",
        "test_use_cases.test_of_two_nodes_on_one_machine_the_first_by_name_has_it",
    ],
    "A provider that errors is unknown, never empty.": [
        "test_use_cases.test_uc4_a_provider_that_does_not_answer_proves_nothing",
        "test_use_cases.test_uc5_a_provider_that_does_not_answer_proves_nothing",
        "test_use_cases.test_a_node_whose_machine_is_not_listed_is_ready_all_the_same_and_it_is_said",
        "tests.decide.scale_down.test_unready_nodes.test_nothing_is_concluded_from_silence",
    ],
    "S1: more than 3 and more than 45%, or one unready and none ready; no nodes, or only coming ones, is healthy.": [
        "test_step_stories.test_s1_the_cluster_is_healthy_unless_too_many_nodes_are_unready_without_reason",
        "test_step_stories.test_s1_a_cluster_in_which_nodes_only_come_or_only_go_is_healthy",
        "test_step_stories.test_s1_both_limits_are_settings",
    ],
    "Unhealthy: no request to a provider, creates are only watched, no removal; timers are cleared.": [
        "test_step_order.test_step_2_nothing_is_planned_bought_given_up_or_removed_in_it",
        "test_step_order.test_step_2_what_is_there_already_is_noted_and_opened",
        "test_step_order.test_step_2_no_leaked_machine_is_removed_although_its_pool_is_being_deleted",
        "test_properties.test_nothing_is_bought_or_removed_in_an_unhealthy_cluster",
        "tests.decide.scale_down.test_decider.test_a_mark_is_taken_off_and_people_are_told_why",
    ],
    "Deadlines that pass meanwhile count from healthySince, also after a restart.": [
        "test_step_stories.test_s1_no_deadline_passes_in_an_unhealthy_cluster_and_later_it_counts_from_the_recovery",
        "test_step_stories.test_s1_since_when_it_is_healthy_outlives_the_process",
        "test_step_stories.test_s1_a_new_process_goes_on_in_the_middle_of_an_outage",
        "test_step_stories.test_s1_a_new_process_that_finds_all_well_waits_for_one_check_and_counts_deadlines_from_then",
    ],
    "The alert is told once, with the list; it is checked every 10 s; recovery is announced.": [
        "test_decider.test_the_alarm_is_told_on_every_pool_and_in_the_same_words_as_long_as_it_lasts",
        "test_step_stories.test_s1_the_alarm_is_worded_once_and_names_those_that_began_it",
        "test_step_stories.test_s1_it_is_looked_again_every_ten_seconds",
        "test_decider.test_the_recovery_is_announced_once_and_for_a_minute",
    ],
    "Foreign unready nodes count for the alarm, are shown apart, and halt for 30 min at most.": [
        "test_step_stories.test_s1_foreign_nodes_halt_us_for_half_an_hour_at_most_and_deadlines_count_from_then",
        "test_step_stories.test_s1_when_ours_are_too_many_by_themselves_they_halt_us_for_as_long_as_it_takes",
        "test_use_cases.test_uc2_a_foreign_node_that_boots_is_no_reason_for_alarm_until_its_time_is_over",
        "tests.cli.test_status_view.test_foreign_nodes_that_halt_it_are_told_apart",
        "story silent nodes of others halt for a while only",
    ],
    "S2: counted together per pool and per offering; limits and improvement are settings; the plan goes elsewhere.": [
        "test_step_stories.test_s2_offering_counts_unready_failed_and_overdue_machines_together",
        "test_step_stories.test_s2_a_pool_and_an_offering_have_limits_of_their_own",
        "test_step_stories.test_s2_too_much_amiss_of_one_offering_closes_that_and_not_its_pool",
        "test_step_stories.test_s2_if_more_than_one_offering_is_to_blame_it_is_the_pool",
        "test_step_stories.test_s2_whoever_gets_worse_meanwhile_begins_anew",
        "test_page.test_every_setting_has_its_row_its_default_and_its_place",
        "test_step_order.test_step_6_what_is_unhealthy_is_not_expanded_and_the_plan_goes_elsewhere",
    ],
    "S3: no second purchase for pods already served; who fits a coming node is planned onto it.": [
        "test_step_order.test_step_7_what_is_coming_is_not_bought_again",
        "test_properties.test_what_is_coming_and_what_is_there_is_never_more_than_was_asked_for",
    ],
    "S4: missing since, per pool and offering; only what did not arrive is given up; the pass ends there.": [
        "test_step_stories.test_s4_what_was_asked_for_and_has_no_node_is_missing_since_the_oldest_was_asked_for",
        "test_step_stories.test_s4_a_gap_that_lasts_gives_up_only_what_did_not_arrive",
        "test_step_order.test_step_4_what_is_missing_for_long_is_given_up_and_the_pass_ends_there",
    ],
    "UC5: one by one, oldest first, only in a healthy cluster and only ours.": [
        "test_step_order.test_step_3_machines_that_never_registered_go_one_by_one_the_oldest_first",
        "tests.decide.node_requests.test_provisioning_unregistered.test_each_pool_has_one_of_its_own",
        "tests.decide.node_requests.test_halted.test_who_is_overdue_in_a_broken_cluster_is_not_to_blame",
    ],
    "UC6: with pods and a machine that runs it is only alerted, unless removeUnreachable is on.": [
        "tests.decide.scale_down.test_unready_nodes.test_with_pods_it_goes_only_if_nothing_runs_there_any_more",
        "tests.decide.scale_down.test_unready_nodes.test_people_are_told_of_pods_that_nobody_can_reach",
        "tests.decide.scale_down.test_unready_nodes.test_a_pool_may_say_that_they_go_with_it",
    ],
    "UC6: one that recovers at 19:59 keeps its clean record.": [
        "test_use_cases.test_uc6_one_that_recovers_in_the_last_second_has_a_clean_record",
        "tests.act.test_unready_termination.test_a_node_that_came_back_unseen_stays_and_the_provider_is_not_asked",
    ],
    "The page has each use case's indicators; that a node was ever ready is recorded by us.": [
        "test_page.test_every_use_case_has_its_row_and_its_state",
        "test_use_cases.test_uc3_whether_it_was_ever_ready_is_what_we_recorded_and_not_a_time_that_looks_like_its_birth",
        "tests.decide.node_requests.test_halted.test_a_node_that_is_what_was_planned_is_opened",
    ],
    "What is needed survives a restart.": [
        "test_step_stories.test_s1_a_new_process_goes_on_in_the_middle_of_an_outage",
        "test_step_stories.test_s2_what_is_closed_outlives_the_process_in_the_status_of_its_pool",
        "test_decider.test_what_is_read_again_is_what_was_written",
        "test_decider.test_an_object_that_somebody_broke_is_read_as_nothing_and_mended",
        "tests.stories.test_partition.test_a_partition_of_two_hours_costs_nobody_anything",
    ],
    "Seen from outside: the pools' status and conditions, growth-status, metrics, growth status.": [
        "tests.decide.pool_status.test_decider.test_the_condition_healthy_says_what_is_amiss",
        "tests.decide.pool_status.test_decider.test_the_condition_expanding_says_what_is_coming",
        "tests.decide.pool_status.test_decider.test_since_when_something_is_missing_is_told",
        "test_decider.test_every_unit_is_counted_in_one_state",
        "test_decider.test_numbers_are_written_every_five_seconds_at_most",
        "test_decider.test_a_turn_for_the_worse_or_the_better_is_written_at_once",
        "test_page.test_every_metric_has_its_row",
        "tests.cli.test_status.test_an_unhealthy_cluster_ends_with_1_and_tells_everything_as_json",
    ],
    "Nodes that flap for an hour, and a partition of 60%, cost nobody a machine.": [
        "test_step_stories.test_s1_whoever_falls_ill_again_within_the_check_is_not_healthy_meanwhile",
        "tests.stories.test_flapping.test_nodes_that_flap_are_neither_removed_nor_replaced",
        "tests.stories.test_flapping.test_a_cluster_that_flaps_as_a_whole_is_left_alone_until_it_is_quiet",
        "tests.stories.test_partition.test_a_partition_of_two_hours_costs_nobody_anything",
    ],
    "For random histories no machine is removed while the cluster is unhealthy.": [
        "test_properties.test_nothing_is_bought_or_removed_in_an_unhealthy_cluster_for_a_long_time"
    ],
    "What is unchanged is not recomputed, and a step equals a look at everything.": [
        "test_properties.test_a_step_comes_to_what_a_look_at_everything_comes_to",
        "test_properties.test_steps_come_to_what_looks_at_everything_come_to_for_a_long_time",
        "tests.observe.test_journal.test_nobody_is_missed",
    ],
    "Clocks that are set end no patience and keep nobody waiting.": [
        "test_use_cases.test_after_a_jump_of_the_clock_every_patience_begins_anew",
        "test_step_stories.test_s1_a_clock_that_is_set_back_keeps_nobody_waiting_for_its_return",
        "test_step_stories.test_s2_a_clock_that_is_set_back_closes_nothing_for_longer",
    ],
}
SENTENCES = {**USE_CASES, **ANSWERS, **STEPS, **REQUIRED}


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


def test_every_story_of_the_registry_belongs_to_a_sentence() -> None:
    told = {name.removeprefix("story ") for tests in SENTENCES.values() for name in tests if name.startswith("story ")}
    assert told == {story.name for story in STORIES.all}


@pytest.mark.parametrize(
    "name", [*(f"uc{number}" for number in range(1, 9)), *(f"s{number}" for number in range(1, 5))]
)
def test_every_use_case_and_every_answer_has_tests_of_its_name(name: str) -> None:
    where = import_module(f"{HERE}.{'test_use_cases' if name.startswith('uc') else 'test_step_stories'}")
    assert [test for test in vars(where) if test.startswith(f"test_{name}_")]


@pytest.mark.parametrize("number", range(1, 10))
def test_every_step_has_tests_of_its_name(number: int) -> None:
    where = import_module(f"{HERE}.test_step_order")
    assert [test for test in vars(where) if test.startswith(f"test_step_{number}_")]
