"""The picture of the way from a pod that waits to a node that is ready."""

from typing import Final

from bench.lanes_picture import Box, Picture, drawn
from growth.api.duration import format_duration
from growth.api.settings.model import Settings

_GROW, _PROVISION = Settings().grow, Settings().provision
_QUIET, _MACHINE, _READY, _KEPT = map(
    format_duration, (_GROW.quiet, _PROVISION.machine_within, _PROVISION.ready_within, _PROVISION.keep_ready)
)
_LANES: Final = ("pod", "Growth", "NodeRequest", "provider", "node")
_MOMENTS: Final = (
    (0.0, "pods come"),
    (1.0, f"{_QUIET} quiet"),
    (2.0, "asked for"),
    (3.0, "accepted"),
    (5.0, "registered"),
    (6.0, "as planned"),
    (7.0, "bound"),
)
_BOXES: Final = (
    Box("pod", 0.0, 0.9, "kube", ("refused by", "the scheduler")),
    Box("Growth", 1.0, 1.9, "ours", ("plan: what", "costs least")),
    Box("NodeRequest", 2.0, 3.0, "ours", ("Pending",)),
    Box("NodeRequest", 3.0, 6.0, "ours", ("Provisioning", f"{_MACHINE} for a node, {_READY} more to be ready")),
    Box("NodeRequest", 6.0, 7.9, "ours", ("Ready", f"kept for {_KEPT}")),
    Box("provider", 2.1, 3.0, "door", ("create", "by that name")),
    Box("provider", 3.0, 5.0, "door", ("the machine boots",)),
    Box("node", 5.0, 6.0, "kube", ("closed, until it is", "what was planned")),
    Box("node", 6.0, 7.0, "kube", ("closed to all", "without a key")),
    Box("node", 7.0, 7.9, "kube", ("open", "to all")),
    Box("Growth", 6.0, 6.9, "ours", ("keys for those it", "was bought for")),
    Box("pod", 7.0, 7.9, "kube", ("runs where it", "was meant to")),
)
_ARROWS: Final = (
    (0.9, "pod", 1.45, "Growth"),
    (1.9, "Growth", 2.3, "NodeRequest"),
    (2.6, "NodeRequest", 2.6, "provider"),
    (5.0, "provider", 5.3, "node"),
    (6.2, "node", 6.2, "Growth"),
    (6.9, "Growth", 7.3, "pod"),
)


def growing() -> str:
    """The whole picture."""
    return drawn(Picture("From a pod that waits to a node that is ready", _LANES, _MOMENTS, _BOXES, _ARROWS))
