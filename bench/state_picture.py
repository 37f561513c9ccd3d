"""The picture of the states of one node, with the registry's own names."""

from typing import Final

from growth.api.node_pool import ScaleDown
from growth.decide.facts.cluster_state import NodeState

_STYLE: Final = """<style>
  text { font-family: system-ui, sans-serif; font-size: 14px; fill: #14202b; text-anchor: middle; }
  .name { font-weight: 600; }
  .case, .why { font-size: 12px; fill: #51606e; }
  .why { text-anchor: start; }
  rect { fill: #e2f0fb; stroke: #0b6aa8; stroke-width: 1.4; }
  .good { fill: #e3f5e5; stroke: #2e7d32; }
  .bad { fill: #fdeaea; stroke: #b3261e; }
  .other { fill: #f1f3f5; stroke: #7b8794; }
  path { stroke: #2c3e50; stroke-width: 1.5; fill: none; }
  .to { marker-end: url(#head); }
</style>
<defs><marker id="head" viewBox="0 0 10 10" refX="9" refY="5" markerWidth="8" markerHeight="8" orient="auto">
<path d="M0 0L10 5L0 10z" style="fill:#2c3e50;stroke:none"/></marker></defs>"""
_WIDTH, _HEIGHT = 156, 48
_X: Final = (50, 290, 510, 730)
_Y: Final = (20, 130, 240)
_PLACES: Final = {
    NodeState.REQUESTED: (_X[0], _Y[0], "", "UC1: asked for"),
    NodeState.BOOTING: (_X[1], _Y[0], "", "UC2: its node is there"),
    NodeState.READY: (_X[2], _Y[0], "good", "it works"),
    NodeState.BEING_REMOVED: (_X[3], _Y[0], "", "UC7: it goes"),
    NodeState.NEVER_CREATED: (_X[0], _Y[1], "bad", "UC4: given up"),
    NodeState.FAILED_TO_START: (_X[1], _Y[1], "bad", "UC3"),
    NodeState.UNREADY: (_X[2], _Y[1], "bad", "UC6, UC8"),
    NodeState.REMOVAL_FAILED: (_X[3], _Y[1], "bad", "a person must look"),
    NodeState.NEVER_REGISTERED: (_X[0], _Y[2], "bad", "UC5"),
    NodeState.FOREIGN: (_X[3], _Y[2] + 40, "other", "not ours: only counted"),
}
_BUS: Final = _Y[2] + 24
_MOVES: Final = (
    "M206 44L288 44",
    "M446 44L508 44",
    "M666 44L728 44",
    "M128 68L128 128",
    "M50 44L24 44L24 264L48 264",
    "M368 68L368 128",
    "M574 68L574 128",
    "M602 130L602 70",
    "M794 68L794 128",
    "M822 130L822 70",
    f"M206 {_BUS}L910 {_BUS}L910 44L888 44",
)
# These join the way to removal.
_JOINS: Final = (f"M368 178L368 {_BUS}", f"M588 178L588 {_BUS}")
_WORDS: Final = (
    (247, 36, "middle", "registers"),
    (477, 36, "middle", "opened"),
    (697, 36, "middle", "empty"),
    (135, 104, "start", "no machine in time"),
    (30, 222, "start", "a machine, no node in time"),
    (375, 104, "start", "not ready in time"),
    (568, 104, "end", "silent"),
    (608, 104, "start", "back"),
    (788, 104, "end", "in vain"),
    (828, 104, "start", "retried"),
    (220, _BUS - 8, "start", "one by one"),
    (375, 212, "start", "given up"),
    (595, 212, "start", f"after {ScaleDown().unready_after}"),
    (720, _BUS - 8, "start", "only in a healthy cluster"),
)


def states() -> str:
    """The whole picture."""
    title = "The states of one node, and how it gets from one to another"
    out = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 930 350" role="img" aria-label="{title}">', _STYLE]
    out.append('<rect width="100%" height="100%" style="fill:#fbfcfd;stroke:none"/>')
    for state in NodeState:
        x, y, style, about = _PLACES[state]
        out.append(f'<rect class="{style}" x="{x}" y="{y}" width="{_WIDTH}" height="{_HEIGHT}" rx="6"/>')
        out.append(f'<text class="name" x="{x + _WIDTH // 2}" y="{y + 21}">{state}</text>')
        out.append(f'<text class="case" x="{x + _WIDTH // 2}" y="{y + 38}">{about}</text>')
    out += [f'<path class="to" d="{move}"/>' for move in _MOVES]
    out += [f'<path d="{join}"/>' for join in _JOINS]
    out += [
        f'<text class="why" x="{x}" y="{y}" style="text-anchor:{anchor}">{words}</text>'
        for x, y, anchor, words in _WORDS
    ]
    return "\n".join([*out, "</svg>\n"])
