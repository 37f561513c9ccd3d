"""What one solve costs as its input grows: ``python -m bench.pack_plot`` writes docs/images/pack-cost.svg.

Four panels: seconds against pods, shapes, offerings and standing nodes, each with everything else held still. Ends in
one JSON line with the points. The picture is drawn here, in plain SVG, so that no plotting library is needed.
"""

import json
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from bench import loads
from growth.decide.fit import SimulatedCluster
from growth.decide.solver.planner import plan
from growth.run.runtime import undisturbed

PICTURE: Final = Path(__file__).parent.parent / "docs" / "images" / "pack-cost.svg"
_WIDTH, _HEIGHT, _LEFT, _TOP = 200, 150, 56, 44


@dataclass(frozen=True, slots=True)
class Panel:
    """One curve: what grows, and the seconds at each size."""

    name: str
    held: str
    points: list[tuple[int, float]]


def _seconds(load: loads.Load) -> float:
    best = math.inf
    for _ in range(3):
        stage = SimulatedCluster.of(load.stage.snapshot)
        with undisturbed():
            started = time.perf_counter()
            plan(stage, load.pods, load.market)
            best = min(best, time.perf_counter() - started)
    return best


def _measured(sizes: Sequence[int], load_of: Callable[[int], loads.Load]) -> list[tuple[int, float]]:
    return [(size, round(_seconds(load_of(size)), 4)) for size in sizes]


def panels() -> list[Panel]:
    return [
        Panel(
            "pods",
            "200 shapes, 60 offerings",
            _measured((100, 1_000, 10_000, 100_000), lambda size: loads.plain(size, min(size, 200), 1)),
        ),
        Panel(
            "shapes",
            "10,000 pods, 60 offerings",
            _measured((10, 100, 400, 1_000, 9_000), lambda size: loads.plain(10_000, size, 1)),
        ),
        Panel(
            "offerings",
            "mixed load of 2,000 pods",
            _measured((20, 100, 500, 2_000), lambda size: loads.mixed(2_000, 1, size)),
        ),
        Panel(
            "standing nodes",
            "1,000 pods; ten run on each node",
            _measured((100, 500, 1_000, 5_000), lambda size: loads.trickle(1_000, size, 1)),
        ),
    ]


def drawn(curves: Sequence[Panel]) -> str:
    """The picture: logarithmic both ways, because input grows by factors."""
    low, high = -3.0, 0.5
    fonts = 'font-family="system-ui, sans-serif" font-size="12"'
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 1080 260" role="img" aria-labelledby="title" {fonts}>',
        '  <title id="title">Seconds of one solve against pods, shapes, offerings and standing nodes</title>',
        '  <rect width="1080" height="260" rx="10" fill="#f8fafc"/>',
    ]
    for number, curve in enumerate(curves):
        x0, y0 = _LEFT + number * 260, _TOP
        sizes = [math.log10(size) for size, _ in curve.points]
        span = max(sizes) - min(sizes) or 1.0

        def at(size: int, seconds: float, *, x0: int = x0, first: float = min(sizes), span: float = span) -> str:
            x = x0 + (math.log10(size) - first) / span * _WIDTH
            y = _TOP + _HEIGHT - (max(low, math.log10(seconds)) - low) / (high - low) * _HEIGHT
            return f"{x:.1f},{y:.1f}"

        parts.append(f'  <text x="{x0}" y="{y0 - 22}" font-weight="600" fill="#0f172a">{curve.name}</text>')
        parts.append(f'  <text x="{x0}" y="{y0 - 7}" fill="#475569">{curve.held}</text>')
        for power in (-3, -2, -1, 0):
            y = _TOP + _HEIGHT - (power - low) / (high - low) * _HEIGHT
            words = {-3: "1 ms", -2: "10 ms", -1: "0.1 s", 0: "1 s"}[power]
            parts.append(f'  <path d="M{x0} {y:.1f}h{_WIDTH}" stroke="#cbd5e1"/>')
            parts.append(f'  <text x="{x0 - 6}" y="{y + 4:.1f}" text-anchor="end" fill="#475569">{words}</text>')
        parts.append(
            f'  <polyline points="{" ".join(at(*point) for point in curve.points)}" fill="none" stroke="#0369a1" '
            'stroke-width="2"/>'
        )
        for size, seconds in curve.points:
            x, y = at(size, seconds).split(",")
            parts.append(f'  <circle cx="{x}" cy="{y}" r="3.5" fill="#0369a1"/>')
            parts.append(
                f'  <text x="{x}" y="{_TOP + _HEIGHT + 18}" text-anchor="middle" fill="#475569">{_short(size)}</text>'
            )
            parts.append(
                f'  <text x="{x}" y="{float(y) - 8:.1f}" text-anchor="middle" fill="#0f172a">{seconds:.2g}</text>'
            )
    return "\n".join([*parts, "</svg>", ""])


def _short(size: int) -> str:
    return f"{size // 1000}k" if size >= 1000 and size % 1000 == 0 else str(size)


def main() -> None:
    curves = panels()
    PICTURE.write_text(drawn(curves))
    print(json.dumps({curve.name: dict(curve.points) for curve in curves}))


if __name__ == "__main__":
    main()
