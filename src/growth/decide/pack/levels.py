"""Water into vessels: how many pods go to each zone so that all end as level as possible."""

from collections.abc import Mapping, Sequence


def levelled(pods: int, zones: Sequence[str], have: Mapping[str, int], ceiling: int | None = None) -> dict[str, int]:
    """How many to add to each zone, the lowest first, none above the ceiling; equal zones in the order given.

    What does not fit under the ceiling is not in the answer: compare its sum with ``pods``.
    """
    if not zones or pods <= 0:
        return {}
    if len(zones) == 1:
        most = pods if ceiling is None else min(pods, ceiling - have.get(zones[0], 0))
        return {zones[0]: most} if most > 0 else {}
    room = [max(0, ceiling - have.get(zone, 0)) if ceiling is not None else pods for zone in zones]
    pods = min(pods, sum(room))
    low, high = 0, max(have.get(zone, 0) for zone in zones) + pods
    # The highest level that the water fills completely.
    while low < high:
        level = (low + high + 1) // 2
        if sum(_rise(have.get(zone, 0), level, most) for zone, most in zip(zones, room, strict=True)) <= pods:
            low = level
        else:
            high = level - 1
    added = {zone: _rise(have.get(zone, 0), low, most) for zone, most in zip(zones, room, strict=True)}
    rest = pods - sum(added.values())
    for zone, most in zip(zones, room, strict=True):
        if rest and added[zone] < most and have.get(zone, 0) + added[zone] == low:
            added[zone] += 1
            rest -= 1
    return {zone: number for zone, number in added.items() if number}


def _rise(have: int, level: int, most: int) -> int:
    return min(most, max(0, level - have))
