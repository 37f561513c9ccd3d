"""All checks, and how one of them is run."""

from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Final

from growth.cloud.errors import ProviderError
from growth.cloud.provider import Provider
from growth_lab.provider_contract import launches, outages, terminations
from growth_lab.provider_contract.harness import Broken, Trial

Check = Callable[[Trial, Provider], Awaitable[None]]

CHECKS: Final[tuple[Check, ...]] = (
    launches.what_is_sold_can_be_planned_with,
    launches.what_was_not_bought_is_not_listed,
    launches.a_machine_that_was_made_is_listed_as_what_it_is,
    launches.the_same_name_twice_is_one_machine,
    launches.the_same_name_from_many_at_once_is_one_machine,
    launches.the_same_name_after_a_crash_is_the_same_machine,
    launches.a_name_is_never_given_to_another_kind_of_machine,
    launches.machines_of_two_names_are_two,
    launches.a_name_that_is_no_hostname_is_refused,
    launches.the_longest_name_is_kept,
    launches.what_is_not_sold_is_refused,
    launches.a_new_machine_gets_power,
    terminations.a_deleted_machine_is_gone,
    terminations.deleting_again_is_no_error,
    terminations.deleting_what_never_was_is_no_error,
    terminations.a_name_may_be_used_again,
    terminations.every_reading_says_when,
    terminations.the_power_of_what_never_was_is_gone,
    terminations.a_fenced_machine_is_off_and_stays_off,
    terminations.a_purchase_does_not_undo_a_fence,
    terminations.fencing_what_never_was_is_no_error,
    outages.what_cannot_be_known_is_never_called_empty,
    outages.refused_credentials_are_told_as_such,
    outages.asking_too_often_is_told_with_the_time_to_wait,
    outages.what_is_sold_out_is_told_by_name,
    outages.an_exhausted_account_is_told_as_such,
    outages.a_purchase_whose_answer_was_lost_finds_itself,
    outages.a_deletion_whose_answer_was_lost_is_repeated,
    outages.a_purchase_may_be_stopped_anywhere,
)


async def run_check(check: Check, trial: Trial) -> None:
    """One check on a cloud of its own; what it bought is given back. Raises Broken, or NotTried."""
    async with trial.opened() as provider:
        try:
            await check(trial, provider)
        except ProviderError as error:
            raise Broken(f"this is no reason for an error; found {error!r}") from error
        finally:
            with suppress(ProviderError):  # a provider that cannot even do this fails a check of its own
                for machine in await trial.listed(provider):
                    await provider.delete(machine.id)
