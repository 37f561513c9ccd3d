"""Claims, volumes, their provisioners and attachments, as kube-controller-manager 1.36 has them.

Law of the package: nothing is mounted here. A volume is safe as far as the control plane can know: an attachment goes
only when no live pod wants it, and its node let go, is proven dead, or was silent for too long.
"""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.store import Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.volumes.attach_detach import AttachDetach
from growth_lab.simulator.volumes.attacher import Attacher
from growth_lab.simulator.volumes.binder import Binder
from growth_lab.simulator.volumes.ephemeral import EphemeralClaims
from growth_lab.simulator.volumes.protection import Protection
from growth_lab.simulator.volumes.provisioner import Provisioner


class Volumes:
    """All controllers of storage, and the stand-ins for a storage driver's two helpers."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self.ephemeral_claims = EphemeralClaims(clock, store, timings)
        self.binder = Binder(clock, store, timings)
        self.provisioner = Provisioner(clock, store, timings)
        self.protection = Protection(clock, store, timings)
        self.attach_detach = AttachDetach(clock, store, timings)
        self.attacher = Attacher(clock, store, timings)
