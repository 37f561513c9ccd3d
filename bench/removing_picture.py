"""The picture of the way from a node that nobody needs to none."""

from typing import Final

from bench.lanes_picture import Box, Picture, drawn
from growth.api.duration import format_duration
from growth.api.node_pool import ScaleDown
from growth.api.settings.model import Settings

_EMPTY: Final = ScaleDown().empty_after
_RETRY: Final = format_duration(Settings().removal.retry_after)
_LANES: Final = ("pod", "Growth", "node", "removal", "provider")
_MOMENTS: Final = (
    (0.0, "the last pod ends"),
    (1.0, "15s later"),
    (3.0, f"empty for {_EMPTY}"),
    (4.0, "still empty"),
    (5.5, "gone"),
    (6.4, "released"),
)
_BOXES: Final = (
    Box("pod", 0.0, 0.9, "kube", ("ends, or", "moves away")),
    Box("Growth", 1.0, 1.9, "ours", ("nobody needs", "it: marked")),
    Box("pod", 1.9, 2.9, "kube", ("one that fits", "takes it back")),
    Box("node", 1.3, 5.5, "kube", ("growth.dev/scale-down: no new pods", "growth.dev/scale-down-at: when it goes")),
    Box("node", 5.5, 6.4, "kube", ("out of service,", "if need be")),
    Box("node", 6.4, 7.2, "kube", ("its Node object", "is deleted")),
    Box("removal", 3.0, 4.0, "ours", ("Pending",)),
    Box("removal", 4.0, 7.2, "ours", ("Deprovisioning", f"asked again after {_RETRY}, five times at most")),
    Box("Growth", 3.1, 4.0, "ours", ("looks again,", "live")),
    Box("provider", 4.0, 5.5, "door", ("delete", "the machine")),
    Box("Growth", 5.5, 7.2, "ours", ("releases pods and volumes", "that are left on it")),
)
_ARROWS: Final = (
    (0.9, "pod", 1.45, "Growth"),
    (1.6, "Growth", 1.6, "node"),
    (2.4, "pod", 2.4, "node"),
    (3.05, "node", 3.05, "removal"),
    (3.5, "removal", 3.5, "Growth"),
    (4.7, "removal", 4.7, "provider"),
    (5.5, "provider", 6.1, "Growth"),
)


def removing() -> str:
    """The whole picture."""
    return drawn(Picture("From a node that nobody needs to none", _LANES, _MOMENTS, _BOXES, _ARROWS))
