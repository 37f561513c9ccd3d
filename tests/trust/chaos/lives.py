"""What people do to a cluster, whether it is wise or not."""

from collections.abc import Awaitable, Callable
from typing import Final

from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.offering import POOL
from growth.api.out_of_service import MAINTENANCE, OUT_OF_SERVICE, out_of_service_taint
from growth.api.taints import SCALE_DOWN, SCALE_DOWN_AT
from growth_lab.scenarios.workloads import DEPLOYMENTS, STATEFUL_SETS
from tests.trust.chaos.disks import SET, holders, the_driver_holds_a_volume_or_lets_go
from tests.trust.chaos.pods import APPS, drawn_pod
from tests.trust.chaos.stage import Stage
from tests.trust.chaos.worlds import Json, drawn_limits, drawn_pool, drawn_terms

Act = Callable[[Stage], Awaitable[None]]

# Small worlds find more: nobody adds pods beyond this.
_MOST_PODS: Final = 30
_DEPLOYMENTS: Final = ("shop", "mill")
DYING: Final = ("powerOff", "powerOff", "powerOff", "hardwareFails", "vanishes", "neverReady", "powerOff, listFails")
"""How machines die, or seem to."""


async def pods_come(stage: Stage) -> None:
    """Some at once."""
    for _ in range(stage.chance.choice([1, 1, 2, 3, 5])):
        if len(stage.picture.pods) < _MOST_PODS:
            await stage.create(PODS, f"pod-{next(stage.numbers)}", drawn_pod(stage.chance, stage.pools()))


async def pods_go(stage: Stage) -> None:
    """Some are deleted, patiently or not."""
    for _ in range(stage.chance.choice([1, 2, 4])):
        if name := stage.one_of(_bare_pods(stage)):
            await stage.delete(PODS, name, stage.chance.choice([None, 0]))


async def a_node_is_emptied(stage: Stage) -> None:
    """All bare pods of one node are deleted."""
    if node := stage.one_of(stage.launched()):
        for pod in stage.picture.pods_on(node):
            if not pod.metadata.owner_references:
                await stage.delete(PODS, pod.metadata.name, 0)


async def pods_finish(stage: Stage) -> None:
    """Some have done what they should."""
    for _ in range(stage.chance.choice([1, 2])):
        if name := stage.one_of(_bare_pods(stage)):
            phase = stage.chance.choice(["Succeeded", "Failed"])
            await stage.change(PODS, name, {"status": {"phase": phase}}, subresource="status")


async def a_deployment_comes_or_is_scaled(stage: Stage) -> None:
    """Its pods come back wherever they are evicted."""
    name, replicas = stage.chance.choice(_DEPLOYMENTS), stage.chance.choice([0, 1, 2, 4])
    if any(pod.metadata.labels.get("deployment") == name for pod in stage.picture.pods.values()):
        await stage.change(DEPLOYMENTS, name, {"spec": {"replicas": replicas}})
        return
    template = drawn_pod(stage.chance, stage.pools())
    labels = {**template["metadata"]["labels"], "deployment": name}
    template = {**template, "metadata": {**template["metadata"], "labels": labels}}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"deployment": name}}, "template": template}
    await stage.create(DEPLOYMENTS, name, {"spec": spec})


async def a_budget_comes_or_goes(stage: Stage) -> None:
    """Some allow nothing."""
    app = stage.chance.choice(APPS)
    if stage.chance.random() < 0.4:
        await stage.delete(POD_DISRUPTION_BUDGETS, app)
        return
    spec = {"selector": {"matchLabels": {"app": app}}, "maxUnavailable": stage.chance.choice([0, 1])}
    await stage.create(POD_DISRUPTION_BUDGETS, app, {"spec": spec})


async def a_pool_changes(stage: Stage) -> None:
    """Bounds, patience, what it keeps ready."""
    name = stage.one_of(stage.pools())
    if name is None:
        return
    types = list(stage.picture.pools[name].spec.server_types)
    match stage.chance.choice(["min", "min", "max", "limits", "terms", "priority"]):
        case "min":
            least = stage.chance.choice([0, 0, 1, 2])
            stated = [{"name": one.name, "min": least, "max": max(least, one.max or 9)} for one in types]
            await stage.change_pool(name, {"serverTypes": stated})
        case "max":
            most = stage.chance.choice([1, 2, 4])
            stated = [{"name": one.name, "min": min(one.min, most), "max": most} for one in types]
            await stage.change_pool(name, {"serverTypes": stated})
        case "limits":
            await stage.change_pool(name, {"limits": dict(drawn_limits(stage.chance)) or None})
        case "terms":
            await stage.change_pool(name, {"scaleDown": drawn_terms(stage.chance)})
        case _:
            await stage.change_pool(name, {"priority": stage.chance.choice([-5, 0, 5])})


