"""Which flavors are closed because their machines cannot be had: ClusterQueues say so, one sentence for each. Pure."""

import re
from collections.abc import Iterable

from growth.api.queue.cluster_queues import SHORT, ClusterQueue
from growth.api.status import condition_of


def closed_by(queues: Iterable[ClusterQueue]) -> dict[str, str]:
    """By flavor, why."""
    closed: dict[str, str] = {}
    for queue in queues:
        said = condition_of(queue.status.conditions, SHORT)
        if said is not None and said.status == "True":
            closed |= _sentences(
                said.message, [one.name for group in queue.spec.resource_groups for one in group.flavors]
            )
    return closed


def _sentences(message: str, flavors: Iterable[str]) -> dict[str, str]:
    """``flavor a: why; flavor b: why``, taken apart where the queue's own flavors are named: why may be any words."""
    names = "|".join(re.escape(name) for name in flavors)
    _, *parts = re.split(rf"(?:^|; )flavor ({names}): ", message)
    return dict(zip(parts[::2], parts[1::2], strict=True))
