"""Where data lives: claims and volumes, their makers, and who may attach a volume to which node, as in kube 1.36.

Law of the room: nothing is mounted here. A volume is safe as far as the control plane can know: an attachment goes only
when no live pod wants it, and its node let go, is proven dead, or was silent for too long.
"""

from growth.sim.clock import Clock
from growth.sim.store import Store
from growth.sim.timings import Timings
from growth.sim.volumes.attach_detach import AttachDetach
from growth.sim.volumes.attacher import Attacher
from growth.sim.volumes.binder import Binder
from growth.sim.volumes.ephemeral import EphemeralClaims
from growth.sim.volumes.protection import Protection
from growth.sim.volumes.provisioner import Provisioner


class Volumes:
    """All controllers of storage, and the stand-ins for a storage driver's two helpers."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self.ephemeral_claims = EphemeralClaims(clock, store, timings)
        self.binder = Binder(clock, store, timings)
        self.provisioner = Provisioner(clock, store, timings)
        self.protection = Protection(clock, store, timings)
        self.attach_detach = AttachDetach(clock, store, timings)
        self.attacher = Attacher(clock, store, timings)
