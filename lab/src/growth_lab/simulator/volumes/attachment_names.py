"""How attachments are named and looked at: the parts of the CSI plug-in that shape what others see."""

import hashlib
from typing import Final

from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.volumes.desired_attachments import Disk

# The plug-in asks again after half a second, then ever more slowly, each time with a jitter of up to a tenth, of which
# this is the middle.
_FIRST_PAUSE: Final = 0.5 * 1.05
_SLOWER: Final = 1.05
_LONGEST_PAUSE: Final = 7.0 * 1.05


def attachment_name(disk: Disk, node: str) -> str:
    """The name that everybody can compute, so that nobody attaches twice."""
    return "csi-" + hashlib.sha256(f"{disk.handle}{disk.driver}{node}".encode()).hexdigest()


def attachment(disk: Disk, node: str) -> Json:
    """The request to attach a disk to a node."""
    return {
        "metadata": {"name": attachment_name(disk, node)},
        "spec": {"attacher": disk.driver, "nodeName": node, "source": {"persistentVolumeName": disk.volume}},
        "status": {"attached": False},
    }


def seconds_until_noticed(elapsed: float) -> float:
    """How long the plug-in takes to notice what happened so many seconds after it began to wait."""
    looks_at, pause = 0.0, _FIRST_PAUSE
    while looks_at < elapsed:
        looks_at += pause
        pause = min(_LONGEST_PAUSE, pause * _SLOWER)
    return looks_at - elapsed
