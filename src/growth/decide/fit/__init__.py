"""Would kube-scheduler place this pod on this node? The scheduler's filters, on a what-if cluster.

Law of the room: one module per filter, under the scheduler's name and in its order (``checks``), pure, and exactly as
strict as kube-scheduler 1.36: what is allowed here and refused there buys a node that stays empty, the other way round
leaves a pod waiting for ever. ``tests/fidelity`` compares the two.
"""

from growth.decide.fit.checks import prepare
from growth.decide.fit.misfit import Cause, Misfit, Verdict
from growth.decide.fit.stage import Stage
from growth.decide.fit.verdict import fit, fits_anywhere, unplaceable
from growth.decide.fit.wishes import grief

__all__ = ["Cause", "Misfit", "Stage", "Verdict", "fit", "fits_anywhere", "grief", "prepare", "unplaceable"]
