"""The picture of the queue's decider shows each size once for each thing that grows."""

import xml.etree.ElementTree as ET

from bench.queue_plot import Row, drawn, panels

ROWS = [
    Row(30, 5, 500, 4000.0),
    Row(30, 5, 5000, 1000.0),
    Row(10, 5, 5000, 2000.0),
    Row(120, 5, 5000, 500.0),
    Row(30, 1, 5000, 700.0),
    Row(30, 30, 5000, 900.0),
    Row(30, 5, 50000, None),
]


def test_each_curve_holds_still_what_does_not_grow() -> None:
    assert [one.points for one in panels(ROWS)] == [
        ((500, 4000.0), (5000, 1000.0), (50000, 0.0)),
        ((10, 2000.0), (30, 1000.0), (120, 500.0)),
        ((1, 700.0), (5, 1000.0), (30, 900.0)),
    ]


def test_the_picture_is_well_formed_and_names_all_sizes() -> None:
    root = ET.fromstring(drawn(panels(ROWS)))  # noqa: S314 - our own
    words = [one.text for one in root.iter() if one.tag.endswith("text")]
    assert {"500", "50,000", "120", "30", "workloads that wait"} <= set(words)
