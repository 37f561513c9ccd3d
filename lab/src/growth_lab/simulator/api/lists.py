"""Lists: a picture of one instant, whole or by pages, now or as it was at a version."""

import base64
import binascii
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Mapping
from typing import Final

import msgspec

from growth_lab.simulator.api.computed import Computed
from growth_lab.simulator.api.error_responses import (
    Cause,
    bad_request,
    expired,
    invalid,
    not_allowed,
    too_large_version,
    unsupported,
)
from growth_lab.simulator.api.selection import Selection
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import Resource
from growth_lab.simulator.store import Key, Store, TooOld, key_of
from growth_lab.simulator.timings import Timings

Query = Mapping[str, str]
_Selected = tuple[Resource, str, str, str]
_Picture = tuple[Resource, str, str, str, int]

# Pages of so many lists may be under way before one has to be put together again from history.
_PICTURES: Final = 8
_EXPIRED: Final = (
    "The provided continue parameter is too old to display a consistent list result. You can start a new list without "
    "the continue parameter, or use the continue token in this response to retrieve the remainder of the results. "
    "Continuing with the provided token results in an inconsistent list - objects that were created, modified, or "
    "deleted between the time the first chunk was returned and now may show up in the list."
)


class _Token(msgspec.Struct, frozen=True):
    """Where the next page begins, in which picture."""

    version: int
    start: tuple[str, str]
    made_at: float


_TOKENS: Final = msgspec.json.Decoder(_Token)


class Lists:
    """Answers list requests."""

    def __init__(self, clock: Clock, store: Store, computed: Computed, timings: Timings) -> None:
        self._clock, self._store, self._computed, self._timings = clock, store, computed, timings
        self._pictures: OrderedDict[_Picture, list[Json]] = OrderedDict()
        self._selected: OrderedDict[_Selected, tuple[int, list[Json]]] = OrderedDict()
        """What was last selected, and when its kind had been written last: some ask for the same again and again."""

    def page(self, resource: Resource, namespace: str, query: Query) -> Json:
        """The list, or a page of it."""
        check_options(query, is_watch=False)
        token = _token(query.get("continue", ""))
        if token and self._clock.seconds() - token.made_at > self._timings.page_token_life:
            raise expired(_EXPIRED)
        version = token.version if token else self._version(query)
        items = self._picture(resource, namespace, query, version)
        if token:
            items = items[bisect_right(items, token.start, key=key_of) :]
        meta: Json = {"resourceVersion": str(version)}
        limit = int(query.get("limit", "0"))
        if 0 < limit < len(items):
            meta["continue"] = _text(_Token(version, key_of(items[limit - 1]), self._clock.seconds()))
            if not query.get("labelSelector") and not query.get("fieldSelector"):
                meta["remainingItemCount"] = len(items) - limit
            items = items[:limit]
        view = self._computed.view(resource)
        return {
            "kind": f"{resource.kind}List",
            "apiVersion": resource.api_version,
            "metadata": meta,
            "items": [view(item) for item in items] if view else items,
        }

    def selected(self, resource: Resource, namespace: str, query: Query) -> list[Json]:
        """All objects of a selection as they are now, in the order of their names."""
        wanted = (resource, namespace, query.get("labelSelector", ""), query.get("fieldSelector", ""))
        known = self._selected.get(wanted)
        written_at = self._store.written_at(resource)
        if known is not None and known[0] == written_at:
            return known[1]
        selection = Selection(resource, namespace, query)
        found = sorted((thing for thing in self._store.all(resource) if selection.matches(thing)), key=key_of)
        self._selected[wanted] = (written_at, found)
        if len(self._selected) > _PICTURES:
            self._selected.popitem(last=False)
        return found

    def _version(self, query: Query) -> int:
        current = self._store.version
        wanted = version_of(query, "invalid resource version: ")
        if wanted > current:
            raise too_large_version(wanted, current)
        return wanted if query.get("resourceVersionMatch") == "Exact" else current

    def _picture(self, resource: Resource, namespace: str, query: Query, version: int) -> list[Json]:
        labels, fields = query.get("labelSelector", ""), query.get("fieldSelector", "")
        picture = (resource, namespace, labels, fields, version)
        known = self._pictures.get(picture)
        if known is not None:
            return known
        if version == self._store.version:
            items = self.selected(resource, namespace, query)
        else:
            selection = Selection(resource, namespace, query)
            items = [thing for _, thing in sorted(self._at(resource, version).items()) if selection.matches(thing)]
        if query.get("limit"):
            self._pictures[picture] = items
            if len(self._pictures) > _PICTURES:
                self._pictures.popitem(last=False)
        return items

    def _at(self, resource: Resource, version: int) -> dict[Key, Json]:
        """What there was at a version: what there is, without what happened since."""
        try:
            since = self._store.since(resource, version)
        except TooOld:
            raise expired(_EXPIRED) from None
        objects = {key_of(thing): thing for thing in self._store.all(resource)}
        for event in reversed(since):
            if event.before is None:
                del objects[event.key]
            else:
                objects[event.key] = event.before
        return objects


def version_of(query: Query, words: str = "") -> int:
    """The version that a request names; 0 if it names none. Raises Refusal."""
    text = query.get("resourceVersion") or "0"
    if not text.isdecimal():
        why = f'{words}resourceVersion: Invalid value: "{text}": strconv.ParseUint: parsing "{text}": invalid syntax'
        raise bad_request(why)
    return int(text)


def check_options(query: Query, *, is_watch: bool) -> None:
    """Whether the ways in which a version is asked for go together. Raises Refusal."""
    field, match = "resourceVersionMatch", query.get("resourceVersionMatch", "")
    causes: list[Cause] = []
    if "sendInitialEvents" in query and not is_watch:
        causes.append(not_allowed("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    elif "sendInitialEvents" in query and match != "NotOlderThan":
        causes.append(not_allowed(field, "sendInitialEvents requires setting resourceVersionMatch to NotOlderThan"))
        if match:
            causes.append(unsupported(field, match, ("NotOlderThan",)))
    elif match and is_watch and "sendInitialEvents" not in query:
        why = "resourceVersionMatch is forbidden for watch unless sendInitialEvents is provided"
        causes.append(not_allowed(field, why))
    elif match and not is_watch and not query.get("resourceVersion"):
        causes.append(not_allowed(field, "resourceVersionMatch is forbidden unless resourceVersion is provided"))
    if causes:
        raise invalid("meta.k8s.io", "ListOptions", "", causes)


def _text(token: _Token) -> str:
    return base64.urlsafe_b64encode(msgspec.json.encode(token)).decode()


def _token(text: str) -> _Token | None:
    if not text:
        return None
    try:
        return _TOKENS.decode(base64.urlsafe_b64decode(text))
    except (binascii.Error, msgspec.DecodeError, ValueError) as error:
        raise bad_request(f"invalid continue token: continue key is not valid: {error}") from None
