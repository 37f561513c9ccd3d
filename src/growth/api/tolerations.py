"""Taints, tolerations and the one question about them: which taint keeps a pod off a node?"""

from collections.abc import Iterable, Sequence
from typing import Annotated

from growth.api.meta import FrozenValue
from growth.api.schema import about

NO_SCHEDULE = "NoSchedule"
NO_EXECUTE = "NoExecute"
PREFER_NO_SCHEDULE = "PreferNoSchedule"

EFFECTS = [NO_SCHEDULE, PREFER_NO_SCHEDULE, NO_EXECUTE]

# PreferNoSchedule is a wish that the scheduler weighs, never a reason to refuse.
BLOCKING_EFFECTS = frozenset({NO_SCHEDULE, NO_EXECUTE})


class Taint(FrozenValue, frozen=True):
    """A mark on a node that keeps pods away which do not tolerate it."""

    key: Annotated[str, about("The taint's key.", server_only={"minLength": 1, "maxLength": 316})]
    value: Annotated[str, about("The taint's value.", server_only={"maxLength": 63})] = ""
    effect: Annotated[str, about("What it does to pods that do not tolerate it.", server_only={"enum": EFFECTS})] = ""

    def __str__(self) -> str:
        return f"{self.key}={self.value}:{self.effect}" if self.value else f"{self.key}:{self.effect}"


class Toleration(FrozenValue, frozen=True):
    """A pod's consent to a taint; every empty field stands for "any", an empty operator for Equal.

    How long a NoExecute taint is borne (tolerationSeconds) is left out: it never decides where a pod may start.
    """

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


def tolerates(toleration: Toleration, taint: Taint) -> bool:
    """Whether this toleration covers this taint.

    Gt and Lt answer no, as the scheduler does while TaintTolerationComparisonOperators is off (alpha in 1.36), and so
    does any operator that we do not know.
    """
    if toleration.effect and toleration.effect != taint.effect:
        return False
    if toleration.key and toleration.key != taint.key:
        return False
    match toleration.operator:
        case "" | "Equal":
            return toleration.value == taint.value
        case "Exists":
            return True
        case _:
            return False


def untolerated(taints: Iterable[Taint], tolerations: Sequence[Toleration]) -> Taint | None:
    """The first taint that keeps a pod with these tolerations off the node, or None if it may come."""
    for taint in taints:
        if taint.effect in BLOCKING_EFFECTS and not any(tolerates(toleration, taint) for toleration in tolerations):
            return taint
    return None
