"""Pools, machines and requests of one pass."""

from datetime import datetime

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.node_request import NodeRequest
from growth.decide.capacity.offering_catalog import OfferingCatalog
from growth.decide.capacity.pool_inventory import PoolMachine, holdings
from growth.decide.context import PassContext
from growth.decide.contract import Inputs
from growth.decide.facts.cluster_state import ClusterState
from growth.decide.pool_status.carry import PoolStatusCarry


class PoolStatusContext(PassContext[PoolStatusCarry]):
    """What all pools are judged by."""

    def __init__(self, inputs: Inputs[PoolStatusCarry, None, None]) -> None:
        super().__init__(inputs)
        snapshot, carry = inputs.snapshot, inputs.carry
        self.cluster = self.facts.get(ClusterState)
        self.catalog = self.facts.get(OfferingCatalog)
        self.written = dict(carry.written)
        # A clock may have been set back: nothing was seen later than now.
        self.terminating = {uid: min(seen_at, self.now) for uid, seen_at in carry.leaving.items()}
        self.pools = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items())]
        self.requests = snapshot.table(NODE_REQUESTS)
        self.listed = {one.id: one for cloud in snapshot.clouds.values() for one in cloud.offerings}
        self.held: dict[str, list[PoolMachine]] = {}
        self.ours: set[str] = set()
        for one in holdings(snapshot, self.catalog):
            self.held.setdefault(one.pool, []).append(one)
            if one.node is not None:
                self.ours.add(one.name)
        self.requests_of: dict[str, list[NodeRequest]] = {}
        for request in self.requests.values():
            self.requests_of.setdefault(request.pool, []).append(request)
        self.removing = {one.spec.pool for one in snapshot.table(NODE_REMOVAL_REQUESTS).values()}

    def next_carry(self, versions: tuple[int, ...]) -> PoolStatusCarry:
        """Return what the next pass must know; pools of these versions need not be judged again at once."""
        written, terminating = self._of_pools(self.written), self._of_pools(self.terminating)
        return PoolStatusCarry(written, terminating, versions, self.now, tuple(self.said), self.requeue_at)

    def _of_pools(self, instants: dict[str, datetime]) -> dict[str, datetime]:
        """Without those of pools that are gone."""
        uids = {pool.metadata.uid for pool in self.pools}
        return {uid: instant for uid, instant in instants.items() if uid in uids}
