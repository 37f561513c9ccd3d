"""The picture of a failover: from the power cut to running elsewhere, in three ways, on one scale."""

from typing import Final, NamedTuple


class Step(NamedTuple):
    """One part of the way, in seconds after the power cut."""

    begins: float
    ends: float
    look: str
    words: str


class Way(NamedTuple):
    """One way to fail over."""

    name: str
    about: str
    steps: tuple[Step, ...]
    end: str


# Kubernetes alone and by hand: one run each on Kubernetes 1.36 with stock timings. Growth: the medians of
# ``python -m bench.failover --nodes 50 --dead 5`` (docs/performance.md).
_WAYS: Final = (
    Way(
        "Kubernetes alone",
        "nobody acts",
        (Step(0, 51.2, "wait", "until NotReady"), Step(51.2, 100, "stuck", "the pod waits for a kubelet that is off")),
        "never",
    ),
    Way(
        "a person",
        "taints in the very second of NotReady",
        (
            Step(0, 51.0, "wait", "until NotReady"),
            Step(51.0, 65.8, "kube", "collector's tick"),
            Step(65.8, 67.5, "move", ""),
        ),
        "66 s",
    ),
    Way(
        "Growth",
        "on proof, by itself",
        (
            Step(0, 14.1, "wait", "silence"),
            Step(14.1, 24.4, "ours", "proof"),
            Step(24.4, 25.9, "move", ""),
        ),
        "25 s",
    ),
)
_LEFT, _SCALE, _TOP, _ROW, _BAR = 190, 6.6, 44, 74, 34
_AXIS: Final = (0, 15, 30, 45, 60, 75, 90)
_WIDTH: Final = _LEFT + int(100 * _SCALE) + 90
_STYLE: Final = """<style>
  text { font-family: system-ui, sans-serif; font-size: 14px; fill: #14202b; }
  .name { font-weight: 600; }
  .about, .axis { font-size: 12px; fill: #51606e; }
  .axis { text-anchor: middle; }
  .inside { font-size: 12px; text-anchor: middle; }
  .end { font-weight: 600; font-size: 16px; }
  .wait { fill: #f1f3f5; stroke: #7b8794; }
  .ours { fill: #e2f0fb; stroke: #0b6aa8; }
  .kube { fill: #fff4de; stroke: #a66a00; }
  .move { fill: #e3f5e5; stroke: #2e7d32; }
  .stuck { fill: #fdeaea; stroke: #b3261e; }
  line { stroke: #d5dbe1; }
</style>"""


def failover() -> str:
    """The whole picture."""
    height = _TOP + _ROW * len(_WAYS) + 34
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img">',
        "<title>From the power cut to running elsewhere</title>",
        _STYLE,
    ]
    bottom = _TOP + _ROW * len(_WAYS) - 14
    for second in _AXIS:
        x = _x(second)
        parts.append(f'<line x1="{x:.1f}" y1="{_TOP - 12}" x2="{x:.1f}" y2="{bottom}"/>')
        words = "power cut" if second == 0 else f"{second} s"
        parts.append(f'<text class="axis" x="{x:.1f}" y="{bottom + 20}">{words}</text>')
    for number, way in enumerate(_WAYS):
        parts += _row(way, _TOP + number * _ROW)
    return "\n".join([*parts, "</svg>", ""])


def _row(way: Way, y: int) -> list[str]:
    found = [
        f'<text class="name" x="10" y="{y + 16}">{way.name}</text>',
        *(
            f'<text class="about" x="10" y="{y + 32 + 15 * number}">{line}</text>'
            for number, line in enumerate(_lines(way.about))
        ),
    ]
    for step in way.steps:
        x, width = _x(step.begins), (step.ends - step.begins) * _SCALE
        found.append(f'<rect class="{step.look}" x="{x:.1f}" y="{y}" width="{width:.1f}" height="{_BAR}" rx="3"/>')
        if step.words:
            found.append(f'<text class="inside" x="{x + width / 2:.1f}" y="{y + 21}">{step.words}</text>')
    last = way.steps[-1]
    found.append(f'<text class="end" x="{_x(last.ends) + 10:.1f}" y="{y + 23}">{way.end}</text>')
    return found


def _lines(words: str, width: int = 26) -> list[str]:
    lines = [""]
    for word in words.split():
        if len(lines[-1]) + len(word) >= width:
            lines.append("")
        lines[-1] = f"{lines[-1]} {word}".strip()
    return lines


def _x(second: float) -> float:
    return _LEFT + second * _SCALE
