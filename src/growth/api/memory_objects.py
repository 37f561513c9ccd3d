"""The objects that memory is kept in: ConfigMaps and Leases of our own, each of them a kind to us.

| object | name | what it holds |
|---|---|---|
| transaction | sha256 of the node's name, a dot, a version of the node | that it came, or what it was when it went |
| memory | the node's name | ``memory``: what it was when it went; or ``checkpoint``: what it is, as far as we know |
| lease of a shard | ``growth-memory-7-of-64`` | which replica works on the nodes of this shard |

A transaction's name follows from what happened, so all replicas make the same one; a memory has one of its two keys.
"""

from hashlib import sha256
from typing import Any, Final, Literal

import msgspec

from growth.api.coordination import Lease
from growth.api.kinds import Kind
from growth.api.memory import Memento
from growth.api.meta import ObjectMeta
from growth.api.slim import Slim

SHARD_LABEL: Final = "growth.dev/shard-of"
SHARD_OF: Final = "memory"

# What Kubernetes takes in one ConfigMap, less room for what stands beside a memento in it.
_LARGEST: Final = 1024 * 1024 - 4096
_MEMENTOS: Final = msgspec.json.Decoder(Memento)


class MemoryData(msgspec.Struct, frozen=True, rename="camel"):
    """The texts of a memory: one of the first two is there."""

    memory: str = ""
    checkpoint: str = ""
    claimed_by: str = ""
    """``NAME/UID`` of the node that took it over in this one's place."""


class MemoryObject(Slim, frozen=True):
    """What is remembered of one node."""

    metadata: ObjectMeta
    data: MemoryData = MemoryData()


class TransactionData(msgspec.Struct, frozen=True, rename="camel"):
    """The texts of a transaction. What lacks ``type`` or ``node`` is somebody else's."""

    type: str = ""
    node: str = ""
    memento: str = ""


class TransactionObject(Slim, frozen=True):
    """Something that happened to a node and is not dealt with yet."""

    metadata: ObjectMeta
    data: TransactionData = TransactionData()


class ShardLease(Lease, frozen=True):
    """Who works on a shard."""


MEMORIES: Final = Kind("", "v1", "configmaps", "ConfigMap", True, MemoryObject)  # noqa: FBT003 - it is namespaced
TRANSACTIONS: Final = Kind("", "v1", "configmaps", "ConfigMap", True, TransactionObject)  # noqa: FBT003
SHARD_LEASES: Final = Kind("coordination.k8s.io", "v1", "leases", "Lease", True, ShardLease)  # noqa: FBT003


class Transaction(msgspec.Struct, frozen=True):
    """One that can be read. Of an ``added`` one the memento says only who it was."""

    metadata: ObjectMeta
    type: Literal["added", "deleted"]
    node: str
    memento: Memento

    @property
    def version(self) -> int:
        """Its place among the others of the same node."""
        return self.memento.version


class Remembered(msgspec.Struct, frozen=True):
    """A memory that can be read."""

    metadata: ObjectMeta
    memento: Memento
    is_final: bool
    """Whether the node had gone, and not just been looked at."""
    claimed_by: str = ""


class Unreadable(ValueError):
    """A memory that somebody else wrote, or changed, so that it says nothing to us."""


def digest_of(node: str) -> str:
    """The node's name at a fixed length, because a name may be as long as a ConfigMap's name can be."""
    return sha256(node.encode()).hexdigest()


def transaction_name(node: str, version: int) -> str:
    """By which all replicas know that it is the same."""
    return f"{digest_of(node)}.{version}"


def shard_of(node: str, shards: int) -> int:
    """Which shard a node belongs to."""
    return int(digest_of(node)[:8], 16) % shards


def shard_name(shard: int, shards: int) -> str:
    """The name of its Lease. Replicas that divide differently share none; both are right, and one may be in vain."""
    return f"growth-memory-{shard}-of-{shards}"


def read_transaction(found: TransactionObject) -> Transaction | None:
    """What a transaction says; None for a ConfigMap that is none."""
    data, meta = found.data, found.metadata
    if data.type not in ("added", "deleted"):
        return None
    try:
        memento = _MEMENTOS.decode(data.memento)
    except msgspec.DecodeError:
        return None
    if meta.name != transaction_name(data.node, memento.version):
        return None
    return Transaction(meta, "added" if data.type == "added" else "deleted", data.node, memento)


def read_memory(found: MemoryObject) -> Remembered:
    """What a memory says; raises Unreadable."""
    data = found.data
    text = data.memory or data.checkpoint
    try:
        memento = _MEMENTOS.decode(text)
    except msgspec.DecodeError as error:
        key = "memory" if data.memory else "checkpoint"
        raise Unreadable(
            f"ConfigMap {found.metadata.namespace}/{found.metadata.name} cannot be read: its {key} is {text[:60]!r}, "
            f"expected a JSON object ({error})"
        ) from error
    return Remembered(found.metadata, memento, bool(data.memory), data.claimed_by)


def text_of(memento: Memento) -> str:
    """A memento as it stands in an object."""
    return msgspec.json.encode(memento, order="sorted").decode()


def transaction_body(kind: Literal["added", "deleted"], node: str, memento: Memento) -> dict[str, Any]:
    """What to make a transaction of."""
    return {"data": {"type": kind, "node": node, "memento": text_of(memento)}}


def memory_data(memento: Memento, *, is_final: bool, keeps_claim: bool = False) -> dict[str, str | None]:
    """What to set in a memory; the other key goes, and so does the claim on what was there before.

    Not if that was the same life of the node: its successor may have come before it left, and stays the only one.
    """
    text, claim = text_of(memento), dict[str, str | None]() if keeps_claim else {"claimedBy": None}
    return {"memory": text if is_final else None, "checkpoint": None if is_final else text, **claim}


def is_too_large(memento: Memento) -> bool:
    """Whether no ConfigMap can hold it."""
    return len(msgspec.json.encode(memento)) > _LARGEST
