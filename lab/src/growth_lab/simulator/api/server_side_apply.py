"""Server-side apply: who said which field, and what becomes of fields that nobody says any more.

Owners are kept where the real server keeps them, in ``metadata.managedFields``, but only from the first apply on: what
was written in other ways before belongs to one owner without a name. Lists whose items are merged by a key are those of
pods, nodes and metadata; every other list is one value.
"""

from collections.abc import Iterable
from typing import Any, Final, cast

import msgspec

from growth_lab.simulator.api.error_responses import Refusal
from growth_lab.simulator.merge_patch import Json

Path = tuple[str, ...]
Owners = dict[str, set[Path]]

# By the field that holds the list: which fields make two items the same one; none means that the item itself does.
_KEYED_LISTS: Final[dict[str, tuple[str, ...]]] = {
    "containers": ("name",),
    "initContainers": ("name",),
    "volumes": ("name",),
    "env": ("name",),
    "ports": ("containerPort", "protocol"),
    "volumeMounts": ("mountPath",),
    "conditions": ("type",),
    "ownerReferences": ("uid",),
    "topologySpreadConstraints": ("topologyKey", "whenUnsatisfiable"),
    "finalizers": (),
}
_NOT_OWNED: Final = ("name", "namespace", "uid", "resourceVersion", "managedFields", "creationTimestamp", "generation")
OTHERS: Final = "before-first-apply"
"""The owner of what was there already."""


def applied(current: Json | None, wish: Json, manager: str, stamp: str, *, is_forced: bool) -> Json:
    """The object as the manager wants it. Raises Refusal if that would take what is another's."""
    wanted = _paths(_claims(wish))
    if current is None:
        return _with_owners({**wish}, {}, {manager: wanted}, stamp)
    owners = owners_of(current)
    mine = owners.get(manager, set())
    disputed = _disputed(current, wish, owners, manager, wanted)
    if disputed and not is_forced:
        raise _conflict(disputed)
    for path, _ in disputed:
        for others in owners.values():
            others.discard(path)
    theirs = set[Path]().union(*(paths for name, paths in owners.items() if name != manager))
    shared = {path for path in wanted - mine - theirs if _at(current, path) is not None}
    taken = {path for path, _ in disputed}
    if shared - taken:
        owners.setdefault(OTHERS, set()).update(shared - taken)
    result = _merged(current, _claims(wish), "")
    # Whole items of lists first: they are found by fields that would go with them.
    for path in sorted(mine - wanted - theirs, key=lambda path: (path[-1].startswith("f:"), -len(path), path)):
        result = _without(result, path, theirs | wanted)
    owners[manager] = wanted
    return _with_owners(result, current, owners, stamp)


def after_change(before: Json, after: Json) -> Json:
    """The object after somebody changed it without apply: what was changed no longer belongs to who applied it."""
    owners = owners_of(before)
    if not owners or after is before:
        return after
    for paths in owners.values():
        paths -= {path for path in paths if _at(before, path) != _at(after, path)}
    return _with_owners(after, before, owners, "")


def owners_of(thing: Json) -> Owners:
    """Who said what."""
    entries: list[Json] = thing["metadata"].get("managedFields") or []
    return {entry["manager"]: set(_unfolded(entry["fieldsV1"])) for entry in entries}


def _claims(wish: Json) -> Json:
    meta = {key: value for key, value in wish.get("metadata", {}).items() if key not in _NOT_OWNED}
    rest = {key: value for key, value in wish.items() if key not in ("apiVersion", "kind", "metadata")}
    return {**rest, **({"metadata": meta} if meta else {})}


def _paths(value: Any, path: Path = (), field: str = "") -> set[Path]:  # noqa: ANN401 - any JSON
    if isinstance(value, dict) and value:
        found = [_paths(item, (*path, f"f:{key}"), key) for key, item in cast("Json", value).items()]
        return set[Path]().union(*found)
    if isinstance(value, list) and field in _KEYED_LISTS:
        found: list[set[Path]] = []
        for item in cast("list[Any]", value):
            place = (*path, _key(field, item))
            found += [{place}, _paths(item, place) if isinstance(item, dict) else set[Path]()]
        return set[Path]().union(*found)
    return {path} if path else set()


def _key(field: str, item: Any) -> str:  # noqa: ANN401 - any JSON
    names = _KEYED_LISTS[field]
    if not names:
        return f"v:{msgspec.json.encode(item).decode()}"
    return f"k:{msgspec.json.encode({name: item.get(name) for name in names}).decode()}"


