"""The contract: a provider that keeps its promises passes, and every one that breaks one is caught by its check."""

import pytest

from growth_lab.provider_contract import CHECKS, Broken, Check, NotTried, Trial, run_check
from tests.cloud import broken
from tests.cloud.memory import MemoryCloud, MemoryProvider, MemoryTrial

CAUGHT_BY: dict[type[MemoryProvider], str] = {
    broken.BuysAgain: "the_same_name_twice_is_one_machine",
    broken.RemembersOnlyItself: "the_same_name_after_a_crash_is_the_same_machine",
    broken.LooksThenBuys: "the_same_name_from_many_at_once_is_one_machine",
    broken.NamesItLater: "a_purchase_may_be_stopped_anywhere",
    broken.CallsAnOutageEmpty: "what_cannot_be_known_is_never_called_empty",
    broken.SellsNothingInAnOutage: "what_cannot_be_known_is_never_called_empty",
    broken.LetsErrorsLeak: "what_cannot_be_known_is_never_called_empty",
    broken.CallsAnOutageGone: "what_cannot_be_known_is_never_called_empty",
    broken.CannotDeleteTwice: "deleting_again_is_no_error",
    broken.UsesNamesAsIds: "a_name_may_be_used_again",
    broken.DeletesNothing: "a_deleted_machine_is_gone",
    broken.CutsNames: "the_longest_name_is_kept",
    broken.TakesAnyName: "a_name_that_is_no_hostname_is_refused",
    broken.HandsOutWhatIsThere: "a_name_is_never_given_to_another_kind_of_machine",
    broken.ShowsYesterday: "every_reading_says_when",
    broken.DoesNotSayInWhichZone: "every_reading_says_when",
    broken.AsksTheSystemToStop: "a_fenced_machine_is_off_and_stays_off",
    broken.SaysOffTooEarly: "a_fenced_machine_is_off_and_stays_off",
    broken.DoesNotKnowTheDead: "the_power_of_what_never_was_is_gone",
    broken.LooksAtStockFirst: "what_is_sold_out_is_told_by_name",
    broken.CallsSoldOutUnavailable: "what_is_sold_out_is_told_by_name",
    broken.HurriesUs: "asking_too_often_is_told_with_the_time_to_wait",
    broken.DeniesThatItActed: "a_purchase_whose_answer_was_lost_finds_itself",
    broken.SellsForNothingKnown: "what_is_sold_can_be_planned_with",
    broken.SellsTwiceTheSame: "what_is_sold_can_be_planned_with",
    broken.ForgetsThePool: "a_machine_that_was_made_is_listed_as_what_it_is",
    broken.NeverStarts: "a_new_machine_gets_power",
}


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
async def test_a_provider_that_keeps_its_promises_passes(check: Check) -> None:
    trial = MemoryTrial()
    await run_check(check, trial)
    assert not trial.cloud.machines, "a check gives back what it bought"


@pytest.mark.parametrize(("provider", "check"), CAUGHT_BY.items(), ids=lambda value: getattr(value, "__name__", value))
async def test_a_provider_that_breaks_a_promise_is_caught(provider: type[MemoryProvider], check: str) -> None:
    by_name = {known.__name__: known for known in CHECKS}
    with pytest.raises(Broken):
        await run_check(by_name[check], MemoryTrial(provider))


def test_every_broken_provider_is_tried() -> None:
    classes = [
        value for value in vars(broken).values() if isinstance(value, type) and value.__module__ == broken.__name__
    ]
    assert set(classes) == set(CAUGHT_BY)


def test_every_check_says_what_it_promises() -> None:
    assert [check.__name__ for check in CHECKS if not check.__doc__] == []
    assert len({check.__name__ for check in CHECKS}) == len(CHECKS)


async def test_a_trial_that_cannot_make_trouble_says_so() -> None:
    class Peaceful(Trial):
        opened, request, other_request = MemoryTrial.opened, MemoryTrial.request, MemoryTrial.other_request
        cloud, _provider = MemoryCloud(), MemoryProvider

    by_name = {known.__name__: known for known in CHECKS}
    with pytest.raises(NotTried, match="cannot make it happen that nothing is answered"):
        await run_check(by_name["what_cannot_be_known_is_never_called_empty"], Peaceful())
