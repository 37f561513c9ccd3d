"""The CEL rules of our own kinds, in Python: one check for each rule's text.

A general CEL would be a hundred times the code. A test proves that every rule of the definitions stands here, and the
comparison with a real API server that each check refuses the same.
"""

import re
from collections.abc import Callable, Mapping
from datetime import timedelta
from typing import Any, Final

from growth.api.disruption import SCHEDULE, TIME_ZONE, WINDOW
from growth.api.duration import parse_duration
from growth.api.labels import is_label_key
from growth.api.phases import MOVE_MOVES, REMOVAL_MOVES, REQUEST_MOVES, may_move, move_rule
from growth.api.quantity import Quantity, QuantityError, parse
from growth.api.tolerations import EFFECTS

Check = Callable[[Any, Any], bool]
"""Whether ``self`` is right, given ``oldSelf``, which is None for something new."""

_TYPE_NAME: Final = re.compile("[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?")
_LABEL_VALUE: Final = re.compile("([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?")
_DURATION: Final = re.compile("([0-9]+([.][0-9]+)?(ms|s|m|h))+")
_SHARE: Final = re.compile("[0-9]+|[0-9]{1,2}%|100%")
_PERCENT: Final = re.compile("([0-9]{1,2}|100)%")
_FIELD: Final = "[0-9A-Za-z*/,-]+"
_SCHEDULE: Final = re.compile(f"@(yearly|annually|monthly|weekly|daily|midnight|hourly)|{_FIELD}( +{_FIELD}){{4}}")
_TIME_ZONE: Final = re.compile("[A-Za-z][A-Za-z0-9_+-]*(/[A-Za-z0-9_+-]+)*")


def _quantity(value: object) -> Quantity | None:
    try:
        return parse(str(value))
    except QuantityError:
        return None


def _not_negative(value: object) -> bool:
    quantity = _quantity(value)
    return quantity is None or quantity.nanos >= 0


def _has_no_twins(types: list[dict[str, Any]]) -> bool:
    names = [one["name"].lower() for one in types]
    return len(set(names)) == len(names)


def _is_window(text: str) -> bool:
    return not _matches(_DURATION, text) or timedelta(0) < parse_duration(text) <= timedelta(hours=8784)


def _may_borrow(spec: dict[str, Any]) -> bool:
    """A queue without a cohort borrows of nobody."""
    resources = (
        resource
        for group in spec.get("resourceGroups", ())
        for flavor in group.get("flavors", ())
        for resource in flavor.get("resources", ())
    )
    return bool(spec.get("cohortName")) or not any("borrowingLimit" in resource for resource in resources)


_CLASSES: Final = (("kueue.x-k8s.io", "WorkloadPriorityClass"), ("scheduling.k8s.io", "PriorityClass"))

