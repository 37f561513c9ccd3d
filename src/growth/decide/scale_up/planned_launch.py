"""A machine to ask for, as a plan wants it."""

import msgspec

from growth.api.node_pool import NodePool
from growth.api.offering import Offering


class PlannedLaunch(msgspec.Struct, frozen=True):
    """A machine to ask for."""

    name: str
    pool: NodePool
    offering: Offering
    pods: tuple[str, ...] = ()
    hands_keys: bool = False
    wakes: tuple[str, ...] = ()
    shortage: str = ""
    """The name of the shortage that it ends, if it is one that the pool wants even without load."""
    replaces: str = ""
    """The node whose place it takes (``decide.scale_up.node_succession``)."""
    foresees: bool = False
    """Whether it is part of a plan for those, too, who are expected (``decide.scale_up.demand_forecast``)."""
    is_probe: bool = False
    """Whether it tests an offering whose machines failed (``decide.scale_up.probes``): no pod relies on it."""
