"""The market: every kind of machine that may be bought, as the node it would become.

A kind is an offering in a pool. What it brings is what its node will have left for pods, after the system and the
DaemonSets took their share. Made once for a catalogue, pools and DaemonSets, and used for many plans.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from growth.api.node_pool import NodePool, ServerType
from growth.api.offering import ZONE, Offering, in_pool
from growth.api.quantity import milli_value, parse, value
from growth.decide.capacity.offering_catalog import as_billed
from growth.decide.capacity.pool_usage import PoolUsage, PurchaseLimit, sells
from growth.decide.fit.simulated_cluster import SimulatedCluster
from growth.decide.fit.template_node import TemplateNode, TemplateNodes
from growth.observe.pod_requests import amounts_from, requests_of

DEFAULT_POOL = "default"


@dataclass(frozen=True, slots=True)
class NodeOption:
    """A machine that may be bought."""

    pool: NodePool
    offering: Offering
    new: TemplateNode
    """The node it would become, under a name that no node has."""

    room: Mapping[str, int]
    tier: tuple[int, int, int]
    """Higher is bought first, whatever it costs: priority of the pool, of the server type, of the offering."""

    @property
    def labels(self) -> Mapping[str, str]:
        """The labels of its node."""
        return self.new.node.metadata.labels

    @property
    def zone(self) -> str:
        """Where it would stand."""
        return self.labels.get(ZONE, "")


@dataclass(frozen=True, slots=True)
class NodeOptions:
    """All kinds and limits, and the maker of their nodes."""

    options: tuple[NodeOption, ...]
    limits: tuple[PurchaseLimit, ...]
    pools: tuple[str, ...]
    maker: TemplateNodes

    def node(self, name: str, option: int) -> TemplateNode:
        """A node of this kind under this name."""
        return self.maker.make(name, self.options[option].pool, self.options[option].offering)


def node_options_of(
    simulated: SimulatedCluster,
    pools: Sequence[NodePool],
    offerings: Sequence[Offering],
    launched: Sequence[PoolUsage] = (),
    trials: Collection[str] = (),
    *,
    closed: Collection[tuple[str, str]] = (),
) -> NodeOptions:
    """Everything that these pools may buy; offerings that cannot be had right now are left out by the caller, and those
    that one pool must not buy are said (``closed``, pool and offering).

    Of a provider or family that is on trial one machine may be bought, whichever it is; and of an offering that is on
    trial in one pool.
    """
    maker = TemplateNodes(simulated)
    options: list[NodeOption] = []
    daemons = _DaemonRoom()
    for pool in sorted(pools, key=lambda one: one.metadata.name):
        types = {one.name.lower(): one for one in pool.spec.server_types}
        for offering in offerings:
            server_type = types.get(offering.server_type.lower())
            is_closed = (pool.metadata.name, offering.id) in closed
            if server_type is not None and offering.is_cloud and sells(pool, offering) and not is_closed:
                options.append(_kind(maker, pool, as_billed(offering, pool), server_type, daemons))
    # Cheapest first within a tier, then by name: equal prices are always tried in the same order.
    options.sort(key=lambda option: (option.offering.price_per_hour, option.offering.id, option.pool.metadata.name))
    names = sorted(pool.metadata.name for pool in pools)
    limits = (*_limits(options, pools, launched), *_trial_limits(options, trials))
    return NodeOptions(tuple(options), limits, tuple(names), maker)


def without_tiers(node_options: NodeOptions) -> NodeOptions:
    """The same market with nothing bought before anything else but for its price."""
    return replace(node_options, options=tuple(replace(option, tier=(0, 0, 0)) for option in node_options.options))


class _DaemonRoom:
    """What DaemonSet pods take; worked out once for each spec."""

    def __init__(self) -> None:
        self._requests: dict[int, Mapping[str, int]] = {}

    def taken(self, new: TemplateNode) -> dict[str, int]:
        taken: dict[str, int] = {}
        for pod in new.daemon_pods:
            known = self._requests.get(id(pod.spec))
            if known is None:
                known = self._requests[id(pod.spec)] = requests_of(pod.spec)
            for name, amount in known.items():
                taken[name] = taken.get(name, 0) + amount
        return taken


def _kind(
    maker: TemplateNodes,
    pool: NodePool,
    offering: Offering,
    server_type: ServerType,
    daemons: _DaemonRoom,
) -> NodeOption:
    new = maker.make(f"new-{pool.metadata.name}-{offering.id}", pool, offering)
    room = dict(amounts_from(new.node.status.allocatable))
    for name, amount in daemons.taken(new).items():
        room[name] = max(0, room.get(name, 0) - amount)
    tier = (pool.spec.priority, server_type.priority, offering.priority)
    return NodeOption(pool, offering, new, room, tier)


def _limits(
    options: Sequence[NodeOption], pools: Sequence[NodePool], launched: Sequence[PoolUsage]
) -> list[PurchaseLimit]:
    limits: list[PurchaseLimit] = []
    for pool in sorted(pools, key=lambda one: one.metadata.name):
        name, stated = pool.metadata.name, pool.spec.limits
        own = [number for number, option in enumerate(options) if option.pool.metadata.name == name]
        had = [one for one in launched if one.pool == name]
        if stated.nodes is not None:
            left = stated.nodes - sum(one.nodes for one in had)
            limits.append(PurchaseLimit(f"pool {name} may have {stated.nodes} nodes", left, dict.fromkeys(own, 1.0)))
        if stated.cpu is not None:
            left = milli_value(str(stated.cpu)) - sum(one.cpu_millis for one in had)
            use = {number: float(milli_value(options[number].offering.resources["cpu"])) for number in own}
            limits.append(PurchaseLimit(f"pool {name} may have {stated.cpu} CPU", left, use))
        if stated.memory is not None:
            left = value(str(stated.memory)) - sum(one.memory_bytes for one in had)
            use = {number: float(value(options[number].offering.resources["memory"])) for number in own}
            limits.append(PurchaseLimit(f"pool {name} may have {stated.memory} memory", left, use))
        if stated.cost_per_hour is not None:
            left = parse(str(stated.cost_per_hour)).nanos / 1e9 - sum(one.cost_per_hour for one in had)
            use = {number: options[number].offering.price_per_hour for number in own}
            limits.append(PurchaseLimit(f"pool {name} may cost {stated.cost_per_hour} an hour", left, use))
        for one in pool.spec.server_types:
            if one.max is not None:
                same = [number for number in own if options[number].offering.server_type.lower() == one.name.lower()]
                had_of_type = [b.nodes for b in had if b.server_type.lower() == one.name.lower()]
                what = f"pool {name} may have {one.max} of {one.name}"
                limits.append(PurchaseLimit(what, one.max - sum(had_of_type), dict.fromkeys(same, 1.0)))
    for offering in {kind.offering.id: kind.offering for kind in options}.values():
        if offering.stock is not None:
            same = [number for number, kind in enumerate(options) if kind.offering.id == offering.id]
            limits.append(
                PurchaseLimit(f"{offering.id} has {offering.stock} in stock", offering.stock, dict.fromkeys(same, 1.0))
            )
    return [limit for limit in limits if limit.use]


def _trial_limits(options: Sequence[NodeOption], trials: Collection[str]) -> Iterator[PurchaseLimit]:
    for group in trials:
        same = [number for number, option in enumerate(options) if group in _tried_as(option)]
        if same:
            yield PurchaseLimit(
                f"of {group} one machine comes first, to see whether it works", 1, dict.fromkeys(same, 1.0)
            )


def _tried_as(option: NodeOption) -> tuple[str, ...]:
    """Whose trial it would be to launch one of these."""
    pool = option.pool.metadata.name
    return (*option.offering.groups, in_pool(pool, option.offering.id), in_pool(pool, option.offering.type_id))
