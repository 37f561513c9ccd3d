"""Who works on which shard, who writes down first, and who lets others go first."""

from datetime import timedelta

import pytest

from growth.api.actions import PatchObject
from growth.api.change import Change, ChangeType
from growth.api.core import LeaseSpec
from growth.api.meta import ObjectMeta
from growth.api.node_memory import SHARD_LEASES, ShardLease, shard_name
from growth.api.settings.model import Settings
from growth.decide.node_memory.carry import ObservedShard, in_turn
from growth.decide.node_memory.shard_leases import ShardLeases, ShardOwnership
from growth.observe.cache import ClusterCache
from growth_lab.simulator.clock import BEGINNING

SETTINGS = Settings()
LEASE_SECONDS = SETTINGS.leader_election.lease_duration
MANY, FEW = 1000, 3


def shards_of(*holders: str | None, age: timedelta = timedelta(0)) -> ShardLeases:
    """Shards 0, 1, ... as ``me`` sees them, with Leases of these holders that were renewed so long ago."""
    world, names = ClusterCache(remembers=True), [shard_name(number, 64) for number in range(len(holders))]
    leases = {
        number: ShardLease(
            metadata=ObjectMeta(name=names[number], namespace=SETTINGS.namespace, uid=str(number), resource_version=1),
            spec=LeaseSpec(holder_identity=holder, renew_time=BEGINNING - age, lease_duration_seconds=15),
        )
        for number, holder in enumerate(holders)
        if holder is not None
    }
    world.listeners()[SHARD_LEASES]([Change(ChangeType.ADDED, lease, None) for lease in leases.values()])
    records = {number: (str(number), one.spec.holder_identity, BEGINNING - age, 0) for number, one in leases.items()}
    sights = {number: ObservedShard(record, BEGINNING - age) for number, record in records.items()}
    return ShardLeases(world.snapshot(BEGINNING), SETTINGS, "me", sights, range(len(holders)))


def claimed(shards: ShardLeases) -> list[str]:
    """Names of the Leases that are taken."""
    return [
        action.subject.name
        for action in shards.said
        if isinstance(action, PatchObject) and action.body["spec"].get("holderIdentity") == "me"
    ]


def given_up(shards: ShardLeases) -> list[str]:
    """Names of the Leases that are given back."""
    return [
        action.subject.name
        for action in shards.said
        if isinstance(action, PatchObject) and action.body["spec"].get("holderIdentity", "") is None
    ]


def test_who_held_a_shard_last_writes_down_at_once_although_its_lease_has_run_out() -> None:
    shards = shards_of("me", age=timedelta(hours=1))
    assert shards.patience(0, MANY) == (timedelta(0), BEGINNING)


@pytest.mark.parametrize("age", [timedelta(hours=1), timedelta(hours=-1)], ids=["has run out", "a clock was set back"])
def test_who_held_a_shard_last_goes_on_and_renews_it_until_it_hears_of_another_one(age: timedelta) -> None:
    """A stream that lags by more than a Lease is good for shows every renewal when it has run out again."""
    shards = shards_of("me", age=age)
    assert shards.standing(0) is ShardOwnership.MINE
    assert shards.take({0: 1}) == {0}
    (renewal,) = shards.said
    assert isinstance(renewal, PatchObject)
    assert list(renewal.body["spec"]) == ["renewTime"]


def test_lease_is_kept_but_not_renewed_where_our_own_stream_of_nodes_is_behind() -> None:
    shards = shards_of("me", "me", age=timedelta(seconds=8))
    assert shards.take({0: 1, 1: 1}, behind={0}) == {0, 1}
    assert [action.subject.name for action in shards.said] == [shard_name(1, 64)]


@pytest.mark.parametrize("holder", ["other", "", None], ids=["another one's", "given up", "never had"])
def test_others_wait_a_second_or_two_if_little_is_unwritten(holder: str | None) -> None:
    wait, earliest = shards_of(holder).patience(0, FEW)
    assert timedelta(seconds=1) <= wait < timedelta(seconds=2)
    assert earliest == BEGINNING


def test_with_much_unwritten_others_wait_until_the_lease_is_not_renewed_any_more() -> None:
    age = timedelta(seconds=4)
    _, earliest = shards_of("other", age=age).patience(0, MANY)
    assert earliest == BEGINNING - age + LEASE_SECONDS


def test_with_much_unwritten_in_a_shard_that_nobody_holds_it_is_written_within_the_time_of_a_lease() -> None:
    wait, earliest = shards_of("other", age=timedelta(hours=1)).patience(0, MANY)
    assert timedelta(seconds=10) < wait <= LEASE_SECONDS
    assert earliest == BEGINNING


def test_who_has_enough_to_do_lets_others_take_a_free_shard_first() -> None:
    age = LEASE_SECONDS + timedelta(seconds=1)
    idle = shards_of("other", age=age)
    assert idle.take({0: 1}) == set()
    assert claimed(idle) == [shard_name(0, 64)]
    busy = shards_of("other", "me", age=age)
    assert busy.take({0: 1, 1: MANY}) == {1}
    assert claimed(busy) == []  # the other one's within two seconds, if nobody does
    assert timedelta(0) < min(busy.deadlines) - BEGINNING <= timedelta(seconds=2)


def test_who_has_too_much_to_do_and_more_than_its_share_gives_up_one_at_a_time() -> None:
    shards = shards_of(*["me"] * 6, "other", "other")
    mine = shards.take(dict.fromkeys(range(8), MANY))
    assert given_up(shards) == [shard_name(5, 64)]
    assert mine == set(range(5))


@pytest.mark.parametrize(
    "holders",
    [("me", "me", "other", "other"), ("me", "me", "me", "")],
    ids=["it has no more than its share", "nobody has taken the one that is free"],
)
def test_nothing_is_given_up_in_vain(holders: tuple[str, ...]) -> None:
    shards = shards_of(*holders)
    shards.take(dict.fromkeys(range(4), MANY))
    assert given_up(shards) == []


def test_lines_are_served_in_turn_and_one_that_stands_twice_is_served_twice() -> None:
    letters, numbers = iter("abcde"), iter("12")
    assert "".join(in_turn([numbers, letters, letters])) == "1ab2cde"
