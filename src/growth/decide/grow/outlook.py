"""Everything that one pass looks at: the pools, what may be bought, what is coming, and the last plan."""

import hashlib
from collections.abc import Iterable
from datetime import datetime

import msgspec

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from growth.api.nodepool import NodePool
from growth.api.noderequest import NodeRequest
from growth.api.settings import Settings
from growth.decide.decider import State
from growth.decide.grow.coming import has_places
from growth.decide.grow.planning import Plan
from growth.decide.offerings import Shop, shop_of
from growth.decide.usable import usable
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table


class Outlook:
    """One instant. ``pools`` are all that there are, ``usable`` those for which machines may be bought now."""

    def __init__(self, snapshot: Snapshot, state: State, settings: Settings, plan: Plan) -> None:
        self.snapshot, self.state, self.settings, self.plan = snapshot, state, settings, plan
        self.now: datetime = snapshot.now
        self.pools: list[NodePool] = [pool for _, pool in sorted(snapshot.table(NODE_POOLS).items())]
        self.usable = tuple(pool for pool in self.pools if usable(pool, snapshot.clouds))
        self.requests: Table[NodeRequest] = snapshot.table(NODE_REQUESTS)
        self.shop = shop_of(snapshot.clouds, self.pools, self.requests.values(), self.now, settings.provision)
        self.circumstances = circumstances(self.usable, self.shop)
        self.disappointing = {one.offering for pool in self.pools for one in pool.status.offerings if one.lacks}
        """Offerings whose nodes turned out to have less than was promised."""

    def request(self, name: str) -> NodeRequest | None:
        """The request of this name, if it is seen."""
        return self.requests.get(("", name))

    def has_places(self, request: NodeRequest) -> bool:
        """Whether the pods that it was bought for still have their places on it."""
        return has_places(request, self.snapshot, self.state.steady_since, self.settings.provision)


def circumstances(pools: Iterable[NodePool], shop: Shop) -> str:
    """What a plan depends on beside the pods, in a few characters: which pools there are, and what can be bought."""
    facts = [(pool.metadata.name, pool.spec) for pool in pools]
    sold = [(name, one.access.value, one.is_listed) for name, one in sorted(shop.sold.items())]
    return hashlib.sha256(msgspec.json.encode((facts, sold), order="deterministic")).hexdigest()[:10]
