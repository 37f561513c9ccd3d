"""What the API server adds to pods when they are made from a template: it counts against a quota like all the rest."""

from typing import Final

from growth.api.kinds import Kind
from growth.api.meta import FrozenValue, ObjectMeta


class Overhead(FrozenValue, frozen=True):
    """What a sandbox itself takes."""

    pod_fixed: dict[str, str] = {}


class RuntimeClass(FrozenValue, frozen=True):
    """How containers are run, and what that takes for each pod."""

    metadata: ObjectMeta
    overhead: Overhead | None = None


class LimitRangeItem(FrozenValue, frozen=True):
    """Bounds and defaults for one type of object."""

    type: str = ""
    max: dict[str, str] = {}
    min: dict[str, str] = {}
    default: dict[str, str] = {}
    default_request: dict[str, str] = {}

    @property
    def requests(self) -> dict[str, str]:
        """What a container asks for that does not say it: as the API server works it out of what is written."""
        return {**self.min, **self.max, **self.default, **self.default_request}


class LimitRangeSpec(FrozenValue, frozen=True):
    """All of them."""

    limits: tuple[LimitRangeItem, ...] = ()


class LimitRange(FrozenValue, frozen=True):
    """Bounds and defaults for the containers of a namespace."""

    metadata: ObjectMeta
    spec: LimitRangeSpec = LimitRangeSpec()


RUNTIME_CLASSES: Final = Kind(
    "node.k8s.io", "v1", "runtimeclasses", "RuntimeClass", namespaced=False, type=RuntimeClass
)
LIMIT_RANGES: Final = Kind("", "v1", "limitranges", "LimitRange", namespaced=True, type=LimitRange)
FILLING_KINDS: Final = (RUNTIME_CLASSES, LIMIT_RANGES)
