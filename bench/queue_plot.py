"""What the queue's decider is good for as its world grows: draws docs/images/queue-cycle.svg of what was measured.

    python -m bench.queue --workloads 50000 --cycle-only | python -m bench.queue_plot

Three panels: admissions a second against workloads that wait, queues and cohorts, each with everything else held still.
Drawn in plain SVG, so that no plotting library is needed.
"""

import math
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

import msgspec

PICTURE: Final = Path(__file__).parent.parent / "docs" / "images" / "queue-cycle.svg"
_WIDTH, _HEIGHT, _LEFT, _TOP = 240, 150, 66, 44
_LOW, _HIGH = 2.0, 4.0  # powers of ten


class Row(msgspec.Struct, frozen=True):
    """One size, as ``bench.queue_cycle`` tells of it."""

    queues: int
    cohorts: int
    pending: int
    admissions_per_second: float | None


class Told(msgspec.Struct, frozen=True):
    """The line that the benchmark ends in."""

    cells: tuple[Row, ...]


class Panel(msgspec.Struct, frozen=True):
    """One curve: what grows, what is held, and admissions a second at each size."""

    name: str
    held: str
    points: tuple[tuple[int, float], ...]


def panels(rows: Sequence[Row]) -> list[Panel]:
    """The curves that meet in the size from which one thing at a time was made larger or smaller."""
    middle = _middle(rows)

    def curve(name: str, held: str, size: Callable[[Row], int], *kept: Callable[[Row], int]) -> Panel:
        alike = [one for one in rows if all(part(one) == part(middle) for part in kept)]
        return Panel(name, held, tuple(sorted((size(one), one.admissions_per_second or 0.0) for one in alike)))

    def queues(row: Row) -> int:
        return row.queues

    def cohorts(row: Row) -> int:
        return row.cohorts

    def pending(row: Row) -> int:
        return row.pending

    wait = f"{middle.pending:,} wait"
    return [
        curve("workloads that wait", f"{middle.queues} queues in {middle.cohorts} cohorts", pending, queues, cohorts),
        curve("queues", f"{middle.cohorts} cohorts, {wait}", queues, cohorts, pending),
        curve("cohorts", f"{middle.queues} queues, {wait}", cohorts, queues, pending),
    ]


def _middle(rows: Sequence[Row]) -> Row:
    """Who differs from most others in one thing only."""

    def neighbours(row: Row) -> int:
        return sum(
            (one.queues != row.queues) + (one.cohorts != row.cohorts) + (one.pending != row.pending) == 1
            for one in rows
        )

    return max(rows, key=neighbours)


def drawn(curves: Sequence[Panel]) -> str:
    """The picture: logarithmic both ways, because all of it grows by factors."""
    fonts = 'font-family="system-ui, sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1000 240" role="img" aria-labelledby="title" {fonts}>',
        '  <title id="title">Admissions a second of the decider alone, against workloads, queues and cohorts</title>',
        '  <rect width="1000" height="240" rx="10" fill="#f8fafc"/>',
    ]
    for number, curve in enumerate(curves):
        parts += _panel(curve, _LEFT + number * 320)
    return "\n".join([*parts, "</svg>", ""])


def _panel(curve: Panel, x0: int) -> list[str]:
    parts = [
        f'  <text x="{x0}" y="{_TOP - 22}" font-weight="600" fill="#0f172a">{curve.name}</text>',
        f'  <text x="{x0}" y="{_TOP - 7}" fill="#475569">{curve.held}</text>',
    ]
    for amount in (100, 1_000, 10_000):
        y = _height(amount)
        parts.append(f'  <path d="M{x0} {y:.1f}h{_WIDTH}" stroke="#cbd5e1"/>')
        parts.append(f'  <text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#475569">{amount:,}/s</text>')
    sizes = [math.log10(size) for size, _ in curve.points]
    span = max(sizes) - min(sizes) or 1.0
    places = [
        (x0 + 14 + (math.log10(size) - min(sizes)) / span * (_WIDTH - 28), _height(amount))
        for size, amount in curve.points
    ]
    line = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
    parts.append(f'  <polyline points="{line}" fill="none" stroke="#0369a1" stroke-width="2"/>')
    for (x, y), (size, amount) in zip(places, curve.points, strict=True):
        under = _TOP + _HEIGHT + 18
        parts.append(f'  <circle cx="{x:.1f}" cy="{y:.1f}" r="3.5" fill="#0369a1"/>')
        parts.append(f'  <text x="{x:.1f}" y="{under}" text-anchor="middle" fill="#475569">{size:,}</text>')
        parts.append(f'  <text x="{x:.1f}" y="{y - 8:.1f}" text-anchor="middle" fill="#0f172a">{amount:,.0f}</text>')
    return parts


def _height(amount: float) -> float:
    power = min(_HIGH, max(_LOW, math.log10(max(1.0, amount))))
    return _TOP + _HEIGHT - (power - _LOW) / (_HIGH - _LOW) * _HEIGHT


def main() -> None:
    """Draw what comes in, and hand it on."""
    line = sys.stdin.read().strip().splitlines()[-1]
    PICTURE.write_text(drawn(panels(msgspec.json.decode(line, type=Told).cells)))
    print(line)


if __name__ == "__main__":
    main()