async def a_pool_is_deleted(stage: Stage) -> None:
    """With all that it has."""
    if name := stage.one_of(stage.pools()):
        await stage.delete(NODE_POOLS, name)


async def a_pool_comes_back(stage: Stage) -> None:
    """Under its old name, with other words."""
    gone = sorted(set(stage.world.pools) - set(stage.picture.pools))
    if name := stage.one_of(gone):
        await stage.create(NODE_POOLS, name, {"spec": drawn_pool(stage.chance, name)})


async def a_node_is_cordoned_or_not(stage: Stage) -> None:
    """By hand."""
    if name := stage.one_of(stage.launched()):
        is_closed = stage.picture.nodes[name].spec.unschedulable
        await stage.change(NODES, name, {"spec": {"unschedulable": None if is_closed else True}})


async def a_node_is_protected_or_not(stage: Stage) -> None:
    """By an annotation of ours or of a peer."""
    if name := stage.one_of(stage.launched()):
        key = stage.chance.choice(["growth.dev/do-not-disrupt", "karpenter.sh/do-not-disrupt"])
        value = stage.chance.choice(["true", None])
        await stage.change(NODES, name, {"metadata": {"annotations": {key: value}}})


async def a_node_is_deleted(stage: Stage) -> None:
    """The Node object alone; its machine runs on."""
    if name := stage.one_of(stage.launched()):
        await stage.delete(NODES, name)


async def a_mark_is_meddled_with(stage: Stage) -> None:
    """Half of it is taken off, or half of one put on; where the pool is gone, nobody would mend that."""
    pools = stage.pools()
    ours = [one for one in stage.launched() if stage.picture.nodes[one].metadata.labels[POOL] in pools]
    name = stage.one_of(ours)
    if name is None:
        return
    node = stage.picture.nodes[name]
    if stage.chance.random() < 0.5:
        at = stage.chance.choice([None, "soon", "2020-01-01T00:00:00Z", "2100-01-01T00:00:00Z"])
        await stage.change(NODES, name, {"metadata": {"annotations": {SCALE_DOWN_AT: at}}})
        return
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.spec.taints]
    others = [one for one in taints if one["key"] != SCALE_DOWN]
    if len(others) == len(taints):
        others.append({"key": SCALE_DOWN, "value": "", "effect": "NoSchedule"})
    version = str(node.metadata.resource_version)
    await stage.change(NODES, name, {"metadata": {"resourceVersion": version}, "spec": {"taints": others or None}})


async def a_node_is_tainted_or_not(stage: Stage) -> None:
    """By people, with taints of their own."""
    if name := stage.one_of(stage.launched()):
        node = stage.picture.nodes[name]
        taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.spec.taints]
        others = [one for one in taints if one["key"] != "person"]
        if len(others) == len(taints):
            others.insert(0, {"key": "person", "value": "here", "effect": "PreferNoSchedule"})
        version = str(node.metadata.resource_version)
        await stage.change(NODES, name, {"metadata": {"resourceVersion": version}, "spec": {"taints": others or None}})


async def a_node_is_taken_out_of_service_or_back(stage: Stage) -> None:
    """By hand, with kubectl, whoever took it out and whether its machine runs or not."""
    marked = [name for name in stage.launched() if out_of_service_taint(stage.picture.nodes[name]) is not None]
    back = bool(marked) and stage.chance.random() < 0.6
    if name := stage.one_of(marked if back else stage.launched()):
        value = stage.chance.choice(["nodeshutdown", "nodeshutdown", "hardwarefailure", "", "mine"])
        effect = stage.chance.choice(["NoExecute", "NoExecute", "NoSchedule"])
        mark = {"key": OUT_OF_SERVICE, "value": value, "effect": effect}
        await set_mark(stage, name, None if back else mark)


