"""What remembering nodes asked of the API server, by kind of write."""

import re
from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import Final

from bench.audit import USER, Asked, AuditLog, Subject
from growth.api.settings.model import Settings

_DEFAULTS: Final = Settings()
_SHARDS: Final = "growth-memory-"

# The five kinds of writes that a node's return needs, of which making and removing a transaction come twice.
KINDS: Final = ("transactions made", "transactions removed", "memories", "restores", "checkpoints")


# In a memento, which is JSON in a text of JSON.
_UID: Final = re.compile(rb'\\"uid\\":\\"([^\\]+)\\"')


class Audit:
    """The log of one cluster, in a folder of its own: ``flags`` start it, ``read`` tells what came since last time."""

    def __init__(self, folder: Path) -> None:
        memories = {
            "level": "Request",  # with its body
            "users": [USER],
            "verbs": ["create", "patch"],
            "namespaces": [_DEFAULTS.memory.namespace],
            "resources": [{"group": "", "resources": ["configmaps"]}],
        }
        self._log = AuditLog(folder, (memories,))
        self.lists: Counter[str] = Counter()
        """How often all objects of each kind were asked for, in what was read so far."""

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """For the cluster."""
        return self._log.flags

    def read(self, returned: Container[str] = ()) -> Counter[tuple[str, bool]]:
        """How often what was asked for since the last time, and whether it was done; ``returned`` are the uids of
        nodes whose checkpoints belong to their return."""
        counts: Counter[tuple[str, bool]] = Counter()
        for asked in self._log.since():
            if asked.verb in ("list", "watch"):
                self.lists += Counter({_place(asked.object_ref): _is_list(asked)})
            else:
                counts[_kind(asked, returned), asked.is_done] += 1
        return counts


def _is_list(asked: Asked) -> bool:
    """A watch may begin with a list, and is told of when it begins and when it ends."""
    begins = "sendInitialEvents=true" in asked.request_uri and asked.stage == "ResponseStarted"
    return asked.verb == "list" or begins


def _place(seen: Subject) -> str:
    return f"{seen.resource} in {seen.namespace}" if seen.namespace else seen.resource


def _kind(asked: Asked, returned: Container[str]) -> str:
    seen, verb = asked.object_ref, asked.verb
    if seen.resource == "configmaps" and seen.namespace == _DEFAULTS.memory.transaction_namespace:
        return "transactions made" if verb == "create" else "transactions removed"
    if seen.resource == "configmaps" and seen.namespace == _DEFAULTS.memory.namespace and verb in ("create", "patch"):
        body = bytes(asked.request_object)
        if b'"memory":"' in body:
            return "memories"
        uid = _UID.search(body)
        is_of_return = uid is not None and uid[1].decode() in returned
        return "checkpoints" if is_of_return else "checkpoints of changes"
    if seen.resource == "nodes" and verb == "patch":
        return "restores"
    if seen.resource == "leases" and verb in ("create", "patch", "update"):
        # A create has no name in the log.
        return "shard leases" if seen.name.startswith(_SHARDS) or verb == "create" else "leader lease"
    return f"{verb} {_place(seen)}"


def shown(counts: Counter[tuple[str, bool]], nodes: int) -> dict[str, object]:
    """The writes of so many nodes that went and came back once, as figures."""
    done = {what: counts[what, True] for what in KINDS}
    refused = {what: counts[what, False] for what in (*KINDS, "shard leases") if counts[what, False]}
    return {
        "api_writes": sum(done.values()),
        "writes_per_node": round(sum(done.values()) / nodes, 3),
        "writes_of": {what: round(count / nodes, 3) for what, count in done.items()},
        "refused": refused,
        "checkpoints_of_changes": counts["checkpoints of changes", True],
        "shard_lease_writes": counts["shard leases", True],
        "reads": counts[f"get configmaps in {_DEFAULTS.memory.namespace}", True],
    }
