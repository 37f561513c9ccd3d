"""How a person asks for a node to go, whatever that costs."""

from typing import Final

DRAIN: Final = "growth.dev/drain"
"""Annotation of a node: a person wants it to go, and the value says why."""
