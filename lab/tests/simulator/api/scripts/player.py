"""Plays a script on any ``Send`` and writes down the answers in a form in which two servers can be compared.

A request may name what an earlier answer said: ``{0:metadata.uid}`` is the uid of the first answer's object. ``{ns}``
is the script's own namespace, ``{id}`` a suffix for names of objects that live in none.
"""

import re
from collections.abc import Sequence
from contextlib import aclosing
from typing import Any, NamedTuple, cast

import msgspec

from growth.kube.transport import Method, Query, Request, Send

Json = dict[str, Any]

JSON = "application/json"
MERGE = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY = "application/apply-patch+yaml"

_REFERENCE = re.compile(r"\{(\d+):([\w.]+)\}")
_STAMP = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Not kept by the virtual server, because nobody in it reads them.
_DROPPED_META = ("managedFields", "selfLink", "creationTimestamp")
_DROPPED = ("daemonEndpoints", "nodeInfo")
# The other kinds have no generation on the real server, and one that nobody looks at on the virtual one.
_WITH_GENERATION = ("Pod", "NodePool", "NodeRequest", "NodeRemovalRequest", "PodDisruptionBudget")
_ACCESS_VOLUME = "kube-api-access-"


class Ask(NamedTuple):
    """One request, or one watch that is read until the server ends it."""

    method: Method
    path: str
    body: object = None
    query: Query = ()
    content_type: str = JSON
    is_watch: bool = False
    hides: tuple[str, ...] = ()
    """Keys that may differ, wherever they stand: texts that print whole objects, for example."""


Script = tuple[Ask, ...]


def get(path: str, *query: tuple[str, str], hides: tuple[str, ...] = ()) -> Ask:
    return Ask(Method.GET, path, query=query, hides=hides)


def post(path: str, body: object, *query: tuple[str, str], hides: tuple[str, ...] = ()) -> Ask:
    return Ask(Method.POST, path, body, query, hides=hides)


def put(path: str, body: object, hides: tuple[str, ...] = ()) -> Ask:
    return Ask(Method.PUT, path, body, hides=hides)


def merge(path: str, body: object, hides: tuple[str, ...] = ()) -> Ask:
    return Ask(Method.PATCH, path, body, content_type=MERGE, hides=hides)


def json_patch(path: str, *operations: object, hides: tuple[str, ...] = ()) -> Ask:
    return Ask(Method.PATCH, path, list(operations), content_type=JSON_PATCH, hides=hides)


def apply(path: str, body: object, *, manager: str = "one", force: bool = False, hides: tuple[str, ...] = ()) -> Ask:
    query = (("fieldManager", manager),) if manager else ()
    return Ask(Method.PATCH, path, body, (*query, ("force", str(force).lower())), APPLY, hides=hides)


def delete(path: str, body: object = None, *query: tuple[str, str], hides: tuple[str, ...] = ()) -> Ask:
    return Ask(Method.DELETE, path, body, query, hides=hides)


def watch(path: str, *query: tuple[str, str], seconds: int = 1, hides: tuple[str, ...] = ()) -> Ask:
    everything = (("watch", "true"), ("timeoutSeconds", str(seconds)), *query)
    return Ask(Method.GET, path, query=everything, is_watch=True, hides=hides)


async def play(send: Send, script: Script, namespace: str, suffix: str) -> list[Json]:
    """The answers, without what no two servers agree on."""
    raw: list[Any] = []
    shown: list[Json] = []
    plain = _Plain(namespace, suffix)
    for ask in script:
        request = _request(ask, raw, namespace, suffix)
        if ask.is_watch:
            async with send.stream(request) as stream:
                status = stream.status
                if status == 200:
                    async with aclosing(stream.batches()) as batches:
                        body: Any = [msgspec.json.decode(line) async for batch in batches for line in batch]
                else:
                    body = msgspec.json.decode(await stream.body())
        else:
            answer = await send.send(request)
            status, body = answer.status, _decoded(answer.body)
        raw.append(body)
        shown.append({"status": status, "body": plain.of(body, ask.hides)})
    return shown


def _decoded(body: bytes) -> object:
    try:
        return msgspec.json.decode(body)
    except msgspec.DecodeError:
        return body.decode()


