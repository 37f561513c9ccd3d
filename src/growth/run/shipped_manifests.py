"""The role that Growth runs under: charts/growth/rbac.yaml. A link in this folder leads to it, for the wheel's sake.

What holds back who names a queue, from the first instant: charts/growth/queue-policy.yaml.

A link in this folder leads to it, for the wheel's sake.
"""

from functools import cache
from importlib.resources import files
from typing import Any, Final

import msgspec
import yaml

ACCOUNT: Final = ("growth-system", "growth")
"""Namespace and name of the ServiceAccount in it."""


def shipped_roles() -> list[dict[str, Any]]:
    """Its documents, as they are; whoever asks may change what it gets."""
    return msgspec.json.decode(_as_json())


@cache
def _as_json() -> bytes:
    """Read as YAML, it took most of the 25 ms of an empty virtual cluster; so, such a cluster takes 4 ms."""
    text = files("growth.run").joinpath("rbac.yaml").read_text(encoding="utf-8")
    return msgspec.json.encode(list(yaml.safe_load_all(text)))


def shipped_policies() -> list[dict[str, Any]]:
    """Its documents, as they are: policies for jobs and for plain pods, and their bindings."""
    return list(yaml.safe_load_all(files("growth.run").joinpath("queue-policy.yaml").read_text(encoding="utf-8")))
