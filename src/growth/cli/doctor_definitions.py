"""Is an installed definition the one of this version? Both as plain documents; pure."""

from typing import Any, cast

Document = dict[str, Any]


def first_difference(ours: Document, theirs: Document) -> str:
    """Where they differ in what the API server enforces, as a path and both values; empty if nowhere.

    Descriptions, columns and short names are for people: they may differ.
    """
    wanted = _enforced(ours["spec"]["versions"][0])
    versions = {one["name"]: one for one in theirs["spec"]["versions"] if one["served"]}
    name = ours["spec"]["versions"][0]["name"]
    if name not in versions:
        return f"version {name} is not served"
    return _difference(wanted, _enforced(versions[name]), "")


def _enforced(version: Document) -> Document:
    return {"schema": version["schema"]["openAPIV3Schema"], "subresources": version.get("subresources", {})}


def _difference(ours: object, theirs: object, path: str) -> str:
    if isinstance(ours, dict) and isinstance(theirs, dict):
        return _of_objects(cast("Document", ours), cast("Document", theirs), path)
    if isinstance(ours, list) and isinstance(theirs, list):
        wanted, found = cast("list[object]", ours), cast("list[object]", theirs)
        if len(wanted) == len(found):
            pairs = enumerate(zip(wanted, found, strict=True))
            differences = (_difference(one, other, f"{path}[{number}]") for number, (one, other) in pairs)
            return next(filter(None, differences), "")
    return "" if ours == theirs else f"{path} is {theirs!r}, expected {ours!r}"


def _of_objects(ours: Document, theirs: Document, path: str) -> str:
    for key in sorted(ours.keys() | theirs.keys()):
        inner = f"{path}.{key}" if path else key
        if key == "description" and not path.endswith(".properties"):  # else it is a field of that name
            continue
        if key not in theirs:
            return f"{inner} is missing"
        if key not in ours:
            return f"{inner} is unknown to this version"
        if found := _difference(ours[key], theirs[key], inner):
            return found
    return ""
