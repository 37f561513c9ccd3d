"""What holds back who names a queue, from the first instant: charts/growth/queue-policy.yaml.

A link in this folder leads to it, for the wheel's sake.
"""

from importlib.resources import files
from typing import Any

import yaml


def shipped_policies() -> list[dict[str, Any]]:
    """Its documents, as they are: policies for jobs and for plain pods, and their bindings."""
    return list(yaml.safe_load_all(files("growth.run").joinpath("queue-policy.yaml").read_text(encoding="utf-8")))
