"""Who is silent, and when the next one will be."""

from datetime import UTC, datetime, timedelta

from growth.api.change import Change, ChangeType
from growth.api.core import Lease, LeaseSpec
from growth.api.meta import ObjectMeta
from growth.observe.lease_heartbeats import NodeHeartbeats

NOON = datetime(2026, 3, 2, 12, tzinfo=UTC)
GOOD_FOR = 40
TWO_MISSED = timedelta(seconds=20)


class Ear:
    """Heartbeats, and a clock that stands still until it is moved."""

    def __init__(self) -> None:
        self.now = NOON
        self.heartbeats = NodeHeartbeats(lambda: self.now)

    def renew(self, name: str, after: float = 0.0, good_for: int = GOOD_FOR) -> None:
        self.now += timedelta(seconds=after)
        spec = LeaseSpec(name, good_for, renew_time=self.now)
        lease = Lease(ObjectMeta(name=name, namespace="kube-node-lease"), spec)
        self.heartbeats.hear([Change(ChangeType.MODIFIED, lease, None)])

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


def test_a_lease_that_was_only_found_is_no_renewal() -> None:
    """It may have been there for long; the next one tells."""
    ear = Ear()
    ear.renew("one")
    found = ear.heartbeats.of("one")
    assert found is not None
    assert not found.is_renewal
    ear.renew("one", after=10)
    renewed = ear.heartbeats.of("one")
    assert renewed is not None
    assert renewed.is_renewal
    assert renewed.heard_at == NOON + timedelta(seconds=10)


def test_a_lease_that_somebody_else_edits_is_not_renewed() -> None:
    ear = Ear()
    ear.renew("one")
    lease = Lease(ObjectMeta(name="one"), LeaseSpec("another", GOOD_FOR, renew_time=NOON))
    ear.now += timedelta(seconds=15)
    ear.heartbeats.hear([Change(ChangeType.MODIFIED, lease, None)])
    assert ear.silent(5) == ["one"]


def test_a_lease_that_is_deleted_is_forgotten() -> None:
    ear = Ear()
    ear.renew("one")
    ear.heartbeats.hear([Change(ChangeType.DELETED, Lease(ObjectMeta(name="one")), None)])
    assert (len(ear.heartbeats), ear.silent(60)) == (0, [])


def test_a_lease_that_does_not_say_for_how_long_it_is_good_is_good_as_long_as_usual() -> None:
    ear = Ear()
    ear.renew("one", good_for=0)
    assert ear.silent(19.9) == []
    assert ear.silent(20) == ["one"]


def test_each_lease_has_its_own_patience() -> None:
    ear = Ear()
    ear.renew("patient", good_for=120)
    ear.renew("usual")
    assert ear.silent(30) == ["usual"]
    assert ear.heartbeats.next_silence(ear.now + timedelta(seconds=30)) == NOON + timedelta(seconds=60)


def test_a_clock_that_was_set_back_hides_nobody() -> None:
    """Whoever was heard of before then looks as if that were to come; those behind it are looked at all the same."""
    ear = Ear()
    for name in ("dead", "alive"):
        ear.renew(name)
    ear.now -= timedelta(hours=1)
    ear.renew("alive")
    ear.renew("dies", after=1)
    assert ear.silent(0) == ["dead"], "nobody can tell, so it is to be looked at"
    assert ear.silent(21) == ["dead", "alive", "dies"]
    assert ear.heartbeats.next_silence(ear.now) == ear.now - timedelta(seconds=1) + TWO_MISSED
