"""Faults: what is read, what is written again, and in which words a wrong one is refused."""

from datetime import timedelta

import pytest

from growth.cloud.kwok.faults import Fault, FaultError, FaultType, fault_from, faults_from, faults_text, find

AMOUNTS = {FaultType.SLOW_BOOT: "=10m", FaultType.SMALLER: "=50%", FaultType.QUOTA: "=5", FaultType.POWER_OFF: "=1h30m"}


@pytest.mark.parametrize("kind", FaultType)
def test_every_fault_is_written_as_it_is_read(kind: FaultType) -> None:
    text = f"{kind}{AMOUNTS.get(kind, '')}"
    assert str(fault_from(text)) == text


def test_several_stand_in_one_text() -> None:
    faults = faults_from(" powerOff=1h, slowBoot=90s,deleteFails ,")
    assert faults_text(faults) == "powerOff=1h, slowBoot=1m30s, deleteFails"
    assert find(faults, FaultType.SLOW_BOOT) == Fault(FaultType.SLOW_BOOT, duration=timedelta(seconds=90))
    assert find(faults, FaultType.VANISHES) is None
    assert faults_from("") == ()


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        ("powerOf", "'powerOf' is no fault: the closest is powerOff"),
        ("earthquake", "'earthquake' is no fault: known are noStock, quota, slowBoot"),
        ("slowBoot", "slowBoot cannot have the amount '': expected a duration, such as slowBoot=10m"),
        ("slowBoot=soon", "slowBoot cannot have the amount 'soon': expected a duration, such as slowBoot=10m"),
        ("vanishes=-5m", "vanishes cannot have the amount '-5m': expected a duration"),
        ("smaller=150%", "smaller cannot have the amount '150%': expected a share below 100%, such as smaller=50%"),
        ("smaller", "smaller cannot have the amount '': expected a share below 100%"),
        ("quota=few", "quota cannot have the amount 'few': expected a whole number, such as quota=5"),
        ("noStock=3", "noStock takes no amount: expected just noStock, not 'noStock=3'"),
    ],
)
def test_a_wrong_fault_is_refused_in_words(text: str, sentence: str) -> None:
    with pytest.raises(FaultError) as raised:
        fault_from(text)
    assert sentence in str(raised.value)
