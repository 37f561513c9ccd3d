"""The role that Growth runs under: charts/growth/rbac.yaml. A link in this folder leads to it, for the wheel's sake."""

from importlib.resources import files
from typing import Any, Final

import yaml

ACCOUNT: Final = ("growth-system", "growth")
"""Namespace and name of the ServiceAccount in it."""


def shipped_roles() -> list[dict[str, Any]]:
    """Its documents, as they are."""
    return list(yaml.safe_load_all(files("growth.run").joinpath("rbac.yaml").read_text(encoding="utf-8")))
