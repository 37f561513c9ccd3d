"""Three lists become one: nodes, requests and the providers' machines, joined by providerID, then by name.

A request, its machine and its node bear one name. Where they do not belong together after all (a node of that name runs
on another machine, a machine runs under another node's name), each stands for itself.
"""

from collections.abc import Iterable, Iterator, Mapping

import msgspec

from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.machine import Machine
from growth.api.node import Node
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest
from growth.api.provider_state import ProviderState
from growth.observe.snapshot import Snapshot
from growth.observe.table import Table


class JoinedUnit(msgspec.Struct, frozen=True):
    """What belongs together; at least one of node, machine and request is there."""

    name: str
    node: Node | None = None
    machine: Machine | None = None
    request: NodeRequest | None = None
    removal: NodeRemovalRequest | None = None


class MachineIndex(msgspec.Struct, frozen=True):
    """What the providers listed, by id and by name; made anew when one of them has answered."""

    by_id: Mapping[str, Machine]
    by_name: Mapping[str, tuple[Machine, ...]]

    @staticmethod
    def of(clouds: Iterable[ProviderState]) -> "MachineIndex":
        """All machines of all clouds."""
        by_id: dict[str, Machine] = {}
        by_name: dict[str, tuple[Machine, ...]] = {}
        for cloud in clouds:
            for machine in cloud.machines:
                by_id.setdefault(machine.provider_id, machine)
                by_name[machine.name] = (*by_name.get(machine.name, ()), machine)
        return MachineIndex(by_id, by_name)

    def differing(self, other: "MachineIndex") -> Iterator[str]:
        """Names of machines of which the two do not say the same; when they were read does not count."""
        for name in self.by_name.keys() ^ other.by_name.keys():
            yield name
        for name, machines in self.by_name.items():
            theirs = other.by_name.get(name)
            if theirs is not None and not _are_same(machines, theirs):
                yield name


def _are_same(ours: tuple[Machine, ...], theirs: tuple[Machine, ...]) -> bool:
    return len(ours) == len(theirs) and all(
        one.provider_id == other.provider_id
        and one.power is other.power
        and one.is_changing == other.is_changing
        and one.offering == other.offering
        and one.pool == other.pool
        for one, other in zip(ours, theirs, strict=True)
    )


class ProviderIDs:
    """Which node runs on which machine, by providerID. Two nodes of one id: the first by name has the machine."""

    def __init__(self, names: Mapping[str, tuple[str, ...]] | None = None) -> None:
        self.names = dict(names or {})

    def of(self, provider_id: str) -> str:
        """The node on this machine; empty if there is none."""
        names = self.names.get(provider_id)
        return names[0] if names else ""

    def enter(self, name: str, provider_id: str) -> None:
        """A node says that it runs there."""
        if provider_id:
            known = self.names.get(provider_id)
            self.names[provider_id] = (name,) if known is None else tuple(sorted({*known, name}))

    def leave(self, name: str, provider_id: str) -> None:
        """It does not say so any more."""
        left = tuple(one for one in self.names.get(provider_id, ()) if one != name)
        if left:
            self.names[provider_id] = left
        else:
            self.names.pop(provider_id, None)


class JoinInputs(msgspec.Struct, frozen=True):
    """All that is joined, each by its name."""

    nodes: Mapping[str, Node]
    requests: Table[NodeRequest]
    removals: Mapping[str, NodeRemovalRequest]
    """By the node's name."""
    machines: MachineIndex
    claims: ProviderIDs

    @staticmethod
    def of(snapshot: Snapshot, machines: MachineIndex, claims: ProviderIDs) -> "JoinInputs":
        """What this snapshot says, with the machines and who runs on them."""
        removals = {removal.node_name: removal for removal in snapshot.table(NODE_REMOVAL_REQUESTS).values()}
        return JoinInputs(snapshot.nodes, snapshot.table(NODE_REQUESTS), removals, machines, claims)


def joined(name: str, lists: JoinInputs) -> list[JoinedUnit]:
    """All units of one name: one, as a rule; none if nothing of that name is left."""
    machines, claims = lists.machines, lists.claims
    node, request, removal = lists.nodes.get(name), lists.requests.get(("", name)), lists.removals.get(name)
    named = machines.by_name.get(name, ())
    found: list[JoinedUnit] = []
    used = ""
    if node is not None:
        provider_id = node.spec.provider_id
        machine = _machine_of(node, machines, claims)
        if request is None and removal is None and (not named or named == (machine,)):
            return [JoinedUnit(name, node, machine)]  # nearly everybody
        used = machine.provider_id if machine is not None else provider_id
        own_request = None if request is not None and _is_another(provider_id, request.status.provider_id) else request
        own_removal = None if removal is not None and _is_another(provider_id, removal.spec.provider_id) else removal
        found.append(JoinedUnit(name, node, machine, own_request, own_removal))
        request = None if own_request is not None else request
        removal = None if own_removal is not None else removal
    rest = [one for one in named if one.provider_id != used and not claims.of(one.provider_id)]
    if request is not None:
        machine = _bought_for(request, rest)
        found.append(JoinedUnit(name, None, machine, request, removal))
        rest = [one for one in rest if one is not machine]
        removal = None
    for machine in rest:
        is_meant = removal is not None and removal.spec.provider_id in ("", machine.provider_id)
        found.append(JoinedUnit(name, None, machine, None, removal if is_meant else None))
    return found


def _machine_of(node: Node, machines: MachineIndex, claims: ProviderIDs) -> Machine | None:
    provider_id, name = node.spec.provider_id, node.metadata.name
    if provider_id:
        return machines.by_id.get(provider_id) if claims.of(provider_id) == name else None
    # A node that does not say where it runs: the machine of its name, unless another node runs on that.
    named = machines.by_name.get(name, ())
    return next((one for one in named if not claims.of(one.provider_id)), None)


def _is_another(one: str, other: str) -> bool:
    return bool(one and other and one != other)


def _bought_for(request: NodeRequest, machines: Iterable[Machine]) -> Machine | None:
    """The request's machine. One of its name that was bought as something else is not."""
    for machine in machines:
        if machine.provider_id == request.status.provider_id:
            return machine
    wanted = request.spec.target_offering.lower()
    for machine in machines:
        launched = machine.offering.lower()
        if machine.pool == request.pool and (launched == wanted or launched.startswith(f"{wanted}-")):
            return machine
    return None
