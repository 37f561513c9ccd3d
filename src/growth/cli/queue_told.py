"""How a workload stands, in one sentence: why, and until when. Pure."""

from datetime import datetime

from growth.cli.queue_entry import Entry, Standing
from growth.cli.queue_words import clock, due, times
from growth.cli.spans import span


def told(entry: Entry, at: datetime) -> str:
    """How it stands, why, and until when."""
    long = f" for {span(at - entry.since)}" if entry.since else ""
    why = f": {entry.why}" if entry.why else ""
    tried = f"tried {times(entry.attempts)}, " if entry.attempts else ""
    match entry.standing:
        case Standing.QUEUED:
            return f"{tried}{entry.why}" if entry.why else f"{tried}it waits for its turn"
        case Standing.STARTING if entry.until is not None and entry.until <= at:
            return f"starting{long}{why}; its time was over at {clock(entry.until, at)}"
        case Standing.STARTING if entry.until is not None:
            return f"starting{long}{why}; all must be by {due(entry.until, at)}"
        case Standing.STARTING:
            return f"starting{long}{why}"
        case Standing.BACKOFF if entry.until is not None:
            return f"{tried}again at {due(entry.until, at)}{why}"
        case Standing.LEAVING:
            return f"leaving{long}{why}; its quota is free when its pods are gone"
        case Standing.INACTIVE:
            return f"deactivated{long}{why}"
        case Standing.HELD:
            return entry.why
        case _:
            return f"{entry.standing}{long}"
