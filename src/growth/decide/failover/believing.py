"""Whether a provider is believed when it says that a machine is gone."""

from collections.abc import Iterable

from growth.api.node import Node
from growth.decide.failover.machines import Machines


def why_not_believed(machines: Machines, provider_id: str, working: Iterable[Node]) -> str:
    """Why its word counts for nothing; empty if it does.

    One that has forgotten machines whose nodes work, because of a wrong project, say, has not lost this one.
    """
    place = machines.place(provider_id)
    prefix = provider_id.removesuffix(place.machine_id) if place is not None else ""
    witnesses = [node for node in working if prefix and node.spec.provider_id.startswith(prefix)]
    unlisted = next((node for node in witnesses if machines.listed(node.spec.provider_id) is None), None)
    if unlisted is not None:
        return f"its provider knows neither its machine nor that of {unlisted.metadata.name}, which works"
    return "" if witnesses else "its provider says that the machine is gone, and has none whose node works"