async def set_mark(stage: Stage, name: str, mark: Json | None) -> None:
    """Take a node out of service with this taint, or back into it."""
    node = stage.picture.nodes[name]
    taints = [{"key": one.key, "value": one.value, "effect": one.effect} for one in node.spec.taints]
    others = [*(one for one in taints if one["key"] != OUT_OF_SERVICE), *([mark] if mark is not None else [])]
    version = str(node.metadata.resource_version)
    await stage.change(NODES, name, {"metadata": {"resourceVersion": version}, "spec": {"taints": others or None}})


async def a_plug_is_pulled_or_put_back(stage: Stage) -> None:
    """Of one machine at a time, of one with data if there is any; or it breaks, vanishes, or loses its network."""
    hurt = sorted(name for name, one in stage.picture.machines.items() if one.behaviour.faults or one.is_fenced)
    if hurt:
        if stage.chance.random() < 0.5:
            await stage.hurt(stage.chance.choice(hurt), "")
        return
    running = sorted(name for name in stage.picture.machines if name in stage.picture.nodes)
    if name := stage.one_of(holders(stage) or running):
        await stage.hurt(name, stage.chance.choice(DYING))


async def the_database_is_scaled(stage: Stage) -> None:
    """Its volumes wait for it."""
    if stage.terms.disks:
        replicas = stage.chance.randint(0, stage.terms.disks)
        await stage.change(STATEFUL_SETS, SET, {"spec": {"replicas": replicas}})


async def a_node_is_worked_on_or_not(stage: Stage) -> None:
    """Cordoned, and with the note that says so."""
    if name := stage.one_of(stage.launched()):
        is_closed = stage.picture.nodes[name].spec.unschedulable
        value = None if is_closed else "somebody"
        patch = {"metadata": {"annotations": {MAINTENANCE: value}}, "spec": {"unschedulable": not is_closed or None}}
        await stage.change(NODES, name, patch)


async def a_request_is_deleted(stage: Stage) -> None:
    """By somebody who tidies up."""
    if name := stage.one_of(sorted(stage.picture.requests)):
        stage.has_lost_requests = True
        await stage.delete(NODE_REQUESTS, name)


async def a_removal_is_deleted(stage: Stage) -> None:
    """By somebody who wants to keep the node."""
    if name := stage.one_of(sorted(stage.picture.removals)):
        await stage.delete(NODE_REMOVAL_REQUESTS, name)


async def a_removal_is_asked_for(stage: Stage) -> None:
    """By hand: whoever works there should stay."""
    if name := stage.one_of(stage.launched()):
        node = stage.picture.nodes[name]
        pool = node.metadata.labels[POOL]
        spec = {"pool": pool, "nodeName": name, "providerID": node.spec.provider_id, "reason": "somebody wants it"}
        await stage.create(NODE_REMOVAL_REQUESTS, name, {"spec": spec})


async def a_removal_is_retried(stage: Stage) -> None:
    """As ``growth request retry`` does."""
    if name := stage.one_of(sorted(stage.picture.removals)):
        await stage.change(NODE_REMOVAL_REQUESTS, name, {"metadata": {"annotations": {"growth.dev/retry": "now"}}})


def _bare_pods(stage: Stage) -> list[str]:
    pods = stage.picture.pods.values()
    return sorted(pod.metadata.name for pod in pods if not pod.metadata.owner_references and not pod.is_finished)


PEOPLE: Final[dict[Act, int]] = {
    pods_come: 30,
    pods_go: 14,
    a_node_is_emptied: 12,
    pods_finish: 6,
    a_deployment_comes_or_is_scaled: 6,
    a_budget_comes_or_goes: 3,
    a_pool_changes: 8,
    a_pool_is_deleted: 2,
    a_pool_comes_back: 4,
    a_node_is_cordoned_or_not: 4,
    a_node_is_protected_or_not: 2,
    a_node_is_deleted: 2,
    a_mark_is_meddled_with: 3,
    a_node_is_tainted_or_not: 4,
    a_request_is_deleted: 3,
    a_removal_is_deleted: 2,
    a_removal_is_asked_for: 2,
    a_removal_is_retried: 1,
}
"""What they do, and how often compared with each other."""

WITH_FAILOVER: Final[dict[Act, int]] = {
    a_plug_is_pulled_or_put_back: 16,
    a_node_is_taken_out_of_service_or_back: 3,
    the_driver_holds_a_volume_or_lets_go: 8,
    the_database_is_scaled: 3,
    a_node_is_worked_on_or_not: 2,
}
"""And this, where Growth moves work off dead machines."""
