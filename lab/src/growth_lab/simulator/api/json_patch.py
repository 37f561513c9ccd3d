"""JSON patches (RFC 6902), as the API server carries them out."""

from collections.abc import Sequence
from typing import Any, cast

from growth_lab.simulator.api.error_responses import Refusal
from growth_lab.simulator.merge_patch import Json


def patched(whole: Json, operations: Sequence[Json]) -> Json:
    """The object after all operations; the one before is not touched. Raises Refusal."""
    root: Any = whole
    for operation in operations:
        kind, path = operation.get("op"), _split(operation.get("path", ""))
        match kind:
            case "test":
                if _at(root, path) != operation.get("value"):
                    raise _impossible(f"testing path /{'/'.join(path)} failed: test failed")
            case "add":
                root = _set(root, path, operation.get("value"), inserts=True)
            case "replace":
                root = _set(root, path, operation.get("value"), inserts=False)
            case "remove":
                root = _removed(root, path)
            case "move":
                origin = _split(operation.get("from", ""))
                root = _set(_removed(root, origin), path, _at(root, origin), inserts=True)
            case "copy":
                root = _copied(root, _split(operation.get("from", "")), path)
            case _:
                raise _impossible(f"Unexpected kind: {kind}")
    return root


def _copied(root: Any, origin: Sequence[str], path: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    """Copying what a mapping does not have is no error for the server: it copies a null, an empty text among texts."""
    holder = _at(root, origin[:-1])
    is_there = not isinstance(holder, dict) or origin[-1] in holder
    return _set(root, path, _at(root, origin) if is_there else "", inserts=True)


def _split(pointer: str) -> list[str]:
    return [part.replace("~1", "/").replace("~0", "~") for part in pointer.split("/")[1:]]


def _at(value: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    for part in path:
        if isinstance(value, list):
            value = cast("list[Any]", value)[_index(part, len(cast("list[Any]", value)))]
        elif isinstance(value, dict) and part in value:
            value = cast("Json", value)[part]
        else:
            raise _impossible(f"unable to find: {part}")
    return value


def _set(whole: Any, path: Sequence[str], value: Any, *, inserts: bool) -> Any:  # noqa: ANN401 - any JSON
    """A copy with the value in its place. In a mapping, replacing what is not there adds it: so does the server."""
    if not path:
        return value
    part, rest = path[0], path[1:]
    if isinstance(whole, list):
        items = list(cast("list[Any]", whole))
        if not rest and inserts:
            items.insert(len(items) if part == "-" else _index(part, len(items) + 1), value)
            return items
        index = _index(part, len(items))
        items[index] = _set(items[index], rest, value, inserts=inserts)
        return items
    if not isinstance(whole, dict) or (rest and part not in whole):
        raise _impossible(f"add operation does not apply: doc is missing path: /{'/'.join(path)}")
    known = cast("Json", whole)
    return {**known, part: _set(known.get(part), rest, value, inserts=inserts)}


def _removed(whole: Any, path: Sequence[str]) -> Any:  # noqa: ANN401 - any JSON
    part, rest = path[0], path[1:]
    if isinstance(whole, list):
        items = list(cast("list[Any]", whole))
        index = _index(part, len(items))
        items[index : index + 1] = [_removed(items[index], rest)] if rest else []
        return items
    if not isinstance(whole, dict) or part not in whole:
        raise _impossible(f"remove operation does not apply: Unable to remove nonexistent key: {part}")
    known = cast("Json", whole)
    if rest:
        return {**known, part: _removed(known[part], rest)}
    return {key: value for key, value in known.items() if key != part}


def _index(part: str, length: int) -> int:
    if not part.isdecimal() or int(part) >= length:
        raise _impossible(f"invalid array index: {part}")
    return int(part)


def _impossible(why: str) -> Refusal:
    return Refusal(422, "Invalid", f"the server rejected our request due to an error in our request: {why}", {})
