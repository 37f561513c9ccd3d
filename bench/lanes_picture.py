"""A picture in lanes: who does what from when to when. Time goes to the right, not to scale."""

from typing import Final, NamedTuple

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


class Box(NamedTuple):
    """What one lane does from one moment to another; moments are counted from the left."""

    lane: str
    begins: float
    ends: float
    kind: str
    words: tuple[str, ...]


class Picture(NamedTuple):
    """Lanes from top to bottom, moments with their words, boxes, and arrows from (moment, lane) to (moment, lane)."""

    label: str
    lanes: tuple[str, ...]
    moments: tuple[tuple[float, str], ...]
    boxes: tuple[Box, ...]
    arrows: tuple[tuple[float, str, float, str], ...]


def drawn(picture: Picture) -> str:
    """The whole picture."""
    width, bottom = _LEFT + round(8 * _STEP) + 12, _TOP + len(picture.lanes) * _DOWN
    size = f"0 0 {width} {bottom + 8}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img" aria-label="{picture.label}">'
    background = '<rect width="100%" height="100%" style="fill:#fbfcfd;stroke:none"/>'
    behind = [*_rails(picture, width), *_ticks(picture, bottom), *_arrows(picture)]
    return "\n".join([head, _STYLE, background, *behind, *_boxes(picture), "</svg>\n"])


def _x(moment: float) -> int:
    return _LEFT + round(moment * _STEP)


def _y(picture: Picture, lane: str) -> int:
    return _TOP + picture.lanes.index(lane) * _DOWN


def _rails(picture: Picture, width: int) -> list[str]:
    out: list[str] = []
    for lane in picture.lanes:
        middle = _y(picture, lane) + _HEIGHT // 2
        out.append(f'<line class="rail" x1="{_LEFT - 8}" y1="{middle}" x2="{width - 10}" y2="{middle}"/>')
        out.append(f'<text class="lane" x="14" y="{middle + 5}">{lane}</text>')
    return out


def _ticks(picture: Picture, bottom: int) -> list[str]:
    out: list[str] = []
    for moment, words in picture.moments:
        out.append(f'<line class="tick" x1="{_x(moment)}" y1="38" x2="{_x(moment)}" y2="{bottom - 14}"/>')
        out.append(f'<text class="when" x="{_x(moment)}" y="28">{words}</text>')
    return out


def _boxes(picture: Picture) -> list[str]:
    out: list[str] = []
    for box in picture.boxes:
        x, y, width = _x(box.begins), _y(picture, box.lane), _x(box.ends) - _x(box.begins)
        out.append(f'<rect class="{box.kind}" x="{x}" y="{y}" width="{width}" height="{_HEIGHT}" rx="5"/>')
        first = y + 24 if len(box.words) == 1 else y + 16
        for number, words in enumerate(box.words):
            out.append(f'<text class="in" x="{x + width // 2}" y="{first + 15 * number}">{words}</text>')
    return out


def _arrows(picture: Picture) -> list[str]:
    """From the edge of one box to the edge of another, behind those that it passes."""
    out: list[str] = []
    for begins, before, ends, after in picture.arrows:
        is_down = _y(picture, after) > _y(picture, before)
        start = _y(picture, before) + (_HEIGHT if is_down else 0)
        end = _y(picture, after) + (-1 if is_down else _HEIGHT + 1)
        if begins == ends:
            out.append(f'<path class="arrow" d="M{_x(begins)} {start}L{_x(ends)} {end}"/>')
        else:
            middle = _y(picture, before) + _HEIGHT // 2
            out.append(f'<path class="arrow" d="M{_x(begins)} {middle}L{_x(ends)} {middle}L{_x(ends)} {end}"/>')
    return out
