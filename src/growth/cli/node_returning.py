"""In service again, by hand: only when nothing of the old life is left, whoever took the node out."""

from typing import Final

from growth.api.out_of_service import has_marks
from growth.cli.failures import NotDone
from growth.cli.node_following import why_stuck
from growth.cli.node_leaving import is_carried_out
from growth.cli.node_seeing import NodeView, Now, see_known
from growth.decide.failover.node_return import freed
from growth.decide.failover.remaining_objects import what_is_left
from growth.kube.client import Client

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
