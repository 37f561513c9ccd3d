"""On which terms a life is lived as far as dead machines go: what Growth may do about them, and what data there is.

Drawn apart from everything else, so that lives without failover stay as they were.
"""

import random
from dataclasses import dataclass
from datetime import timedelta
from typing import Final

import msgspec

from growth.api.settings.model import FailoverSettings
from growth_lab.scenarios.replica import QUICK

_MODES: Final = ("act", "act", "act", "observe", "observe", "off")


@dataclass(frozen=True)
class Terms:
    """What is drawn."""

    failover: FailoverSettings
    disks: int
    """So many pods with a volume each, of one StatefulSet, there may be."""

    ends_dead: bool
    """Whether, when all trouble is over, one machine with such a pod loses its power for good."""

    is_patient: bool
    """Whether pools wait for unready nodes, so that those come back; else they are soon given back."""

    @property
    def acts(self) -> bool:
        """Whether Growth moves work off the dead."""
        return self.failover.mode == "act"


def drawn_terms_of(seed: int) -> Terms:
    """Those of this run."""
    chance = random.Random(f"{seed}/failover")  # noqa: S311 - a seed, no secret
    mode = chance.choice(_MODES)
    failover = msgspec.structs.replace(
        QUICK.failover,
        mode=mode,
        speed="standard" if chance.random() < 0.2 else "fast",
        fence=mode == "act" and chance.random() < 0.25,
    )
    disks = chance.choice([0, 1, 2, 3]) if mode == "act" else chance.choice([0, 0, 0, 2])
    ends_dead = mode == "act" and disks > 0 and chance.random() < 0.5
    # A node is called silent after a second and a half: what is proven sooner than that would be no proof.
    failover = msgspec.structs.replace(failover, proven_after=timedelta(seconds=chance.choice([0.8, 2.5])))
    return Terms(failover, disks, ends_dead=ends_dead, is_patient=mode == "act" and chance.random() < 0.6)
