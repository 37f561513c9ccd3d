"""What Python's cycle collector need not look at.

The World is a million values without a single cycle: reference counts free them. The collector would still walk through
all of them again and again, an eighth of what a pod event costs. So what is there after the first reading is
set aside for good, and new objects are looked through in larger lots.
"""

import gc
from typing import Final

# Python's own is 700, meant for programs that are small; a lot of this size is looked through in about a millisecond.
_LOT: Final = 20_000
# So many lots before what survived one is looked through again, and so many of those before everything is. What came
# since the beginning, in a cluster that began small, may be all there is; and cycles of ours die young or not at all.
_LOTS: Final = (20, 100)


def spare_the_collector() -> None:
    """Call once the World is complete. Cycles that exist then are collected first, later ones as ever."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(_LOT, *_LOTS)