def _at(value: Any, path: Path) -> Any:  # noqa: ANN401 - any JSON
    field = ""
    for step in path:
        if step.startswith("f:"):
            field = step[2:]
            value = cast("Json", value).get(field) if isinstance(value, dict) else None
        else:
            items = cast("list[Any]", value) if isinstance(value, list) else []
            value = next((item for item in items if _key(field, item) == step), None)
        if value is None:
            return None
    return value


def _disputed(
    current: Json, wish: Json, owners: Owners, manager: str, wanted: Iterable[Path]
) -> list[tuple[Path, str]]:
    """Fields that have another value and another owner."""
    found: list[tuple[Path, str]] = []
    mine = owners.get(manager, set())
    for path in sorted(wanted):
        there, value = _at(current, path), _at(wish, path)
        is_same_place = path[-1][0] != "f" or (value == {} and isinstance(there, dict))
        if there is None or there == value or is_same_place:
            continue
        other = next((name for name, paths in owners.items() if name != manager and path in paths), None)
        if other is not None or path not in mine:
            found.append((path, other or OTHERS))
    return found


def _conflict(disputed: list[tuple[Path, str]]) -> Refusal:
    causes = [
        {"reason": "FieldManagerConflict", "message": f'conflict with "{name}"', "field": _dotted(path)}
        for path, name in disputed
    ]
    count = "1 conflict" if len(causes) == 1 else f"{len(causes)} conflicts"
    words = ", ".join(f"{cause['message']}: {cause['field']}" for cause in causes)
    return Refusal(409, "Conflict", f"Apply failed with {count}: {words}", {"causes": causes})


def _dotted(path: Path) -> str:
    return "".join(f".{step[2:]}" if step.startswith("f:") else f"[{step[2:]}]" for step in path)


def _merged(there: Any, wish: Any, field: str) -> Any:  # noqa: ANN401 - any JSON
    if isinstance(there, dict) and isinstance(wish, dict):
        known = cast("Json", there)
        return {**known, **{key: _merged(known.get(key), item, key) for key, item in cast("Json", wish).items()}}
    if isinstance(there, list) and isinstance(wish, list) and field in _KEYED_LISTS:
        items = {_key(field, item): item for item in cast("list[Any]", there)}
        for item in cast("list[Any]", wish):
            place = _key(field, item)
            items[place] = _merged(items.get(place), item, "")
        return list(items.values())
    return cast("Any", wish)


def _without(value: Any, path: Path, kept: set[Path], before: Path = (), field: str = "") -> Any:  # noqa: ANN401 - any JSON
    """The value without what stands at the path; an item of a list stays while somebody says anything in it."""
    step, rest = path[0], path[1:]
    here = (*before, step)
    if not step.startswith("f:"):
        items: list[Any] = [*(value or ())]
        if rest:
            return [_without(item, rest, kept, here) if _key(field, item) == step else item for item in items]
        if any(other[: len(here)] == here for other in kept):
            return items
        return [item for item in items if _key(field, item) != step]
    name, known = step[2:], cast("Json", value or {})
    if name not in known:
        return known
    if rest:
        return {**known, name: _without(known[name], rest, kept, here, name)}
    if isinstance(known[name], dict) and known[name]:
        return known  # it was said to be empty, and others have filled it
    return {key: item for key, item in known.items() if key != name}


def _with_owners(thing: Json, before: Json, owners: Owners, stamp: str) -> Json:
    entries: list[Json] = before.get("metadata", {}).get("managedFields") or []
    known = {entry["manager"]: entry for entry in entries}
    fresh: list[Json] = []
    for manager, paths in owners.items():
        entry = known.get(manager)
        if not paths:
            continue
        if entry is None or set(_unfolded(entry["fieldsV1"])) != paths:
            entry = {
                "manager": manager,
                "operation": "Update" if manager == OTHERS else "Apply",
                "apiVersion": thing["apiVersion"],
                "time": stamp or (entry or {}).get("time", ""),
                "fieldsType": "FieldsV1",
                "fieldsV1": _folded(paths),
            }
        fresh.append(entry)
    meta = {key: value for key, value in thing["metadata"].items() if key != "managedFields"}
    return {**thing, "metadata": {**meta, **({"managedFields": fresh} if fresh else {})}}


def _folded(paths: Iterable[Path]) -> Json:
    root: Json = {}
    for path in sorted(paths):
        level = root
        for step in path:
            level = level.setdefault(step, {})
        level["."] = {}
    return root


def _unfolded(fields: Json, path: Path = ()) -> Iterable[Path]:
    for step, inner in fields.items():
        if step == ".":
            yield path
        else:
            yield from _unfolded(inner, (*path, step))
