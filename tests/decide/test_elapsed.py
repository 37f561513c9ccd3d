"""How old something is, on clocks that jump."""

from datetime import datetime, timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.meta import ObjectMeta
from growth.api.node_request import NodeRequest, NodeRequestSpec, NodeRequestStatus
from growth.decide.elapsed import counts_from, is_ahead, phase_since
from tests.decide.marketplace import HOUR, MINUTE, NOW, SECOND

_INSTANTS = st.integers(-100_000, 100_000).map(lambda seconds: NOW + timedelta(seconds=seconds))


@pytest.mark.parametrize(
    ("written", "steady_since", "expected"),
    [
        pytest.param(NOW - MINUTE, None, NOW - MINUTE, id="on a steady clock what is written holds"),
        pytest.param(NOW - MINUTE, NOW - HOUR, NOW - MINUTE, id="so it does if the clock jumped long before"),
        pytest.param(NOW - HOUR, NOW - MINUTE, NOW - MINUTE, id="what was written before a jump counts from the jump"),
        pytest.param(NOW + HOUR, NOW - MINUTE, NOW - MINUTE, id="so does what lies ahead"),
        pytest.param(NOW + HOUR, None, NOW, id="another machine's clock is ahead: it counts from now"),
        pytest.param(None, None, NOW, id="what was never written counts from now"),
        pytest.param(None, NOW - MINUTE, NOW - MINUTE, id="or from the jump"),
        pytest.param(NOW, None, NOW, id="now is not ahead"),
    ],
)
def test_from_when_a_deadline_counts(
    written: datetime | None, steady_since: datetime | None, expected: datetime
) -> None:
    assert counts_from(written, NOW, steady_since) == expected


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        pytest.param(NOW - MINUTE, NOW - MINUTE, id="what is written holds"),
        pytest.param(NOW + SECOND, NOW + SECOND, id="clocks differ a little"),
        pytest.param(NOW + HOUR, NOW - HOUR, id="one that was wrong says nothing: then it is as old as its request"),
    ],
)
def test_since_when_a_request_is_in_its_phase(written: datetime, expected: datetime) -> None:
    meta = ObjectMeta(name="default-1", creation_timestamp=NOW - HOUR)
    request = NodeRequest(meta, NodeRequestSpec("default", ""), NodeRequestStatus(phase_since=written))
    assert phase_since(request, NOW) == expected


@given(_INSTANTS | st.none(), _INSTANTS.filter(lambda one: one <= NOW) | st.none())
def test_nothing_is_ever_younger_than_now_or_older_than_the_clock_can_tell(
    written: datetime | None, steady_since: datetime | None
) -> None:
    begun = counts_from(written, NOW, steady_since)
    assert begun <= NOW
    assert steady_since is None or begun >= steady_since


@pytest.mark.parametrize(
    ("until", "expected"),
    [
        pytest.param(NOW + SECOND, True, id="a moment ahead"),
        pytest.param(NOW + 30 * MINUTE, True, id="as far as it is ever set"),
        pytest.param(NOW + 31 * MINUTE, False, id="farther than it could be set: a clock's mistake"),
        pytest.param(NOW, False, id="now it is over"),
        pytest.param(NOW - SECOND, False, id="long over"),
        pytest.param(None, False, id="never set"),
    ],
)
def test_whether_an_instant_is_ahead(until: datetime | None, *, expected: bool) -> None:
    assert is_ahead(until, NOW, 30 * MINUTE) is expected