CHECKS: Final[Mapping[str, Check]] = {
    "self.all(t, t.effect in ['NoSchedule', 'PreferNoSchedule', 'NoExecute'])": (
        lambda own, _: all(one.get("effect") in EFFECTS for one in own)
    ),
    "self.all(t, (has(t.key) && t.key != '') || (has(t.operator) && t.operator == 'Exists')) "
    "&& self.all(t, !has(t.operator) || t.operator != 'Exists' || !has(t.value) || t.value == '')": (
        lambda own, _: (
            all(one.get("key") or one.get("operator") == "Exists" for one in own)
            and not any(one.get("operator") == "Exists" and one.get("value") for one in own)
        )
    ),
    "self.flavors.all(x, size(x.resources) == size(self.coveredResources))": (
        lambda own, _: all(
            len(one.get("resources", ())) == len(own.get("coveredResources", ())) for one in own.get("flavors", ())
        )
    ),
    "!has(self.preference) || (self.whenCanBorrow == 'TryNextFlavor' && self.whenCanPreempt == 'TryNextFlavor')": (
        lambda own, _: (
            "preference" not in own or (own["whenCanBorrow"], own["whenCanPreempt"]) == ("TryNextFlavor",) * 2
        )
    ),
    "!(self.reclaimWithinCohort == 'Never' && has(self.borrowWithinCohort) "
    "&& self.borrowWithinCohort.policy != 'Never')": (
        lambda own, _: (
            own["reclaimWithinCohort"] != "Never" or own.get("borrowWithinCohort", {}).get("policy", "Never") == "Never"
        )
    ),
    "(has(self.cohortName) && self.cohortName != '') || !has(self.resourceGroups) || self.resourceGroups.all("
    "g, g.flavors.all(f, f.resources.all(r, !has(r.borrowingLimit))))": lambda own, _: _may_borrow(own),
    "(self.group == 'kueue.x-k8s.io' && self.kind == 'WorkloadPriorityClass') || "
    "(self.group == 'scheduling.k8s.io' && self.kind == 'PriorityClass')": (
        lambda own, _: (own["group"], own["kind"]) in _CLASSES
    ),
    "!has(self.priorityClassRef) || has(self.priority)": (
        lambda own, _: "priorityClassRef" not in own or "priority" in own
    ),
    "self.metadata.name.size() <= 52": lambda own, _: len(own["metadata"]["name"]) <= 52,
    "self.metadata.name.size() <= 63": lambda own, _: len(own["metadata"]["name"]) <= 63,
    "has(self.serverTypes) && size(self.serverTypes) > 0": lambda own, _: bool(own.get("serverTypes")),
    "self.all(one, self.exists_one(other, one.name.lowerAscii() == other.name.lowerAscii()))": (
        lambda own, _: _has_no_twins(own)
    ),
    "!has(self.max) || self.min <= self.max": lambda own, _: "max" not in own or own["min"] <= own["max"],
    "self.matches('^[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$')": lambda own, _: _matches(_TYPE_NAME, own),
    "self.all(key, !key.startsWith('growth.dev/'))": (
        lambda own, _: not any(key.startswith("growth.dev/") for key in own)
    ),
    "self.all(key, key.size() <= 317 && !format.qualifiedName().validate(key).hasValue())": (
        lambda own, _: all(map(is_label_key, own))
    ),
    "self.all(key, self[key].matches('^([A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?)?$'))": (
        lambda own, _: all(_matches(_LABEL_VALUE, value) for value in own.values())
    ),
    "self.all(taint, has(taint.effect))": lambda own, _: all("effect" in taint for taint in own),
    "isQuantity(string(self))": lambda own, _: _quantity(own) is not None,
    "!isQuantity(string(self)) || quantity(string(self)).compareTo(quantity('0')) >= 0": (
        lambda own, _: _not_negative(own)
    ),
    "self >= 0": lambda own, _: own >= 0,
    "self.matches('^([0-9]+([.][0-9]+)?(ms|s|m|h))+$')": lambda own, _: _matches(_DURATION, own),
    "string(self).matches('^([0-9]+|[0-9]{1,2}%|100%)$')": lambda own, _: _matches(_SHARE, str(own)),
    "has(self.targetOffering) && self.targetOffering != ''": lambda own, _: bool(own.get("targetOffering")),
    "self == oldSelf": lambda own, old: own == old,
    "has(self.spec) == has(oldSelf.spec)": lambda own, old: ("spec" in own) == ("spec" in old),
    move_rule(REQUEST_MOVES).rule: lambda own, old: may_move(REQUEST_MOVES, old, own),
    move_rule(REMOVAL_MOVES).rule: lambda own, old: may_move(REMOVAL_MOVES, old, own),
    move_rule(MOVE_MOVES).rule: lambda own, old: may_move(MOVE_MOVES, old, own),
    "has(self.nodes) && size(self.nodes) > 0": lambda own, _: bool(own.get("nodes")),
    "self.matches('^([0-9]{1,2}|100)%$')": lambda own, _: _matches(_PERCENT, own),
    SCHEDULE.rule: lambda own, _: _matches(_SCHEDULE, own),
    TIME_ZONE.rule: lambda own, _: _matches(_TIME_ZONE, own),
    WINDOW.rule: lambda own, _: _is_window(own),
    "has(self.schedule) == has(self.duration)": lambda own, _: ("schedule" in own) == ("duration" in own),
}


def _matches(pattern: re.Pattern[str], text: str) -> bool:
    return pattern.fullmatch(text) is not None


def is_about_a_change(rule: str) -> bool:
    """Whether the rule compares with the state before, and says nothing about something new."""
    return "oldSelf" in rule
