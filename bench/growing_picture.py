"""The picture of the way from a pod that waits to a node that is ready: time goes to the right, not to scale."""

from typing import Final, NamedTuple

from growth.api.duration import format_duration
from growth.api.settings import Settings

_STYLE: Final = """<style>
  text { font-family: system-ui, sans-serif; font-size: 12px; fill: #14202b; }
  .lane { font-size: 14px; font-weight: 600; }
  .when { fill: #4a5b6b; text-anchor: middle; }
  .in { text-anchor: middle; }
  .rail { stroke: #d7dee4; stroke-width: 1.2; }
  .tick { stroke: #b9c4cd; stroke-width: 1; stroke-dasharray: 3 4; }
  rect { stroke-width: 1.4; }
  .kube { fill: #ffffff; stroke: #2c3e50; }
  .ours { fill: #e3f5e5; stroke: #2e7d32; }
  .door { fill: #e2f0fb; stroke: #0b6aa8; }
  .arrow { stroke: #2c3e50; stroke-width: 1.5; fill: none; marker-end: url(#head); }
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0L10 5L0 10z" style="fill:#2c3e50"/></marker></defs>"""
_LEFT, _TOP, _STEP, _DOWN, _HEIGHT = 140, 54, 124, 62, 38
_GROW, _PROVISION = Settings().grow, Settings().provision
_QUIET, _MACHINE, _READY, _KEPT = map(
    format_duration, (_GROW.quiet, _PROVISION.machine_within, _PROVISION.ready_within, _PROVISION.keep_ready)
)
_LANES: Final = ("pod", "Growth", "NodeRequest", "provider", "node")


class Box(NamedTuple):
    """What one lane does from one moment to another; moments are counted from the left."""

    lane: str
    begins: float
    ends: float
    kind: str
    words: tuple[str, ...]


_MOMENTS: Final = (
    (0.0, "pods come"),
    (1.0, f"{_QUIET} quiet"),
    (2.0, "asked for"),
    (3.0, "accepted"),
    (5.0, "registered"),
    (6.0, "as planned"),
    (7.0, "bound"),
)
_BOXES: Final = (
    Box("pod", 0.0, 0.9, "kube", ("refused by", "the scheduler")),
    Box("Growth", 1.0, 1.9, "ours", ("plan: what", "costs least")),
    Box("NodeRequest", 2.0, 3.0, "ours", ("Pending",)),
    Box("NodeRequest", 3.0, 6.0, "ours", ("Provisioning", f"{_MACHINE} for a node, {_READY} more to be ready")),
    Box("NodeRequest", 6.0, 7.9, "ours", ("Ready", f"kept for {_KEPT}")),
    Box("provider", 2.1, 3.0, "door", ("create", "by that name")),
    Box("provider", 3.0, 5.0, "door", ("the machine boots",)),
    Box("node", 5.0, 6.0, "kube", ("closed, until it is", "what was planned")),
    Box("node", 6.0, 7.0, "kube", ("closed to all", "without a key")),
    Box("node", 7.0, 7.9, "kube", ("open", "to all")),
    Box("Growth", 6.0, 6.9, "ours", ("keys for those it", "was bought for")),
    Box("pod", 7.0, 7.9, "kube", ("runs where it", "was meant to")),
)
_ARROWS: Final = (
    (0.9, "pod", 1.45, "Growth"),
    (1.9, "Growth", 2.3, "NodeRequest"),
    (2.6, "NodeRequest", 2.6, "provider"),
    (5.0, "provider", 5.3, "node"),
    (6.2, "node", 6.2, "Growth"),
    (6.9, "Growth", 7.3, "pod"),
)


def growing() -> str:
    """The whole picture."""
    width, bottom = _LEFT + round(8 * _STEP) + 12, _TOP + len(_LANES) * _DOWN
    size = f"0 0 {width} {bottom + 8}"
    label = "From a pod that waits to a node that is ready"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img" aria-label="{label}">'
    background = '<rect width="100%" height="100%" style="fill:#fbfcfd;stroke:none"/>'
    return "\n".join([head, _STYLE, background, *_rails(width), *_ticks(bottom), *_arrows(), *_boxes(), "</svg>\n"])


def _x(moment: float) -> int:
    return _LEFT + round(moment * _STEP)


def _y(lane: str) -> int:
    return _TOP + _LANES.index(lane) * _DOWN


def _rails(width: int) -> list[str]:
    out: list[str] = []
    for lane in _LANES:
        middle = _y(lane) + _HEIGHT // 2
        out.append(f'<line class="rail" x1="{_LEFT - 8}" y1="{middle}" x2="{width - 10}" y2="{middle}"/>')
        out.append(f'<text class="lane" x="14" y="{middle + 5}">{lane}</text>')
    return out


def _ticks(bottom: int) -> list[str]:
    out: list[str] = []
    for moment, words in _MOMENTS:
        out.append(f'<line class="tick" x1="{_x(moment)}" y1="38" x2="{_x(moment)}" y2="{bottom - 14}"/>')
        out.append(f'<text class="when" x="{_x(moment)}" y="28">{words}</text>')
    return out


def _boxes() -> list[str]:
    out: list[str] = []
    for box in _BOXES:
        x, y, width = _x(box.begins), _y(box.lane), _x(box.ends) - _x(box.begins)
        out.append(f'<rect class="{box.kind}" x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="5"/>')
        first = y + 24 if len(box.words) == 1 else y + 16
        for number, words in enumerate(box.words):
            out.append(f'<text class="in" x="{x + width // 2}" y="{first + 15 * number}">{words}</text>')
    return out


def _arrows() -> list[str]:
    """From the edge of one box to the edge of another, behind those that it passes."""
    out: list[str] = []
    for begins, before, ends, after in _ARROWS:
        is_down = _y(after) > _y(before)
        start = _y(before) + (_HEIGHT if is_down else 0)
        end = _y(after) + (-1 if is_down else _HEIGHT + 1)
        if begins == ends:
            out.append(f'<path class="arrow" d="M{_x(begins)} {start}L{_x(ends)} {end}"/>')
        else:
            middle = _y(before) + _HEIGHT // 2
            out.append(f'<path class="arrow" d="M{_x(begins)} {middle}L{_x(ends)} {middle}L{_x(ends)} {end}"/>')
    return out
