"""Amounts and labels as people read them: ``0.25 CPU``, ``1.5Gi memory``, ``zone=fsn1``."""

from collections.abc import Mapping
from typing import Final

from growth.api.selectors import Requirement

_BINARY: Final = ((40, "Ti"), (30, "Gi"), (20, "Mi"), (10, "Ki"))
_BYTES: Final = frozenset({"memory", "ephemeral-storage", "storage"})
_NAMES: Final = {"cpu": "CPU", "ephemeral-storage": "ephemeral storage"}


def amount(resource: str, counted: int) -> str:
    """A counted amount (thousandths of a CPU, bytes, pieces) without its name."""
    if resource == "cpu":
        return f"{counted / 1000:.3f}".rstrip("0").rstrip(".")
    if resource in _BYTES or resource.startswith("hugepages-"):
        return size(counted)
    return str(counted)


def size(octets: int) -> str:
    """Bytes in the largest unit that leaves at least one, with up to two decimals."""
    for power, unit in _BINARY:
        if abs(octets) >= 1 << power:
            return f"{octets / (1 << power):.2f}".rstrip("0").rstrip(".") + unit
    return str(octets)


def name(resource: str) -> str:
    """What people call a resource."""
    return _NAMES.get(resource, resource)


def label(labels: Mapping[str, str], key: str) -> str:
    """A label as the node has it, or that it has none."""
    value = labels.get(key)
    return f"no label {key}" if value is None else f"{key}={value}"


def requirement(wanted: Requirement) -> str:
    """A requirement on a label or a field."""
    values = f" [{', '.join(wanted.values)}]" if wanted.values else ""
    return f"{wanted.key} {wanted.operator}{values}"
