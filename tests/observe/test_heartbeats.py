"""Who is silent, and when the next one will be."""

from datetime import UTC, datetime, timedelta

from growth.api.change import Change, Happened
from growth.api.coordination import Lease, LeaseSpec
from growth.api.meta import ObjectMeta
from growth.observe.heartbeats import Heartbeats

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
GOOD_FOR = 40
TWO_MISSED = timedelta(seconds=20)


class Ear:
    """Heartbeats, and a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOON
        self.heartbeats = Heartbeats(lambda: self.now)

    def renew(self, name: str, after: float = 0.0) -> None:
        self.now += timedelta(seconds=after)
        spec = LeaseSpec(name, GOOD_FOR, renew_time=self.now)
        lease = Lease(ObjectMeta(name=name, namespace="kube-node-lease"), spec)
        self.heartbeats.hear([Change(Happened.MODIFIED, lease, None)])

    def silent(self, after: float) -> list[str]:
        return list(self.heartbeats.silent(self.now + timedelta(seconds=after)))


def test_a_node_is_silent_in_the_very_instant_for_which_it_was_announced() -> None:
    """Whoever is woken for that instant is not woken again for it."""
    ear = Ear()
    ear.renew("one")
    announced = NOON + TWO_MISSED
    assert ear.heartbeats.next_silence(ear.now) == announced
    assert list(ear.heartbeats.silent(announced)) == ["one"]
    assert ear.heartbeats.next_silence(announced) is None
    assert ear.silent(19.9) == []


def test_the_longest_silent_comes_first_and_a_renewal_ends_it() -> None:
    ear = Ear()
    for name in ("late", "early"):
        ear.renew(name)
    ear.renew("late", after=3)
    assert ear.silent(30) == ["early", "late"]
    ear.renew("early", after=2)
    assert ear.silent(19) == ["late"]
    assert ear.heartbeats.next_silence(ear.now) == NOON + timedelta(seconds=3) + TWO_MISSED
