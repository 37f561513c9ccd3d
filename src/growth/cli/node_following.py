"""What happens after a node went out of service: its pods end, its volumes come off, or something is stuck."""

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Final

from growth.api.kinds import NODES
from growth.api.out_of_service import out_of_service_taint
from growth.cli.failures import NotDone
from growth.cli.node_seeing import NodeView, Now, see
from growth.cli.spans import span
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
