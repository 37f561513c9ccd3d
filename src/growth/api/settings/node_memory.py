"""The settings of node memory."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Annotated

import msgspec

from growth.api.node_memory import OWNED_KEYS
from growth.api.settings.section import DNS_LABEL, Section, meaning

_KEY_PATTERN = "^[A-Za-z0-9]([-A-Za-z0-9_./]*[A-Za-z0-9*])?\\Z"
_PREFIX_PATTERN = "^[A-Za-z0-9][-A-Za-z0-9_./]*\\Z"


class MemorySettings(Section, frozen=True):
    """What a node that comes back is given back."""

    mode: Annotated[
        str,
        meaning(
            "How a node's memory is given back: not at all; merged into what the new node brings; in place of it.",
            expected="off, merge or replace",
            pattern="^(off|merge|replace)\\Z",
        ),
    ] = "merge"
    namespace: Annotated[
        str,
        meaning(
            "Namespace of the memories, one ConfigMap for each node.",
            expected="a namespace's name: up to 63 small letters, digits and '-'",
            pattern=DNS_LABEL,
        ),
    ] = "growth-memory"
    transaction_namespace: Annotated[
        str,
        meaning(
            "Namespace of the transactions, one ConfigMap for each node that came or went, until it is dealt with.",
            expected="a namespace's name: up to 63 small letters, digits and '-'",
            pattern=DNS_LABEL,
        ),
    ] = "growth-transactions"
    shards: Annotated[
        int, meaning("Into so many shards nodes are divided; one replica at a time works on each.", ge=1, le=8192)
    ] = 64
    owned_keys: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=_KEY_PATTERN)], ...],
        meaning(
            "Labels that come from the new node and never from memory; a * at the end stands for anything.",
            expected="a list of keys of labels, such as kubernetes.io/hostname or growth.dev/*",
        ),
    ] = OWNED_KEYS
    annotations: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=_PREFIX_PATTERN)], ...],
        meaning(
            "Annotations that are remembered beside the labels: those whose keys begin with one of these.",
            expected="a list of beginnings of keys, such as example.com/",
        ),
    ] = ()
    taints: Annotated[
        tuple[Annotated[str, msgspec.Meta(pattern=_PREFIX_PATTERN)], ...],
        meaning(
            "Taints that are remembered beside the labels: those whose keys begin with one of these, but none by which "
            "Kubernetes or Growth say how a node is now.",
            expected="a list of beginnings of keys, such as example.com/",
        ),
    ] = ()
    checkpoint_after: Annotated[
        timedelta, meaning("A change of a live node's labels is written down after so long, with those that follow it.")
    ] = timedelta(seconds=5)
    finalizer: Annotated[bool, meaning("Whether a node's deletion waits until its last labels are written down.")] = (
        False
    )
    finalizer_deadline: Annotated[timedelta, meaning("It waits for so long at most; then that is told.")] = timedelta(
        seconds=30
    )
    forget_after: Annotated[
        timedelta | None, meaning("The memory of a node that has been gone for so long is deleted.")
    ] = None

    def contradictions(self) -> Iterator[tuple[str, str]]:
        """What is in one namespace would be taken for what belongs in the other one."""
        if self.namespace == self.transaction_namespace:
            yield "transactionNamespace", f"another namespace than that of the memories ({self.namespace})"
