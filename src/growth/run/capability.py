"""Capabilities: what Growth can do, each by itself or with others, and the choice between them (``--only``)."""

from collections.abc import Callable, Sequence
from difflib import get_close_matches
from typing import Any, Final

import msgspec

from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    CONFIG_MAPS,
    CSI_DRIVERS,
    CSI_NODES,
    CSI_STORAGE_CAPACITIES,
    DAEMON_SETS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    PRIORITY_CLASSES,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)
from growth.api.node_memory import MEMORIES, SHARD_LEASES, TRANSACTIONS
from growth.api.queue.job import QUEUED_JOBS
from growth.api.queue.kinds import QUEUE_KINDS
from growth.api.queue.kueue_installation import KUEUES_OWN
from growth.api.queue.pod import QUEUED_PODS
from growth.api.queue.pod_defaults import FILLING_KINDS
from growth.api.settings.model import Settings
from growth.decide.consolidation import decider as consolidate
from growth.decide.contract import Decider
from growth.decide.failover import decider as failover
from growth.decide.node_memory import decider as carry
from growth.decide.node_memory import shard_leases
from growth.decide.node_requests import decider as provision
from growth.decide.pool_status import decider as pools
from growth.decide.queue import decider as queue
from growth.decide.registry import decider as registry
from growth.decide.scale_down import decider as shrink
from growth.decide.scale_up import decider as grow

REGISTRY: Final = "registry"
CONSOLIDATE: Final = "consolidate"


class Capability(msgspec.Struct, frozen=True):
    """Something that Growth can do."""

    name: str
    decide: Decider
    kinds: tuple[Kind[Any], ...]
    """What it has to see. Only what some chosen capability needs is watched, so a role may leave out the rest."""
    is_for_leader: bool = True
    """Whether one replica does it for all; otherwise each replica does it."""
    reads_registry: bool = False
    """Whether it goes by what the registry says, which is then kept, too."""
    is_on: Callable[[Settings], bool] = lambda _: True
    """Whether the settings want it. What they do not want is not even watched: its kinds may not be there."""
    is_late: bool = False
    """Whether the others need not wait until its kinds are read; it sees for itself which are not (``unread``)."""
    part: Decider | None = None
    """What it does last when this process is asked to stop, if anything: nobody waits for more than the first of it."""


_PLACES: Final = (
    *(PODS, NODES, NAMESPACES, PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS),
    *(CSI_STORAGE_CAPACITIES, VOLUME_ATTACHMENTS, DAEMON_SETS),
)
"""What one must see to know where a pod can go."""
_OURS: Final = (NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS)

CAPABILITIES: Final[tuple[Capability, ...]] = (
    Capability(REGISTRY, registry.decide, (NODES, CONFIG_MAPS, *_OURS)),
    Capability(
        "memory",
        carry.decide,
        (NODES, MEMORIES, TRANSACTIONS, SHARD_LEASES),
        is_for_leader=False,
        part=shard_leases.decide,
    ),
    Capability(
        "queue",
        queue.decide,
        (
            *(
                NAMESPACES,
                PRIORITY_CLASSES,
                QUEUED_JOBS,
                QUEUED_PODS,
                *FILLING_KINDS,
                *(own.kind for own in QUEUE_KINDS),
            ),
            # Why pods do not start, and the machines that they wait for.
            *(PODS, NODES, PERSISTENT_VOLUME_CLAIMS, NODE_REQUESTS),
            # Whether Kueue is alive, and what it left.
            *KUEUES_OWN,
        ),
        is_on=lambda settings: settings.queue.enabled,
        # Definitions of Kueue whose conversion nobody answers must not keep Growth from buying machines.
        is_late=True,
    ),
    Capability("pools", pools.decide, (NODES, *_OURS), reads_registry=True),
    Capability(
        "failover",
        failover.decide,
        (PODS, NODES, VOLUME_ATTACHMENTS, LEASES, CONFIG_MAPS, *_OURS),
        reads_registry=True,
    ),
    Capability(
        CONSOLIDATE,
        consolidate.decide,
        (*_PLACES, POD_DISRUPTION_BUDGETS, NODE_MOVES, *_OURS),
        reads_registry=True,
    ),
    Capability("grow", grow.decide, (*_PLACES, *_OURS), reads_registry=True),
    Capability("provision", provision.decide, (PODS, NODES, *_OURS), reads_registry=True),
    Capability("shrink", shrink.decide, (PODS, NODES, VOLUME_ATTACHMENTS, *_OURS), reads_registry=True),
)
"""All that there are, in the order in which they decide and are served."""


class UnknownCapability(ValueError):
    """A name that nothing goes by."""


def chosen(names: Sequence[str], known: Sequence[Capability] = CAPABILITIES) -> tuple[Capability, ...]:
    """The capabilities of these names, in their own order; all of them if none is named."""
    by_name = {capability.name: capability for capability in known}
    for name in names:
        if name not in by_name:
            close = get_close_matches(name, by_name, 1)
            hint = f", the closest is {close[0]!r}" if close else ""
            expected = f"expected some of {', '.join(by_name)}" if by_name else "there are none yet"
            raise UnknownCapability(f"there is no capability {name!r}{hint}: {expected}")
    wanted = set(names) or set(by_name)
    if any(by_name[name].reads_registry for name in wanted):
        wanted.add(REGISTRY)
    return tuple(capability for capability in known if capability.name in wanted)
