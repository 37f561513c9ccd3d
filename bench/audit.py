"""What Growth asked of the API server, by the server's own audit log: who writes cannot be mistaken about it there."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec
import yaml

from growth.run.shipped_manifests import ACCOUNT

USER: Final = f"system:serviceaccount:{ACCOUNT[0]}:{ACCOUNT[1]}"


class Subject(msgspec.Struct, frozen=True):
    """What it was about. An object that is only made has no name here."""

    resource: str = ""
    namespace: str = ""
    name: str = ""
    subresource: str = ""


class Status(msgspec.Struct, frozen=True):
    """What became of it."""

    code: int = 0


class Asked(msgspec.Struct, frozen=True, rename="camel"):
    """One request."""

    verb: str
    stage: str
    request_uri: str = msgspec.field(name="requestURI")
    object_ref: Subject = Subject()
    response_status: Status = Status()
    request_object: msgspec.Raw = msgspec.Raw()

    @property
    def is_done(self) -> bool:
        return self.response_status.code < 300


_LINES: Final = msgspec.json.Decoder(Asked)


class AuditLog:
    """The log of one cluster, in a folder of its own: ``flags`` start it. Only requests of Growth are written down;
    ``rules`` come first, for those that are wanted with more than who asked what of whom."""

    def __init__(self, folder: Path, rules: Sequence[dict[str, Any]] = ()) -> None:
        self._log, self._policy = folder / "audit.log", folder / "audit-policy.yaml"
        self._rules = rules
        self._at = 0

    @property
    def flags(self) -> dict[str, tuple[str, ...]]:
        """For the cluster."""
        policy = {
            "apiVersion": "audit.k8s.io/v1",
            "kind": "Policy",
            "omitStages": ["RequestReceived"],
            "rules": [*self._rules, {"level": "Metadata", "users": [USER]}, {"level": "None"}],
        }
        self._policy.write_text(yaml.safe_dump(policy))
        return {
            "kube-apiserver": (
                f"--audit-policy-file={self._policy}",
                f"--audit-log-path={self._log}",
                "--audit-log-maxsize=100000",
            )
        }

    def since(self) -> Iterator[Asked]:
        """What was asked for since the last time."""
        with self._log.open("rb") as log:
            log.seek(self._at)
            data = log.read()
        end = data.rfind(b"\n") + 1
        self._at += end
        return map(_LINES.decode, data[:end].splitlines())
