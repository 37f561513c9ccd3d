"""What happens after a node went out of service: its pods end, its volumes come off, or something is stuck.

In service again, by hand: only when nothing of the old life is left, whoever took the node out.
"""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from growth.api.kinds import NODES
from growth.api.out_of_service import has_marks, out_of_service_taint
from growth.cli.errors import NotDone
from growth.cli.formatting import span
from growth.cli.node_out_of_service import is_carried_out
from growth.cli.node_reader import NodeView, Now, see, see_known
from growth.decide.failover.node_return import freed
from growth.decide.failover.remaining_objects import what_is_left, why_kept
from growth.kube.client import Client

_LOOK_SECONDS: Final = 1.0
# The pod collector looks every 20 s; what is there after that has a reason.
_STUCK_AFTER: Final = timedelta(seconds=25)


async def follow(client: Client, name: str, now: Now, say: Callable[[str], None]) -> None:
    """Tell what happens until the node is free; raises NotDone if somebody takes the taint off before."""
    began, uid = now(), (await client.get(NODES, name)).metadata.uid
    told: set[str] = set()
    last = ""
    while True:
        seen = await see(client, name, now)
        after = now() - began
        if seen is None or seen.node.metadata.uid != uid:
            say(f"{span(after):>6}  its Node object is gone, and everything with it")
            return
        if not seen.left.all:
            say(f"{span(after):>6}  node {name} is free: nothing of its old life is left on it")
            _say_what_stays(seen, say)
            say(f"When it is back: growth node in-service {name}")
            return
        if out_of_service_taint(seen.node) is None:
            raise NotDone(f"somebody took the taint off node {name}, and {what_is_left(seen.left)}")
        if (words := what_is_left(seen.left)) != last:
            say(f"{span(after):>6}  {words}")
            last = words
        for why in why_stuck(seen) if after >= _STUCK_AFTER else ():
            if why not in told:
                say(f"{span(after):>6}  stuck: {why}")
                told.add(why)
        await asyncio.sleep(_LOOK_SECONDS)


def why_stuck(seen: NodeView) -> Iterator[str]:
    """Why something is still there, each as a sentence."""
    yield from (why for _, why in why_kept(seen.left))
    waiting = [pod for pod in seen.left.pods if not pod.metadata.finalizers]
    taint = out_of_service_taint(seen.node)
    if waiting and seen.node.is_ready:
        yield "pods are there as long as the node is Ready: kube-controller-manager ends those of a NotReady node only"
    elif waiting and taint is not None and taint.effect != "NoExecute":
        yield f"pods are there because the taint has the effect {taint.effect}: only NoExecute ends them"


def _say_what_stays(seen: NodeView, say: Callable[[str], None]) -> None:
    staying = [f"{pod.metadata.namespace}/{pod.metadata.name}" for pod in seen.left.staying]
    if staying:
        say(f"        pods that tolerate the taint stay: {', '.join(staying)}")


_ATTEMPTS: Final = 10
_SHOWN: Final = 5


async def take_in(client: Client, name: str, now: Now, *, force: bool) -> str:
    """Take the node into service; says what was done. Raises NotDone."""
    for _ in range(_ATTEMPTS):
        seen = await see_known(client, name, now)
        if not has_marks(seen.node):
            return f"node {name} is in service already: it does not bear the taint"
        if seen.left.all:
            raise NotDone(_old_life(seen))
        if not seen.node.is_ready and not force:
            raise NotDone(
                f"node {name} is not Ready; start its machine first: kubectl describe node {name}. "
                "To take the taint off all the same: --force"
            )
        if await is_carried_out(client, freed(seen.node, "a person takes it into service"), now):
            rest = "" if seen.node.is_ready else "; it gets no pods before it is Ready"
            return f"node {name} is in service: taint and note are gone{rest}"
    raise NotDone(f"node {name} changes all the time, so it could not be edited; nothing was done. Ask again")


def _old_life(seen: NodeView) -> str:
    """What is left, by name: without the taint nobody would end it."""
    left, name = seen.left, seen.node.metadata.name
    names = [f"pod {pod.metadata.namespace}/{pod.metadata.name}" for pod in (*left.pods, *left.lingering)]
    names += [f"volume {one.spec.source.persistent_volume_name or one.metadata.name}" for one in left.attachments]
    shown = ", ".join(names[:_SHOWN]) + (f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else "")
    why = "; ".join(dict.fromkeys(why_stuck(seen)))
    reasons = f" Why: {why}." if why else ""
    return (
        f"node {name} stays out of service, {what_is_left(left)}: {shown}.{reasons} "
        f"Without the taint they would be stuck: wait until they are gone (growth explain node {name})"
    )
