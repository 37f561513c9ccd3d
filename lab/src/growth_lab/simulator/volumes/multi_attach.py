"""What a pod is told whose volume is still elsewhere."""

from collections.abc import Sequence
from datetime import datetime

from growth_lab.simulator.clock import written_exactly
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.volumes.desired_attachments import Disk

_REASON = "FailedAttachVolume"
_CONTROLLER = "attachdetach-controller"


def multi_attach(pod: Json, disk: Disk, others: Sequence[str], now: datetime, number: int) -> Json:
    """The Event, in the real controller's words; ``others`` are the pods that use the volume."""
    meta = pod["metadata"]
    why = (
        f"Volume is already used by pod(s) {', '.join(others)}"
        if others
        else "Volume is already exclusively attached to one node and can't be attached to another"
    )
    return {
        "metadata": {"name": f"{meta['name']}.{number:016x}", "namespace": meta["namespace"]},
        "eventTime": written_exactly(now),
        "type": "Warning",
        "reason": _REASON,
        "action": _REASON,
        "note": f'Multi-Attach error for volume "{disk.volume}" {why}',
        "reportingController": _CONTROLLER,
        "reportingInstance": _CONTROLLER,
        "regarding": {
            "apiVersion": "v1",
            "kind": "Pod",
            "name": meta["name"],
            "namespace": meta["namespace"],
            "uid": meta["uid"],
        },
    }
