"""A replica that stops gives up its shards, so that nobody waits for their Leases to run out."""

from datetime import timedelta

import pytest

from growth.api.actions import PatchObject
from growth.api.change import Change, ChangeType
from growth.api.core import LeaseSpec
from growth.api.meta import ObjectMeta
from growth.api.node_memory import SHARD_LEASES, ShardLease, shard_name
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.node_memory.carry import NodeMemoryCarry
from growth.decide.node_memory.shard_leases import release
from growth.observe.cache import ClusterCache
from tests.decide.marketplace import NOW
from tests.decide.passes import Given

SECOND = timedelta(seconds=1)


def a_lease(holder: str, *, renewed: timedelta = SECOND) -> ShardLease:
    meta = ObjectMeta(name=shard_name(7, 64), namespace="growth-system", uid="lease", resource_version=12)
    return ShardLease(meta, LeaseSpec(holder_identity=holder, renew_time=NOW - renewed, lease_duration_seconds=15))


def parted(lease: ShardLease) -> tuple[object, ...]:
    world = ClusterCache(lambda: NOW, remembers=True)
    world.tables[SHARD_LEASES].hear([Change(ChangeType.ADDED, lease, None)])
    return release(Given(identity="a").inputs(world.snapshot(NOW), Settings(), NodeMemoryCarry())).said


def test_what_it_holds_is_released_if_it_is_still_as_it_was_seen() -> None:
    lease = a_lease("a")
    assert parted(lease) == (
        PatchObject(
            subject=reference_to(SHARD_LEASES, lease.metadata),
            why="this replica stops",
            body={"spec": {"holderIdentity": None}},
            resource_version=12,
        ),
    )


@pytest.mark.parametrize(
    "lease",
    [
        pytest.param(a_lease("b"), id="what another one holds is not"),
        pytest.param(a_lease(""), id="nor what nobody holds"),
        pytest.param(a_lease("a", renewed=15 * SECOND), id="nor what has run out: it is free already"),
    ],
)
def test_nothing_else_is(lease: ShardLease) -> None:
    assert parted(lease) == ()
