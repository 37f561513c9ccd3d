"""What Growth asked of the API server, by the server's own audit log: who writes cannot be mistaken about it there."""

import re
from collections import Counter
from collections.abc import Container
from pathlib import Path
from typing import Final

import msgspec
import yaml

from growth.api.settings import Settings
from growth.run.role import ACCOUNT

_USER: Final = f"system:serviceaccount:{ACCOUNT[0]}:{ACCOUNT[1]}"
_DEFAULTS: Final = Settings()
_SHARDS: Final = "growth-memory-"

# The five kinds of writes that a node's return needs, of which making and removing a transaction come twice.
KINDS: Final = ("transactions made", "transactions removed", "memories", "restores", "checkpoints")


class _Object(msgspec.Struct, frozen=True):
    resource: str = ""
    namespace: str = ""
    name: str = ""


class _Status(msgspec.Struct, frozen=True):
    code: int = 0


class _Asked(msgspec.Struct, frozen=True, rename="camel"):
    verb: str
    stage: str
    request_uri: str = msgspec.field(name="requestURI")
    object_ref: _Object = _Object()
    response_status: _Status = _Status()
    request_object: msgspec.Raw = msgspec.Raw()


# In a memento, which is JSON in a text of JSON.
_UID: Final = re.compile(rb'\\"uid\\":\\"([^\\]+)\\"')
_LINES: Final = msgspec.json.Decoder(_Asked)


class Audit:
    """The log of one cluster, in a folder of its own: ``flags`` start it, ``read`` tells what came since last time."""

    def __init__(self, folder: Path) -> None:
        self._log, self._policy = folder / "audit.log", folder / "audit-policy.yaml"
        self._at = 0
        self.lists: Counter[str] = Counter()
        """How often all objects of each kind were asked for, in what was read so far."""

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """For the cluster: only requests of Growth are written down, and the bodies of memories."""
        memories = {
            "level": "Request",
            "users": [_USER],
            "verbs": ["create", "patch"],
            "namespaces": [_DEFAULTS.memory.namespace],
            "resources": [{"group": "", "resources": ["configmaps"]}],
        }
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [memories, {"level": "Metadata", "users": [_USER]}, {"level": "None"}],
        }
        self._policy.write_text(yaml.safe_dump(policy))
        return {
            "kube-apiserver": (
                f"--audit-policy-file={self._policy}",
                f"--audit-log-path={self._log}",
                "--audit-log-maxsize=100000",
            )
        }

    def read(self, returned: Container[str] = ()) -> Counter[tuple[str, bool]]:
        """How often what was asked for since the last time, and whether it was done; ``returned`` are the uids of
        nodes whose checkpoints belong to their return."""
        with self._log.open("rb") as log:
            log.seek(self._at)
            data = log.read()
        end = data.rfind(b"\n") + 1
        self._at += end
        counts: Counter[tuple[str, bool]] = Counter()
        for line in data[:end].splitlines():
            asked = _LINES.decode(line)
            if asked.verb in ("list", "watch"):
                self.lists += Counter({_place(asked.object_ref): _is_list(asked)})
            else:
                counts[_kind(asked, returned), asked.response_status.code < 300] += 1
        return counts


def _is_list(asked: _Asked) -> bool:
    """A watch may begin with a list, and is told of when it begins and when it ends."""
    begins = "sendInitialEvents=true" in asked.request_uri and asked.stage == "ResponseStarted"
    return asked.verb == "list" or begins


def _place(seen: _Object) -> str:
    return f"{seen.resource} in {seen.namespace}" if seen.namespace else seen.resource


def _kind(asked: _Asked, returned: Container[str]) -> str:
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
