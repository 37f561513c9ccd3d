"""Our own kinds, where the API server serves them and what ``kubectl get`` shows of them."""

from typing import Any, Final

import msgspec

from growth.api.kinds import Kind
from growth.api.node_move import NodeMove
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.node_request import NodeRequest

GROUP: Final = "growth.dev"
VERSION: Final = "v1alpha1"
CATEGORY: Final = "growth"

NODE_POOLS: Final = Kind(GROUP, VERSION, "nodepools", "NodePool", namespaced=False, type=NodePool)
NODE_REQUESTS: Final = Kind(GROUP, VERSION, "noderequests", "NodeRequest", namespaced=False, type=NodeRequest)
NODE_REMOVAL_REQUESTS: Final = Kind(
    GROUP, VERSION, "noderemovalrequests", "NodeRemovalRequest", namespaced=False, type=NodeRemovalRequest
)
NODE_MOVES: Final = Kind(GROUP, VERSION, "nodemoves", "NodeMove", namespaced=False, type=NodeMove)


class Column(msgspec.Struct, frozen=True):
    """One column of ``kubectl get``; a wide one is shown with ``-o wide`` only."""

    name: str
    path: str
    type: str = "string"
    is_wide: bool = False


class OwnKind(msgspec.Struct, frozen=True):
    """A kind and how people meet it."""

    kind: Kind[Any]
    short_names: tuple[str, ...]
    columns: tuple[Column, ...]

    @property
    def has_status(self) -> bool:
        """Whether it has a part that only controllers write."""
        return any(field.name == "status" for field in msgspec.structs.fields(self.kind.type))


_AGE: Final = Column("Age", ".metadata.creationTimestamp", "date")
_LAST_WORD: Final = Column("Last", ".status.events[-1:].name", is_wide=True)

OWN_KINDS: Final = (
    OwnKind(
        NODE_POOLS,
        ("np",),
        (
            Column("Ready", ".status.nodes.ready", "integer"),
            Column("Coming", ".status.nodes.coming", "integer"),
            Column("Unready", ".status.nodes.unready", "integer"),
            Column("Leaving", ".status.nodes.leaving", "integer"),
            Column("Cost/h", ".status.costPerHour"),
            Column("Valid", '.status.conditions[?(@.type=="Valid")].status'),
            Column("Provider", ".spec.provider", is_wide=True),
            Column("Priority", ".spec.priority", "integer", is_wide=True),
            _AGE,
        ),
    ),
    OwnKind(
        NODE_REQUESTS,
        ("nreq",),
        (
            Column("Pool", ".spec.pool"),
            Column("Offering", ".spec.targetOffering"),
            Column("Phase", ".status.phase"),
            Column("Since", ".status.phaseSince", "date"),
            Column("Machine", ".status.providerID", is_wide=True),
            Column("Replaces", ".spec.replaces", is_wide=True),
            Column("Owner", '.metadata.ownerReferences[?(@.kind=="NodePool")].name', is_wide=True),
            _LAST_WORD,
            _AGE,
        ),
    ),
    OwnKind(
        NODE_MOVES,
        ("nmove",),
        (
            Column("Reason", ".spec.reason"),
            Column("Nodes", ".spec.nodes"),
            Column("Saves/h", ".spec.savesPerHour"),
            Column("Phase", ".status.phase"),
            Column("Since", ".status.phaseSince", "date"),
            Column("Message", ".status.message", is_wide=True),
            _AGE,
        ),
    ),
    OwnKind(
        NODE_REMOVAL_REQUESTS,
        ("nrem",),
        (
            Column("Pool", ".spec.pool"),
            Column("Node", ".spec.nodeName"),
            Column("Phase", ".status.phase"),
            Column("Attempts", ".status.removalAttempt", "integer"),
            Column("Reason", ".spec.reason"),
            Column("Machine", ".spec.providerID", is_wide=True),
            _LAST_WORD,
            _AGE,
        ),
    ),
)
