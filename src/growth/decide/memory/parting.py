"""What a replica does last: it gives up the shards that are still its own, so that nobody waits for them to run out."""

from growth.api.actions import PatchObject
from growth.api.node_memory import SHARD_LEASES
from growth.api.references import reference_to
from growth.api.settings.model import Settings
from growth.decide.contract import Decision, State
from growth.observe.snapshot import Snapshot


def decide(snapshot: Snapshot, state: State, settings: Settings) -> Decision:
    """Release each Lease that this replica holds and that others would still respect."""
    respected = settings.leader_election.lease_duration
    held = [
        lease
        for _, lease in sorted(snapshot.table(SHARD_LEASES).items())
        if lease.spec.holder_identity == state.identity
        and lease.spec.renew_time is not None
        and snapshot.now - lease.spec.renew_time < respected
    ]
    return Decision(
        tuple(
            PatchObject(
                subject=reference_to(SHARD_LEASES, lease.metadata),
                why="this replica stops",
                body={"spec": {"holderIdentity": None}},
                resource_version=lease.metadata.resource_version,
            )
            for lease in held
        )
    )
