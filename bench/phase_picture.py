"""The picture of the phases, drawn from the very table that code and API server obey."""

from collections.abc import Mapping
from typing import Final

from growth.api.phases import REMOVAL_MOVES, REQUEST_MOVES, Phase

_STYLE: Final = """<style>
  text { font-family: system-ui, sans-serif; font-size: 14px; fill: #14202b; text-anchor: middle; }
  .title { font-weight: 600; text-anchor: start; }
  rect { fill: #e2f0fb; stroke: #0b6aa8; stroke-width: 1.4; }
  .end { fill: #e3f5e5; stroke: #2e7d32; }
  path { stroke: #2c3e50; stroke-width: 1.5; fill: none; marker-end: url(#head); }
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0L10 5L0 10z" style="fill:#2c3e50;stroke:none;marker-end:none"/></marker></defs>"""
_WIDTH, _HEIGHT, _ACROSS, _DOWN = 140, 38, 210, 60


def _columns(moves: Mapping[Phase, tuple[Phase, ...]]) -> dict[Phase, tuple[int, int]]:
    """Where each phase stands: a column further than the last one that leads to it, in the order of the table. A move
    back to what stands before it in the table moves nobody."""
    depth, order = dict.fromkeys(moves, 0), list(moves)
    for before, after in moves.items():
        for phase in after:
            if order.index(phase) < order.index(before):
                continue
            depth[phase] = max(depth[phase], depth[before] + 1)
    return {
        phase: (column, sum(1 for other in list(depth)[: list(depth).index(phase)] if depth[other] == column))
        for phase, column in depth.items()
    }


def _draw(title: str, moves: Mapping[Phase, tuple[Phase, ...]], top: int) -> tuple[list[str], int]:
    places = {phase: (20 + x * _ACROSS, top + 20 + y * _DOWN) for phase, (x, y) in _columns(moves).items()}
    out = [f'<text class="title" x="20" y="{top + 4}">{title}</text>']
    for phase, (x, y) in places.items():
        end = "" if moves[phase] else ' class="end"'
        out.append(f'<rect{end} x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>')
        out.append(f'<text x="{x + _WIDTH // 2}" y="{y + 24}">{phase}</text>')
    for before, after in moves.items():
        x, y = places[before]
        for phase in after:
            to_x, to_y = places[phase][0] - 2, places[phase][1] + _HEIGHT // 2
            if to_x < x:  # back: below everybody
                start, end, below = x + _WIDTH // 2, to_x + _WIDTH // 2, y + _HEIGHT + 22
                out.append(f'<path d="M{start} {y + _HEIGHT}L{start} {below}L{end} {below}L{end} {y + _HEIGHT + 2}"/>')
            elif to_x > x + 2 * _ACROSS - 10:  # past another column: round it, not through it
                out.append(f'<path d="M{x + _WIDTH // 2} {y + _HEIGHT}L{x + _WIDTH // 2} {to_y}L{to_x} {to_y}"/>')
            else:
                out.append(f'<path d="M{x + _WIDTH} {y + _HEIGHT // 2}L{to_x} {to_y}"/>')
    return out, max(y for _, y in places.values()) + _HEIGHT


def phases() -> str:
    """The whole picture."""
    first, bottom = _draw("NodeRequest", REQUEST_MOVES, 30)
    second, bottom = _draw("NodeRemovalRequest", REMOVAL_MOVES, bottom + 40)
    size = f"0 0 {40 + 2 * _ACROSS + _WIDTH} {bottom + 40}"
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="{size}" role="img" aria-label="Phases and their moves">'
    background = '<rect width="100%" height="100%" style="fill:#fbfcfd;stroke:none"/>'
    return "\n".join([head, _STYLE, background, *first, *second, "</svg>\n"])
