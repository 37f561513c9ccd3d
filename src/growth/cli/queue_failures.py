"""On which flavors a workload could not start, in words, and what that means for where it waits. Pure."""

from typing import Final

from growth.api.queue.workload import PODS_READY_TIMEOUT, WAIT_FOR_RECOVERY, Workload
from growth.cli.queue_reader import QueueView
from growth.decide.queue.failed_flavors import NO_ROOM, failures_of, is_early
from growth.decide.queue.flavor_assignment import NO_PLACEMENT, OUT_OF_STOCK

_WORDS: Final = {
    OUT_OF_STOCK: "no machines could be had",
    NO_ROOM: "no place on the nodes that stand",
    NO_PLACEMENT: "no place for all of its pods",
    PODS_READY_TIMEOUT: "not ready in time",
    WAIT_FOR_RECOVERY: "it ran there and did not recover in time",
}


def failure(why: str) -> str:
    """One reason in words."""
    return _WORDS.get(why, why)


def failed_words(workload: Workload) -> str:
    """Where it failed: ``b (no machines could be had), c (not ready in time)``; empty if nowhere."""
    return ", ".join(f"{flavor} ({failure(why)})" for flavor, why in failures_of(workload).items())


def untried(seen: QueueView, workload: Workload) -> list[str]:
    """The flavors of its queue on which it has not failed."""
    queue, failed = seen.context.queue_of(workload), failures_of(workload)
    groups = queue.spec.resource_groups if queue is not None else ()
    return list(dict.fromkeys(one.name for group in groups for one in group.flavors if one.name not in failed))


def waits_for_others(seen: QueueView, workload: Workload) -> bool:
    """Whether its backoff is not over, and a flavor on which it has not failed may serve it all the same."""
    return seen.context.settings.queue.try_other_flavors and is_early(workload, seen.context.now)


def failing_words(seen: QueueView, workload: Workload) -> str:
    """Where it failed, and what it waits for now; empty if it failed nowhere."""
    failed, left = failed_words(workload), untried(seen, workload)
    if not failed:
        return ""
    if not left:
        return f"it failed on {failed}"
    if waits_for_others(seen, workload):
        return f"it failed on {failed}; until then it waits only for {', '.join(left)}"
    return f"it failed on {failed}, so it tries {', '.join(left)} first"
