"""Keys are lifted out of a spec, so that siblings with keys to different nodes still share one.

A key (``api.starting``) is a toleration, and so a part of the pod's spec. Left there it would give the pods of every
new node a spec of their own: memory, families and groups would grow with the nodes, long after the keys were used.

They are taken out of the text before anybody reads it, because siblings are recognised by their text. That works for
keys as the API server writes them, if nothing else in the spec speaks of our taint; all others are lifted once the
spec is read.
"""

from functools import lru_cache
from sys import intern
from typing import Final

import msgspec

from growth.api.pod import PodSpec
from growth.api.starting import STARTING, is_key, key_to

_MARK: Final = STARTING.encode()
# Our struct has its fields in the order in which the API server writes them.
_BEFORE, _AFTER = msgspec.json.encode(key_to("?")).split(b"?")
# Far more nodes than are being started at a time.
_REMEMBERED_KEYS: Final = 8192


def lift_from_text(text: bytes) -> tuple[bytes, tuple[str, ...]]:
    """A spec's text without keys, and the keys, oldest first; the text as it was if they cannot be cut out cleanly."""
    if _MARK not in text:
        return text, ()
    kept, *pieces = text.split(_BEFORE)
    keys: list[str] = []
    for piece in pieces:
        name, _, rest = piece.partition(_AFTER)
        if not name or b'"' in name or b"\\" in name:
            return text, ()  # a toleration that only begins like a key, or one with an odd name
        keys.append(intern(name.decode()))
        # With it goes one comma: the one before it, or the one after it if it was the first of the list.
        kept = kept[:-1] + rest if kept.endswith(b",") else kept + rest.removeprefix(b",")
    # A key in other words may be among what is left, and then only the whole list tells which is older.
    return (text, ()) if _MARK in kept else (kept, _shared(tuple(keys)))


def lift(spec: PodSpec) -> tuple[PodSpec, tuple[str, ...]]:
    """A spec without keys, and the keys, oldest first."""
    keys = tuple(intern(toleration.value) for toleration in spec.tolerations if is_key(toleration))
    if not keys:
        return spec, ()
    others = tuple(toleration for toleration in spec.tolerations if not is_key(toleration))
    return msgspec.structs.replace(spec, tolerations=others), _shared(keys)


@lru_cache(maxsize=_REMEMBERED_KEYS)
def _shared(keys: tuple[str, ...]) -> tuple[str, ...]:
    """One tuple for all pods of a node."""
    return keys
