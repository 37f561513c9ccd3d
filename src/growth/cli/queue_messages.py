"""How a workload stands, in one sentence: why, and until when. Pure."""

from datetime import datetime

from growth.cli.formatting import clock, due, span, times
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow


def told(entry: WorkloadRow, at: datetime) -> str:
    """How it stands, why, and until when."""
    long = f" for {span(at - entry.since)}" if entry.since else ""
    why = f": {entry.why}" if entry.why else ""
    tried = f"tried {times(entry.attempts)}, " if entry.attempts else ""
    match entry.standing:
        case WorkloadPhase.QUEUED:
            return f"{tried}{entry.why}" if entry.why else f"{tried}it waits for its turn"
        case WorkloadPhase.STARTING if entry.until is not None and entry.until <= at:
            return f"starting{long}{why}; its time was over at {clock(entry.until, at)}"
        case WorkloadPhase.STARTING if entry.until is not None:
            return f"starting{long}{why}; all must be by {due(entry.until, at)}"
        case WorkloadPhase.STARTING:
            return f"starting{long}{why}"
        case WorkloadPhase.BACKOFF if entry.until is not None:
            return f"{tried}again at {due(entry.until, at)}{why}"
        case WorkloadPhase.LEAVING:
            return f"leaving{long}{why}; its quota is free when its pods are gone"
        case WorkloadPhase.INACTIVE:
            return f"deactivated{long}{why}"
        case WorkloadPhase.HELD:
            return entry.why
        case _:
            return f"{entry.standing}{long}"
