"""After the trouble: what people take away that cannot heal by itself, and what must then be so, soon and for good."""

import asyncio
from collections import Counter
from collections.abc import Iterator
from typing import Final

from growth.act.effect_hooks import EffectPoint
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.node import Node
from growth.api.offering import INSTANCE_TYPE, POOL
from growth.api.out_of_service import HARDWARE, MAINTENANCE, PROOF, SHUTDOWN, out_of_service_taint
from growth.api.pod import Pod
from growth.api.taints import LEAVES
from growth.api.tolerations import untolerated
from growth_lab.scenarios.workloads import DEPLOYMENTS
from growth_lab.simulator.faults import Fault
from tests.trust.chaos.disks import holders, let_go, without_home
from tests.trust.chaos.lives import set_mark
from tests.trust.chaos.pods import APPS
from tests.trust.chaos.stage import Stage
from tests.trust.chaos.worlds import CORES, FIRST
from tests.trust.deeds import Deed
from tests.trust.invariants import is_marked

_LOOK_SECONDS: Final = 1.0
# A volume that hung on a node whose Node object is gone comes off after six minutes.
_FORCED_SECONDS: Final = 400.0
_POINTS: Final = frozenset(EffectPoint)
_PROTECTIONS: Final = ("growth.dev/do-not-disrupt", "karpenter.sh/do-not-disrupt")
_BARE: Final = {"metadata": {"annotations": dict.fromkeys((*_PROTECTIONS, MAINTENANCE))}}
_OURS: Final = (SHUTDOWN, HARDWARE)


async def heal(stage: Stage) -> None:
    """All faults stop, and people take their obstacles away."""
    stage.say("CALM: all faults stop")
    if stage.faults is not None:
        stage.faults.rates, stage.faults.is_on = {}, False
    stage.fleet.heal()
    stage.fleet.sell()
    await asyncio.sleep(10)  # for a server that is being restarted
    for app in APPS:
        await stage.delete(POD_DISRUPTION_BUDGETS, app)
    for name in stage.launched():
        await stage.change(NODES, name, {**_BARE, "spec": {"unschedulable": None}})
    if stage.terms.ends_dead and (dying := stage.one_of(holders(stage))):
        stage.stays_dead.add(dying)
        await stage.hurt(dying, "powerOff")
    for name in sorted(set(map(_comes_back, stage.picture.pods.values())) - {""}):
        await stage.delete(DEPLOYMENTS, name)
    for name, pool in sorted(stage.picture.pools.items()):
        types = [{"name": one.name, "min": one.min, "priority": one.priority} for one in pool.spec.server_types]
        await stage.change_pool(name, {"limits": None, "serverTypes": types})


def _comes_back(pod: Pod) -> str:
    """The Deployment of a pod that tolerates everything: it may come back for ever to where it is asked to leave."""
    return pod.metadata.labels.get("deployment", "") if untolerated((LEAVES,), pod.spec.tolerations) is None else ""


async def _help(stage: Stage) -> None:
    """What only people can do, whenever it is needed: a Deployment's pods come back with all that they bore."""
    await let_go(stage)
    for pod in list(stage.picture.pods.values()):
        if set(_PROTECTIONS) & set(pod.metadata.annotations):
            await stage.change(PODS, pod.metadata.name, _BARE)
    for name, machine in sorted(stage.picture.machines.items()):
        if (machine.behaviour.faults or machine.is_fenced) and name not in stage.stays_dead:
            await stage.hurt(name, "")
    for name, node in sorted(stage.picture.nodes.items()):
        mark = out_of_service_taint(node)
        if mark is not None and (PROOF not in node.metadata.annotations or mark not in _OURS):
            await set_mark(stage, name, None)  # what a person set is a person's to take off
    for name, removal in sorted(stage.picture.removals.items()):
        if removal.status.phase == "RemovalFailed" and "growth.dev/retry" not in removal.metadata.annotations:
            await stage.change(NODE_REMOVAL_REQUESTS, name, {"metadata": {"annotations": {"growth.dev/retry": "1"}}})
    if FIRST not in stage.picture.pools:
        types = [{"name": one} for one in CORES]
        terms = {"emptyAfter": "2s", "unreadyAfter": "2s", "delayAfterScaleUp": "0s"}
        await stage.create(NODE_POOLS, FIRST, {"spec": {"serverTypes": types, "scaleDown": terms}})


