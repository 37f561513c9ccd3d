"""The three ways to change a part of an object. We never send whole objects: what we read of them is slim."""

from collections.abc import Mapping, Sequence
from typing import Any, Final

import msgspec

from growth.kube.transport import Query

Json = Mapping[str, Any]

FIELD_MANAGER: Final = "growth"


class MergePatch(msgspec.Struct, frozen=True):
    """Values to set; None removes a key. Put ``metadata.resourceVersion`` into it as a precondition, or the ``uid``:
    another one is refused as Invalid, except (1.36) in the status of custom objects, where it is not looked at."""

    body: Json
    content_type = "application/merge-patch+json"
    query: Query = ()

    def encode(self) -> bytes:
        """The body on the wire."""
        return msgspec.json.encode(self.body)


class JsonPatch(msgspec.Struct, frozen=True):
    """Operations in order; a ``test`` operation is a precondition on any field."""

    operations: Sequence[Json]
    content_type = "application/json-patch+json"
    query: Query = ()

    def encode(self) -> bytes:
        """The body on the wire."""
        return msgspec.json.encode(self.operations)


class ApplyPatch(msgspec.Struct, frozen=True):
    """Server-side apply: the fields we own, as we want them; made if it does not exist."""

    body: Json
    force: bool = True
    content_type = "application/apply-patch+yaml"

    @property
    def query(self) -> Query:
        """Whose fields these are, and whether to take them from others."""
        return (("fieldManager", FIELD_MANAGER), ("force", "true" if self.force else "false"))

    def encode(self) -> bytes:
        """The body on the wire; JSON is YAML."""
        return msgspec.json.encode(self.body)


Patch = MergePatch | JsonPatch | ApplyPatch
