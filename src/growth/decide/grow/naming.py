"""The name of a request, of its machine and of its node: it follows from what is wanted.

So whoever decides the same decides on the same name, and two leaders, or one that was interrupted, cannot buy twice.
"""

import hashlib
from collections.abc import Collection, Iterable
from typing import Final

from growth.api.node_pool import NodePool

_HEX_DIGITS: Final = 10


def request_name(pool: NodePool, offering: str, wanted_by: Iterable[str], taken: Collection[str]) -> str:
    """``{pool}-{10 hex}``, of the pool's uid, the offering, who wants it, and the first number that is not taken.

    A name is taken by a request, a removal, a node or a machine: an earlier purchase for the same pods that failed.
    """
    wanted = ",".join(sorted(wanted_by))
    ordinal = 0
    while True:
        text = "\0".join((pool.metadata.uid, offering, wanted, str(ordinal)))
        name = f"{pool.metadata.name}-{hashlib.sha256(text.encode()).hexdigest()[:_HEX_DIGITS]}"
        if name not in taken:
            return name
        ordinal += 1