async def converged(stage: Stage) -> list[str]:
    """Wait until all is well and nothing moves; gives what is wrong when patience ends."""
    loop = asyncio.get_running_loop()
    patience = stage.tempo.patience + (_FORCED_SECONDS if stage.terms.disks else 0.0)
    deadline, since, written = loop.time() + patience, loop.time(), 0
    while True:
        wrong, moves = list(_wrong(stage)), _moves(stage)
        if wrong or len(moves) != written:
            since, written = loop.time(), len(moves)
        if loop.time() - since >= min(stage.tempo.quiet, stage.world.quiet_seconds):
            return []
        if loop.time() >= deadline:
            last = Counter(f"{deed.name} {deed.place.name}" for deed in moves[-10:])
            return wrong or [f"it still moves: {', '.join(f'{count} x {what}' for what, count in last.items())}"]
        await _help(stage)
        await asyncio.sleep(_LOOK_SECONDS)


def _moves(stage: Stage) -> list[Deed]:
    """What was written for a decision.

    A watch that lags stays so until it ends, and one of Leases makes a story of it: nodes fall silent and are back.
    """
    told = stage.faults.told if stage.faults is not None else ()
    is_lagging = any(one.fault is Fault.SLOW_WATCH for one in told)
    passed_over = ("events", "growth-status") if is_lagging else ("events",)
    deeds = stage.fleet.witness.deeds.all
    return [deed for deed in deeds if deed.by in _POINTS and not deed.name.endswith(passed_over)]


def _wrong(stage: Stage) -> Iterator[str]:
    yield from stage.audit.missing()
    yield from without_home(stage)
    picture = stage.picture
    for name, removal in sorted(picture.removals.items()):
        yield f"the removal of {name} is {removal.status.phase}"
    for name, request in sorted(picture.requests.items()):
        yield f"the NodeRequest {name} is kept, {request.status.phase}"
    for name, pool in sorted(picture.pools.items()):
        if pool.metadata.deletion_timestamp is not None:
            yield f"the pool {name} is still being deleted"
        else:
            yield from _unlike_its_pool(stage, name)


def _unlike_its_pool(stage: Stage, pool: str) -> Iterator[str]:
    """Too few nodes of a type, or some that nobody needs, or marks that nobody minds."""
    picture, spec = stage.picture, stage.picture.pools[pool].spec
    nodes = [node for _, node in sorted(picture.nodes.items()) if node.metadata.labels.get(POOL) == pool]
    wanted = {one.name: one.min for one in spec.server_types}
    for node in nodes:
        if is_marked(node):
            yield f"the node {node.metadata.name} is marked, and neither goes nor stays"
        if not node.is_ready and node.metadata.name not in stage.stays_dead:
            yield f"the node {node.metadata.name} is not ready"
    for kind in sorted({*wanted, *map(_type_of, nodes)}):
        ready = [node for node in nodes if _type_of(node) == kind and node.is_ready]
        empty = [node.metadata.name for node in ready if not picture.work_on(node.metadata.name)]
        least = wanted.get(kind, 0)
        dead = sum(_type_of(node) == kind and node.metadata.name in stage.stays_dead for node in nodes)
        if len(ready) + dead < least:
            yield f"pool {pool} has {len(ready)} {kind}, and wants {least} at least"
        if spec.scale_down.enabled and len(empty) > max(0, least - (len(ready) - len(empty))):
            yield f"pool {pool} keeps {', '.join(empty)} ({kind}), which nobody needs; it wants {least} at least"


def _type_of(node: Node) -> str:
    return node.metadata.labels.get(INSTANCE_TYPE, "")
