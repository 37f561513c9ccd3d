"""What the server does not keep: nulls, and most of what is empty, because Go leaves it out when it writes JSON.

It matters for JSON patches, whose paths must exist: there is nothing at ``/data`` once its last key is gone.
"""

from typing import Any, Final, cast

from growth_lab.simulator.merge_patch import Json

# Parts that are left out when they are empty, by what they stand in; at the top of an object that is "".
_LEFT_OUT: Final = {
    "": ("data", "binaryData"),
    "metadata": ("labels", "annotations", "finalizers", "ownerReferences"),
    "spec": ("taints", "tolerations", "nodeSelector", "schedulingGates"),
    "status": ("conditions", "disruptedPods"),
}


def without_nulls(value: Any) -> Any:  # noqa: ANN401 - any JSON
    """The same without keys that say nothing."""
    if isinstance(value, dict):
        return {key: without_nulls(item) for key, item in cast("Json", value).items() if item is not None}
    if isinstance(value, list):
        return [without_nulls(item) for item in cast("list[Any]", value)]
    return value


def without_empty_parts(thing: Json) -> Json:
    """The same object if there is nothing to leave out, or else a copy."""
    for place, names in _LEFT_OUT.items():
        holder = thing.get(place) if place else thing
        if not isinstance(holder, dict):
            continue
        known = cast("Json", holder)
        empty = [name for name in names if name in known and not known[name]]
        if empty:
            rest = {key: item for key, item in known.items() if key not in empty}
            thing = {**thing, place: rest} if place else rest
    return thing
