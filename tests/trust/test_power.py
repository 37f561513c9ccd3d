"""When a machine ran is known to the second, whatever happened to it and in whatever order."""

from datetime import UTC, datetime, timedelta

import msgspec

from growth.api.machine import MachineRequest
from growth.cloud.kwok.catalog import MachineBehavior, read_catalogue
from growth.cloud.kwok.faults import faults_from
from growth.cloud.kwok.machine_record import MachineRecord
from growth_lab.scenarios.replica import CATALOGUE
from tests.trust.power import Powers

MADE_AT = datetime(2026, 3, 2, 9, tzinfo=UTC)
MACHINE = MachineRecord(
    name="one",
    uid="1",
    namespace="growth-system",
    request=MachineRequest("one", read_catalogue(CATALOGUE).offerings[0], "default"),
    created_at=MADE_AT,
    behaviour=MachineBehavior(timedelta(0)),
)
ID = MACHINE.provider_id


def with_faults(text: str) -> MachineRecord:
    return msgspec.structs.replace(MACHINE, behaviour=MachineBehavior(timedelta(0), faults_from(text)))


def lived(*changes: tuple[float, str]) -> Powers:
    """A machine that is made at 100 s, and to which this happens then."""
    powers = Powers()
    powers.take(MACHINE, 100.0, is_new=True, is_end=False)
    for at, faults in changes:
        powers.take(with_faults(faults), at, is_new=False, is_end=False)
    return powers


def test_a_machine_to_which_nothing_happens_runs() -> None:
    assert lived().runs(ID, 500.0)
    assert lived().last_death(ID, 500.0) is None


def test_one_that_nobody_knows_does_not_run() -> None:
    assert not lived().runs("kwok://growth-system/two/2", 500.0)


def test_it_is_dead_from_the_cut_until_it_is_switched_on() -> None:
    powers = lived((110.0, "powerOff"), (120.0, ""))
    assert powers.last_death(ID, 109.0) is None
    assert powers.last_death(ID, 115.0) == (110.0, 115.0)
    assert powers.last_death(ID, 300.0) == (110.0, 120.0)
    assert powers.runs(ID, 300.0)


def test_one_death_in_two_ways_is_one_death() -> None:
    assert lived((110.0, "powerOff"), (112.0, "hardwareFails")).last_death(ID, 115.0) == (110.0, 115.0)


def test_a_moment_of_power_is_an_interruption() -> None:
    assert lived((110.0, "powerOff"), (112.0, ""), (112.5, "powerOff")).last_death(ID, 115.0) == (112.5, 115.0)


def test_a_cut_that_was_ordered_comes_so_long_after_the_machine_was_made() -> None:
    assert lived((105.0, "powerOff=8s")).last_death(ID, 115.0) == (108.0, 115.0)


def test_a_partition_is_no_death() -> None:
    assert lived((110.0, "neverReady, listEmpty, listFails")).last_death(ID, 115.0) is None


def test_what_was_written_down_late_does_not_move_the_clock() -> None:
    powers = lived()
    powers.take(msgspec.structs.replace(MACHINE, uid="2"), 145.0, is_new=True, is_end=False)
    powers.take(with_faults("powerOff=8s"), 150.0, is_new=False, is_end=False)
    assert powers.last_death(ID, 151.0) == (150.0, 151.0)


def test_one_that_is_deleted_or_fenced_is_dead() -> None:
    powers = lived()
    powers.take(msgspec.structs.replace(MACHINE, is_fenced=True), 110.0, is_new=False, is_end=False)
    powers.take(MACHINE, 112.0, is_new=False, is_end=True)
    assert powers.last_death(ID, 115.0) == (110.0, 115.0)
