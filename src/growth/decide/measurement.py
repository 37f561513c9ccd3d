"""What deciders count and measure, as values: the loop hands them to whoever exposes them."""

from typing import Final, Literal

import msgspec

CALL_SECONDS: Final = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1, 2, 5, 10, 30, 60, 180)
"""Buckets from one answer of a near server to a provider that takes its time."""


class Metric(msgspec.Struct, frozen=True):
    """A metric with its help, its labels and, for a histogram, its buckets."""

    name: str
    help: str
    type: Literal["gauge", "counter", "histogram"]
    labels: tuple[str, ...] = ()
    buckets: tuple[float, ...] = ()


class Measurement(msgspec.Struct, frozen=True):
    """One value of a metric.

    The gauges of a pass replace those of the pass before; counters and histograms are increments.
    """

    metric: Metric
    value: float
    labels: tuple[str, ...] = ()
