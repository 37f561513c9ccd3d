"""A pool that is deleted stays until its machines are settled."""

from datetime import datetime

from growth.api.actions import Hold, PatchObject
from growth.api.growth_kinds import NODE_POOLS
from growth.api.node_pool import NodePool
from growth.api.node_request import NodeRequest
from growth.api.provider_state import ProviderState
from growth.api.references import reference_to
from growth.api.taints import has_traces
from growth.decide.capacity.pool_validation import FINALIZER, provider_of
from growth.decide.pool_status.context import PoolStatusContext


def protect(context: PoolStatusContext, pool: NodePool) -> None:
    """Hold the pool as long as it has machines; before it may buy any, that must be certain."""
    meta = pool.metadata
    subject = reference_to(NODE_POOLS, meta)
    if meta.deletion_timestamp is None:
        # Nothing is bought for a pool without a provider, and nobody could say that nothing is left of it.
        if FINALIZER not in meta.finalizers and provider_of(pool, context.snapshot.clouds):
            finalizers = [*meta.finalizers, FINALIZER]
            why = "a pool that is deleted must be held until its machines are settled"
            _patch(context, pool, why, {"metadata": {"finalizers": finalizers}})
        return
    if FINALIZER not in meta.finalizers:
        return
    if why := why_held(context, pool):
        context.said.append(Hold(subject=subject, why=why, reason="HasMachines"))
        return
    finalizers = [one for one in meta.finalizers if one != FINALIZER]
    is_orphaning = pool.spec.deletion_policy == "Orphan"
    why = "its machines are left as they are" if is_orphaning else "none of its machines is left"
    _patch(context, pool, why, {"metadata": {"finalizers": finalizers}})


def why_held(context: PoolStatusContext, pool: NodePool) -> str:
    """Why a deleted pool must stay; empty only if every provider said after its deletion that nothing is left."""
    name, clouds = pool.metadata.name, context.snapshot.clouds
    if any(map(_may_have_a_machine, context.requests_of.get(name, ()))):
        return "it is being deleted and stays until nothing is coming any more: nothing is bought for it"
    if pool.spec.deletion_policy == "Orphan":
        return _why_unfinished(context, name)
    if context.held.get(name) or name in context.removing:
        return "it is being deleted and stays until its machines are gone: nothing is bought for it any more"
    seen_at = context.terminating.setdefault(pool.metadata.uid, context.now)
    silent = [name for name, cloud in clouds.items() if not _has_told_since(cloud, seen_at)]
    if silent or not clouds:
        who = ", ".join(silent) or "its provider, which is not enabled,"
        return f"it is being deleted and stays until {who} says that no machine of it is left"
    return ""


def _why_unfinished(context: PoolStatusContext, pool: str) -> str:
    """Why nodes cannot be left as they are yet: nobody but us opens those that are closed, and takes marks off."""
    snapshot, terminating = context.snapshot, context.snapshot.terminating_nodes
    ready = {one.metadata.name for one in context.requests_of.get(pool, ()) if one.status.phase == "Ready"}
    for held in context.held.get(pool, ()):
        if held.node is None or held.name in terminating:
            continue
        if held.name in snapshot.closed and held.name in ready:
            return f"it is being deleted and stays until node {held.name} is open"
        if has_traces(held.node):
            return f"it is being deleted and stays until the mark of scale-down is off node {held.name}"
    return ""


def _patch(context: PoolStatusContext, pool: NodePool, why: str, body: dict[str, object]) -> None:
    meta = pool.metadata
    context.said.append(
        PatchObject(subject=reference_to(NODE_POOLS, meta), why=why, body=body, resource_version=meta.resource_version)
    )


def _has_told_since(cloud: ProviderState, since: datetime) -> bool:
    return not cloud.problem and cloud.read_at is not None and cloud.read_at > since


def _may_have_a_machine(request: NodeRequest) -> bool:
    """Whether there may be a machine of it that only this request knows of."""
    return request.status.phase in ("Pending", "Provisioning", "Deprovisioning")
