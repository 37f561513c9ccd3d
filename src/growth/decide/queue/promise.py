"""What somebody was promised for whom others were sent back: which flavors it gets, once they are gone.

Flavors are chosen for one pod set after the other, each time the best that is left. With those gone who had to go, the
first set may like another flavor better, so that nothing is left for the next one: then it would not fit, they would
come back, and be sent back again, for ever. So whoever was promised something gets just that, if it cannot have all at
once. The promise stands where it is said that it waits, so that a restart forgets none; without it one looks anew.
"""

import re
from collections.abc import Iterable, Sequence
from typing import Final

from growth.api.queue.workload import QUOTA_RESERVED, Workload
from growth.decide.queue.ordering import waits_for_preempted

# First of all, so that no number of names cuts it off.
_PROMISED: Final = re.compile(r"on ([^ ,:]+(?:, [^ ,:]+)*): ")


def promise(flavors: Sequence[str], names: Iterable[str]) -> str:
    """The promise in words: flavors in the order in which they are chosen, and who has to go first."""
    return f"on {', '.join(flavors)}: it gets what {', '.join(names)} had, once they are gone"


def promised_to(workload: Workload) -> tuple[str, ...]:
    """The flavors that it was promised, in the same order; none if it waits for nobody to go."""
    said = workload.condition(QUOTA_RESERVED) if waits_for_preempted(workload) else None
    found = _PROMISED.match(said.message) if said is not None else None
    return tuple(found[1].split(", ")) if found is not None else ()
