"""Names for objects that are values: what an action, a hold or an event is about, and which kind that is."""

from collections.abc import Mapping
from typing import Any, Final

from growth.api.core import ObjectReference
from growth.api.growth_kinds import NODE_MOVES, NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import (
    CONFIG_MAPS,
    CSI_NODES,
    DAEMON_SETS,
    JOBS,
    LEASES,
    NAMESPACES,
    NODES,
    PERSISTENT_VOLUME_CLAIMS,
    PERSISTENT_VOLUMES,
    POD_DISRUPTION_BUDGETS,
    PODS,
    STORAGE_CLASSES,
    VOLUME_ATTACHMENTS,
    Kind,
)
from growth.api.meta import ObjectMeta
from growth.api.queue.kinds import QUEUE_KINDS

# What actions may be about. A reference is only text, so that it can be written down, compared and read again; the
# address on the API server is looked up here.
_KINDS: Final[Mapping[tuple[str, str], Kind[Any]]] = {
    (kind.api_version, kind.name): kind
    for kind in (
        *(PODS, NODES, NAMESPACES, CONFIG_MAPS, LEASES, JOBS, DAEMON_SETS, POD_DISRUPTION_BUDGETS),
        *(PERSISTENT_VOLUMES, PERSISTENT_VOLUME_CLAIMS, STORAGE_CLASSES, CSI_NODES, VOLUME_ATTACHMENTS),
        *(NODE_POOLS, NODE_REQUESTS, NODE_REMOVAL_REQUESTS, NODE_MOVES),
        *(own.kind for own in QUEUE_KINDS),
    )
}


def reference_to(kind: Kind[Any], metadata: ObjectMeta) -> ObjectReference:
    """A reference to this very object: one of the same name that comes later is another one (uid)."""
    return ObjectReference(kind.name, metadata.name, metadata.namespace, metadata.uid, kind.api_version)


def reference_by_name(kind: Kind[Any], name: str, namespace: str = "") -> ObjectReference:
    """A reference to whatever bears this name, such as an object that is yet to be made."""
    return ObjectReference(kind.name, name, namespace, "", kind.api_version)


def kind_of(reference: ObjectReference) -> Kind[Any]:
    """The kind that a reference names; raises LookupError for one that we do not speak."""
    kind = _KINDS.get((reference.api_version, reference.kind))
    if kind is None:
        known = ", ".join(sorted(f"{name} ({version})" for version, name in _KINDS))
        raise LookupError(f"no kind {reference.kind!r} of {reference.api_version!r} is known: expected one of {known}")
    return kind


def shown(reference: ObjectReference) -> str:
    """The reference as people write it: ``Pod shop/web-1``."""
    place = f"{reference.namespace}/" if reference.namespace else ""
    return f"{reference.kind} {place}{reference.name}"
