"""What becomes of a wish that a node goes: why nothing happens yet, how far its move is, and its end."""

from datetime import timedelta
from typing import Final

from rich.console import Console

from growth.api.annotations import DRAIN
from growth.api.offering import POOL
from growth.api.settings.model import Settings
from growth.cli.failures import NotDone
from growth.cli.move_following import MoveProgress, looks
from growth.cli.node_leaving import OperatorDialog
from growth.decide.consolidation.allowances import allowance_in
from growth.decide.consolidation.candidates import why_stays
from growth.decide.consolidation.context import ConsolidationContext
from growth.decide.consolidation.preconditions import why_restless
from growth.kube.client import Client

# Growth has seen the wish and has thought about it by then.
_BEGUN_WITHIN: Final = timedelta(seconds=5)
_SILENT_FOR: Final = timedelta(seconds=60)


async def follow_wish(client: Client, settings: Settings, name: str, talk: OperatorDialog, aside: Console) -> None:
    """Tell what happens until the node is empty, and goes. Raises NotDone if it stays after all."""
    teller, began = MoveProgress(talk), talk.now()
    async with looks(client, settings, talk, aside) as scenes:
        async for context in scenes:
            node = context.snapshot.nodes.get(name)
            if node is None or name in context.terminating:
                teller.say(f"node {name} is empty, and goes" if node is not None else f"node {name} is gone")
                return
            move = next((one for one in context.moves if name in one.spec.nodes and one.status.phase != "Done"), None)
            if move is not None:
                teller.hear(context, move)
                if move.status.phase == "Undone":
                    again = f"growth drain {name} --reason ... tries it again, --undo takes the wish back"
                    raise NotDone(f"node {name} stays: its move was undone, {move.status.message}. {again}")
            elif DRAIN not in node.metadata.annotations:
                raise NotDone(f"node {name} stays: somebody has taken the wish back")
            elif context.now - began >= _BEGUN_WITHIN:
                _say_why_not(context, name, teller, is_long=context.now - began >= _SILENT_FOR)


def _say_why_not(context: ConsolidationContext, name: str, teller: MoveProgress, *, is_long: bool) -> None:
    """What Growth waits for, as far as it can be seen from here."""
    if why := why_stays(context.snapshot, context.settings, name, {}, "Requested"):
        teller.say_once(f"it stays for now: {why}")
    elif why := why_restless(context):
        teller.say_once(f"Growth does not begin yet: {why}")
    elif why := _why_not_let(context, name):
        teller.say_once(f"it stays for now: {why}")
    elif is_long:
        teller.say_once(f"Growth has not begun; what it says about the node: kubectl describe node {name}")


def _why_not_let(context: ConsolidationContext, name: str) -> str:
    pool = context.pools[context.snapshot.nodes[name].metadata.labels[POOL]]
    allowed = allowance_in(context, pool, "Requested")
    return "" if allowed.left else f"{allowed.set_by} of its pool lets {allowed.most} nodes go at one time"
