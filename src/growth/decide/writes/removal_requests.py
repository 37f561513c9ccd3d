"""Nodes that somebody wants to be rid of: who they are, and how that is asked for."""

from typing import Final

from growth.api.actions import CreateObject
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.node_removal_request import IF_UNREADY
from growth.api.references import reference_by_name
from growth.api.status import MAX_WORDS
from growth.observe.snapshot import Snapshot

_LEAVING: Final = "nodes that somebody wants to be rid of"


def terminating_in(snapshot: Snapshot) -> frozenset[str]:
    """Their names, whatever the removals are called: every decider asks, so it is worked out once."""
    known = snapshot.memo.get(_LEAVING)
    if known is None:
        removals = snapshot.table(NODE_REMOVAL_REQUESTS).values()
        known = snapshot.memo[_LEAVING] = frozenset(removal.node_name for removal in removals)
    return known


def asked_to_go(node: str, pool: str, provider_id: str, reason: str, *, if_unready: bool = False) -> CreateObject:
    """The request that a machine be removed. Its name is the node's, so that there is one of each."""
    spec = {"pool": pool, "nodeName": node, "providerID": provider_id, "reason": reason[:MAX_WORDS]}
    meta = {"metadata": {"annotations": {IF_UNREADY: "true"}}} if if_unready else {}
    return CreateObject(subject=reference_by_name(NODE_REMOVAL_REQUESTS, node), why=reason, body={**meta, "spec": spec})