def _request(ask: Ask, raw: Sequence[Any], namespace: str, suffix: str) -> Request:
    def filled(text: str) -> str:
        text = text.replace("{ns}", namespace).replace("{id}", suffix)
        return _REFERENCE.sub(lambda found: _looked_up(raw[int(found[1])], found[2]), text)

    body = b"" if ask.body is None else filled(_text(ask.body)).encode()
    query = tuple((name, filled(value)) for name, value in ask.query)
    return Request(ask.method, filled(ask.path), query, body, ask.content_type)


def _text(body: object) -> str:
    return body if isinstance(body, str) else msgspec.json.encode(body).decode()


def _looked_up(value: Any, path: str) -> str:  # noqa: ANN401 - any JSON
    for name in path.split("."):
        value = value[int(name)] if name.isdecimal() else value[name]
    return str(value)


class _Plain:
    """Turns what differs between any two servers into what can be compared: who is equal to whom, not who is who.

    What is empty counts as absent, because Go leaves most of it out.
    """

    def __init__(self, namespace: str, suffix: str) -> None:
        self._own = ((namespace, "{ns}"), (suffix, "{id}"))
        self._uids: dict[str, str] = {}
        self._versions: dict[str, str] = {}

    def of(self, value: Any, hides: tuple[str, ...]) -> Any:  # noqa: ANN401 - any JSON
        if isinstance(value, list):
            shown = [self.of(item, hides) for item in _without_bookmarks(cast("list[Any]", value))]
            return [item for item in shown if item is not None]
        if isinstance(value, dict):
            return self._mapping(cast("Json", value), hides)
        return self._string(value) if isinstance(value, str) else value

    def _mapping(self, value: Json, hides: tuple[str, ...]) -> Json | None:
        if str(value.get("name", "")).startswith(_ACCESS_VOLUME):
            return None
        kind = value.get("kind", "")
        shown: Json = {}
        for key, item in value.items():
            if key in hides or key in _DROPPED:
                continue
            plain = self.of(self._opened(key, item, kind), hides)
            if plain not in (None, "", [], {}):
                shown[key] = plain
        if causes := cast("list[Json]", shown.get("causes")):
            shown["causes"] = sorted({msgspec.json.encode(cause, order="sorted").decode() for cause in causes})
        if len(shown.get("details", {}).get("causes", ())) > 1:
            shown.pop("message", None)  # it lists them in whatever order
        return shown

    def _opened(self, key: str, item: Any, kind: str) -> Any:  # noqa: ANN401 - any JSON
        if key == "metadata" and isinstance(item, dict):
            return self._meta(cast("Json", item), kind)
        if key == "items" and isinstance(item, list) and kind.endswith("List"):
            return [_bare(thing) for thing in cast("list[Json]", item)]
        return cast("Any", item)

    def _meta(self, meta: Json, kind: str) -> Json:
        if kind.endswith("List"):
            return {"continue": bool(meta.get("continue")), "remaining": meta.get("remainingItemCount")}
        dropped = _DROPPED_META if kind in _WITH_GENERATION else (*_DROPPED_META, "generation")
        shown = {key: item for key, item in meta.items() if key not in dropped}
        if version := shown.get("resourceVersion"):
            shown["resourceVersion"] = self._versions.setdefault(version, f"version {len(self._versions)}")
        return shown

    def _string(self, text: str) -> str:
        for own, name in self._own:
            text = text.replace(own, name)
        for uid in _UID.findall(text):
            text = text.replace(uid, self._uids.setdefault(uid, f"uid {len(self._uids)}"))
        return _STAMP.sub("TIME", text)


def _without_bookmarks(items: list[Any]) -> list[Any]:
    """The lines of a watch without bookmarks that say nothing else: they come when they come."""
    return [item for item in items if not (isinstance(item, dict) and _is_bookmark(cast("Json", item)))]


def _is_bookmark(line: Json) -> bool:
    return line.get("type") == "BOOKMARK" and not line["object"]["metadata"].get("annotations")


def _bare(thing: Json) -> Json:
    """Items of a list, which the real server shows without their kind."""
    return {key: item for key, item in thing.items() if key not in ("kind", "apiVersion")}
