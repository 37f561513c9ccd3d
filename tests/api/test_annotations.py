"""A pod's back-off: what is written on it is what is read, whatever happened to the process in between."""

from datetime import UTC, datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.annotations import BACK_OFF, BackOff, back_off_of
from growth.api.meta import ObjectMeta
from growth.api.pod import Pod, PodSpec

NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)


def marked(text: str) -> Pod:
    return Pod(ObjectMeta("web", "shop", "uid", annotations={BACK_OFF: text}), PodSpec())


instants = st.datetimes(datetime(2020, 1, 1), datetime(2040, 1, 1), timezones=st.just(UTC))  # noqa: DTZ001 - drawn in UTC


@given(st.integers(0, 1_000), instants, st.none() | instants, st.text(max_size=20))
def test_what_was_written_is_read_again(failures: int, at: datetime, until: datetime | None, saw: str) -> None:
    back_off = BackOff(failures, at, until, saw)
    assert back_off_of(marked(back_off.encode())) == back_off


def test_it_reads_as_text_for_people() -> None:
    text = BackOff(3, NOON, NOON + timedelta(seconds=30), "5f2c").encode()
    assert text == '{"failures":3,"at":"2026-01-01T12:00:00Z","until":"2026-01-01T12:00:30Z","saw":"5f2c"}'


def test_a_pod_that_never_failed_has_none() -> None:
    assert back_off_of(Pod(ObjectMeta("web", "shop", "uid"), PodSpec())) is None


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("soon", id="a word"),
        pytest.param("[]", id="a list"),
        pytest.param('{"failures":"many","at":"2026-01-01T12:00:00Z"}', id="no number"),
        pytest.param('{"failures":1}', id="half of it"),
        pytest.param('{"failures":1,"at":"2026-01-01T12:00:00"}', id="a time without its zone"),
    ],
)
def test_what_cannot_be_read_counts_as_nothing(text: str) -> None:
    assert back_off_of(marked(text)) is None


def test_time_helps_until_no_time_is_named() -> None:
    assert not BackOff(3, NOON, NOON + timedelta(seconds=30)).is_final
    assert BackOff(9, NOON).is_final
