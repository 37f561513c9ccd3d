"""How a played machine is at an instant."""

from datetime import timedelta

import pytest

from growth.api.machine import Power
from growth.cloud.kwok.machine_record import machine_from, state_of
from tests.cloud.kwok_records import BOOT, MADE, a_record

UP, MUTE, SILENT = (Power.ON, True, True), (Power.ON, False, False), (Power.ON, True, False)
BOOTING, OFF, BROKEN, GONE = ((power, False, False) for power in (Power.STARTING, Power.OFF, Power.FAILED, Power.GONE))


@pytest.mark.parametrize(
    ("faults", "after_seconds", "state", "changes_after"),
    [
        pytest.param("", 0, BOOTING, 20, id="a new machine boots"),
        pytest.param("", 19.9, BOOTING, 20, id="a moment before it is up, it is not"),
        pytest.param("", 20, UP, None, id="when its time has come, it is up"),
        pytest.param("", 86_400, UP, None, id="and stays up"),
        pytest.param("slowBoot=10m", 20, BOOTING, 620, id="a slow one takes longer"),
        pytest.param("slowBoot=10m", 620, UP, None, id="but comes"),
        pytest.param("neverBoots", 86_400, BOOTING, None, id="one that never boots starts for ever"),
        pytest.param("neverRegisters", 60, MUTE, None, id="one that never registers runs all the same"),
        pytest.param("neverReady", 60, SILENT, None, id="one that is never Ready has a node"),
        pytest.param("neverReady=1h", 60, UP, 3600, id="a partition may come later"),
        pytest.param("neverReady=1h", 3600, SILENT, None, id="and cuts it off"),
        pytest.param("powerOff=1h", 60, UP, 3600, id="power lasts until it is cut"),
        pytest.param("powerOff=1h", 3600, OFF, None, id="and is cut then"),
        pytest.param("powerOff", 0, OFF, 20, id="without a time it is cut at once"),
        pytest.param("hardwareFails=1h", 60, UP, 3600, id="hardware lasts until it breaks"),
        pytest.param("hardwareFails=1h", 3600, BROKEN, None, id="and is broken then"),
        pytest.param("vanishes=5s", 4, BOOTING, 5, id="it may vanish before it is up"),
        pytest.param("vanishes=5s", 5, GONE, 20, id="and is gone then"),
        pytest.param("powerOff, vanishes=1h", 3600, GONE, None, id="gone is more than off"),
        pytest.param("deleteFails, listEmpty", 20, UP, None, id="other faults change nothing here"),
    ],
)
def test_a_machine_follows_from_its_record_and_the_clock(
    faults: str, after_seconds: float, state: tuple[Power, bool, bool], changes_after: float | None
) -> None:
    found = state_of(a_record(faults=faults), MADE + timedelta(seconds=after_seconds))
    changes_at = None if changes_after is None else MADE + timedelta(seconds=changes_after)
    assert (found.power, found.registers, found.speaks) == state
    assert found.changes_at == changes_at


def test_a_fenced_machine_is_off_whatever_else_is_said() -> None:
    assert state_of(a_record(fenced=True), MADE + BOOT).power is Power.OFF
    assert state_of(a_record(fenced=True, faults="neverBoots"), MADE).power is Power.OFF


def test_the_clock_alone_never_brings_a_machine_back() -> None:
    record = a_record(faults="slowBoot=30s, neverReady=2m, powerOff=3m, vanishes=4m")
    rank = {Power.STARTING: 0, Power.ON: 1, Power.OFF: 2, Power.GONE: 3}
    seen = [rank[state_of(record, MADE + timedelta(seconds=second)).power] for second in range(300)]
    assert seen == sorted(seen)
    assert set(seen) == {0, 1, 2, 3}


def test_a_machine_is_told_with_the_instant_of_the_look() -> None:
    machine = machine_from(a_record(), MADE + BOOT)
    assert (machine.power, machine.read_at, machine.created_at) == (Power.ON, MADE + BOOT, MADE)
    assert machine.provider_id == f"kwok://growth-system/{machine.id}" == "kwok://growth-system/default-1/uid-1"
    assert machine.reading.machine_id == machine.id
