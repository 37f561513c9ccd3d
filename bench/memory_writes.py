"""What Growth asked of the API server, by the server's own audit log: who writes cannot be mistaken about it there."""

from collections import Counter
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


_LINES: Final = msgspec.json.Decoder(_Asked)


class Audit:
    """The log of one cluster, in a folder of its own: ``flags`` start it, ``read`` tells what came since last time."""

    def __init__(self, folder: Path) -> None:
        self._log, self._policy = folder / "audit.log", folder / "audit-policy.yaml"
        self._at = 0

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

    def read(self) -> Counter[tuple[str, bool]]:
        """How often what was asked for since the last time, and whether it was done."""
        with self._log.open("rb") as log:
            log.seek(self._at)
            data = log.read()
        end = data.rfind(b"\n") + 1
        self._at += end
        return Counter(what for line in data[:end].splitlines() if (what := _what(_LINES.decode(line))) is not None)


def _what(asked: _Asked) -> tuple[str, bool] | None:
    """None for what is told twice: a watch when it begins and when it ends."""
    is_done = asked.response_status.code < 300
    if asked.verb == "watch":
        is_list = "sendInitialEvents=true" in asked.request_uri
        return (
            (f"list of {_place(asked.object_ref)}", is_done) if is_list and asked.stage == "ResponseStarted" else None
        )
    if asked.verb == "list":
        return f"list of {_place(asked.object_ref)}", is_done
    return _kind(asked), is_done


def _place(seen: _Object) -> str:
    return f"{seen.resource} in {seen.namespace}" if seen.namespace else seen.resource


def _kind(asked: _Asked) -> str:
    seen, verb = asked.object_ref, asked.verb
    if seen.resource == "configmaps" and seen.namespace == _DEFAULTS.memory.transaction_namespace:
        return "transactions made" if verb == "create" else "transactions removed"
    if seen.resource == "configmaps" and seen.namespace == _DEFAULTS.memory.namespace and verb in ("create", "patch"):
        return "memories" if b'"memory":"' in bytes(asked.request_object) else "checkpoints"
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
        "shard_lease_writes": counts["shard leases", True],
        "reads": counts[f"get configmaps in {_DEFAULTS.memory.namespace}", True],
    }


def lists_in(counts: Counter[tuple[str, bool]]) -> dict[str, int]:
    """How often all objects of each kind were asked for."""
    return {what.removeprefix("list of "): count for (what, _), count in counts.items() if what.startswith("list of ")}
