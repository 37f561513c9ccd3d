"""Out of service: the taint by which Kubernetes lets go of a node, and our note of why we set it.

Taint and note are written in one edit. The note says that the taint is ours, and is the whole proof, so that no restart
loses it. A taint without a note was set by a person, and is theirs to remove.
"""

from datetime import datetime
from functools import lru_cache
from typing import Final

import msgspec

from growth.api.machine import Power
from growth.api.meta import FrozenValue
from growth.api.node import Node
from growth.api.tolerations import NO_EXECUTE, Taint

OUT_OF_SERVICE: Final = "node.kubernetes.io/out-of-service"
"""Key of the taint. kube-controller-manager looks at nothing else of it."""
PROOF: Final = "growth.dev/out-of-service"
"""Annotation: why Growth set the taint."""
MAINTENANCE: Final = "growth.dev/maintenance"
"""Annotation of a node that a person works on. With it, and cordoned, it is left alone."""
SHUTDOWN: Final = Taint(OUT_OF_SERVICE, "nodeshutdown", NO_EXECUTE)
HARDWARE: Final = Taint(OUT_OF_SERVICE, "hardwarefailure", NO_EXECUTE)


class Proof(FrozenValue, frozen=True):
    """What was known when the taint was set."""

    tainted_at: datetime
    provider_id: str
    """The machine that is dead: another one under the same node name is not."""
    last_sign: datetime
    """When the node was last heard of."""
    power: Power
    first_reading: datetime
    last_reading: datetime
    readings: int
    boot_id: str = ""
    """Of the life that ended; another one tells that the node has truly started anew."""
    was_graceful: bool = False
    """Whether the machine was seen to be shut down in good order before."""
    by: str = ""
    """Who asked for it, if a person did (``growth node out-of-service``)."""
    is_forced: bool = False
    """Whether that person did so without proof."""

    @property
    def text(self) -> str:
        """As it stands on the node."""
        return msgspec.json.encode(self).decode()


def out_of_service_taint(node: Node) -> Taint | None:
    """The taint on this node, whoever set it."""
    return next((taint for taint in node.spec.taints if taint.key == OUT_OF_SERVICE), None)


def proof_on(node: Node) -> Proof | None:
    """Our note; None if there is none, or one that nobody can read."""
    return _proof(node.metadata.annotations.get(PROOF, ""))


def has_marks(node: Node) -> bool:
    """Whether it bears the taint or the note."""
    return PROOF in node.metadata.annotations or out_of_service_taint(node) is not None


@lru_cache(256)
def _proof(text: str) -> Proof | None:
    try:
        return msgspec.json.decode(text, type=Proof)
    except msgspec.DecodeError:
        return None
