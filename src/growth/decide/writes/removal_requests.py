"""The request that a machine be terminated."""

from growth.api.actions import CreateObject
from growth.api.growth_kinds import NODE_REMOVAL_REQUESTS
from growth.api.node_removal_request import IF_UNREADY
from growth.api.references import reference_by_name
from growth.api.status import MAX_WORDS


def asked_to_go(node: str, pool: str, provider_id: str, reason: str, *, if_unready: bool = False) -> CreateObject:
    """The request that a machine be removed. Its name is the node's, so that there is one of each."""
    spec = {"pool": pool, "nodeName": node, "providerID": provider_id, "reason": reason[:MAX_WORDS]}
    meta = {"metadata": {"annotations": {IF_UNREADY: "true"}}} if if_unready else {}
    return CreateObject(subject=reference_by_name(NODE_REMOVAL_REQUESTS, node), why=reason, body={**meta, "spec": spec})
