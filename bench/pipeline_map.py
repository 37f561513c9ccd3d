"""One pass, drawn from the pipeline: which stage provides which fact, and which stages go by it.

    python -m bench.pipeline_map

Writes the picture and the table of docs/architecture.md; tests/test_package_map.py fails when they differ from what it
draws.
"""

from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

import msgspec

from growth.api.settings.model import Settings
from growth.decide.contract import Capability, Derivation, Fact, Stage
from growth.decide.pipeline import PIPELINE, provided_by

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "architecture.md"
PICTURE: Final = ROOT / "docs" / "images" / "pipeline.svg"
BEGIN, END = "<!-- pass: python -m bench.pipeline_map -->\n", "<!-- end of pass -->\n"
_STYLE: Final = """<style>
  text { font-family: system-ui, sans-serif; fill: #14202b; font-size: 13px; }
  .stage { font-size: 14px; font-weight: 600; }
  .fact { font-size: 12px; }
  .key { font-size: 12px; fill: #4a5b6b; }
  rect { fill: #ffffff; stroke: #2c3e50; stroke-width: 1.4; }
  .derived { fill: #f4f6f8; stroke: #7b8a97; stroke-dasharray: 5 4; }
  .provides { fill: #2e7d32; stroke: #2e7d32; }
  .needs { fill: #2c3e50; stroke: #2c3e50; }
  .goes-on { fill: #ffffff; stroke: #2c3e50; stroke-width: 2; }
  line { stroke: #c3ccd4; stroke-width: 1.2; }
  .lane { stroke: #9fb0bd; }
</style>"""
_LEFT, _TOP, _ROW, _COLUMN, _NAME = 16, 150, 40, 62, 190


def title(stage: Stage) -> str:
    """What a stage is called in the code: its package, or what it derives."""
    return stage.decide.__module__.split(".")[2] if isinstance(stage, Capability) else stage.provides.__name__


def facts() -> list[type[Fact]]:
    """All facts, in the order in which they are known."""
    found = [fact for stage in PIPELINE for fact in provided_by(stage)]
    computed = [stage.computes for stage in PIPELINE if isinstance(stage, Capability) and stage.computes is not None]
    needed = {need.fact for stage in PIPELINE for need in stage.needs}
    return [fact for fact in dict.fromkeys((*computed, *found)) if fact in needed]


def table() -> str:
    """One row for each stage."""
    rows = ["| stage | needs | provides | settings | writes |", "|---|---|---|---|---|"]
    sections: dict[type[object], str] = {
        type(section): name for name, section in msgspec.structs.asdict(Settings()).items()
    }
    for stage in PIPELINE:
        needs = ", ".join(
            f"{need.fact.__name__}{'' if need.if_failed == 'skip' else ' (or its default)'}" for need in stage.needs
        )
        provides = [fact.__name__ for fact in provided_by(stage)]
        if isinstance(stage, Capability) and stage.computes is not None:
            provides.append(f"{stage.computes.__name__} (in a later pass)")
        kind = "derived" if isinstance(stage, Derivation) else f"`--only {stage.name}`"
        section = sections[stage.settings] if isinstance(stage, Capability) and stage.settings is not None else ""
        written = f"`{section}`" if section else ""
        rows.append(f"| **{title(stage)}**, {kind} | {needs} | {', '.join(provides)} | {written} | {writes(stage)} |")
    return "\n".join(rows) + "\n"


def writes(stage: Stage) -> str:
    """The kinds that a stage writes, beside events."""
    permissions = stage.permissions if isinstance(stage, Capability) else ()
    return ", ".join(dict.fromkeys(one.kind.name for one in permissions))


def picture() -> str:
    """Stages from top to bottom, facts from left to right."""
    columns = facts()
    width, height = _LEFT + _NAME + len(columns) * _COLUMN + 90, _TOP + len(PIPELINE) * _ROW + 56
    out: list[str] = []
    for number, fact in enumerate(columns):
        x = _x(number)
        rows = [row for row, stage in enumerate(PIPELINE) if _mark(stage, fact)]
        out.append(f'<line class="lane" x1="{x}" y1="{_y(rows[0])}" x2="{x}" y2="{_y(rows[-1])}"/>')
        out.append(
            f'<text class="fact" x="{x + 4}" y="{_TOP - 12}" transform="rotate(-45 {x + 4} {_TOP - 12})">'
            f"{escape(fact.__name__)}</text>"
        )
    for row, stage in enumerate(PIPELINE):
        kind = "derived" if isinstance(stage, Derivation) else "decides"
        out.append(f'<rect class="{kind}" x="{_LEFT}" y="{_y(row) - 15}" width="{_NAME - 20}" height="30" rx="6"/>')
        out.append(f'<text class="stage" x="{_LEFT + 12}" y="{_y(row) + 5}">{escape(title(stage))}</text>')
        out += [_drawn(_mark(stage, fact), _x(number), _y(row)) for number, fact in enumerate(columns)]
    out += _legend(height - 18)
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" role="img"'
    label = 'aria-label="The stages of a pass, with the facts that they provide and need"'
    return "\n".join((f"{head} {label}>", _STYLE, *filter(None, out), "</svg>")) + "\n"


def page_with_pass(text: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


def _mark(stage: Stage, fact: type[Fact]) -> str:
    """What a stage has to do with a fact; empty if nothing."""
    if fact in provided_by(stage) or (isinstance(stage, Capability) and stage.computes is fact):
        return "provides"
    need = next((need for need in stage.needs if need.fact is fact), None)
    if need is None:
        return ""
    return "needs" if need.if_failed == "skip" else "goes-on"


def _drawn(mark: str, x: int, y: int) -> str:
    if not mark:
        return ""
    if mark == "provides":
        return f'<rect class="provides" x="{x - 8}" y="{y - 8}" width="16" height="16" rx="3"/>'
    return f'<circle class="{mark}" cx="{x}" cy="{y}" r="7"/>'


def _legend(y: int) -> list[str]:
    out: list[str] = []
    x = _LEFT + 8
    for mark, words in (
        ("provides", "provides"),
        ("needs", "needs: skipped if the provider failed"),
        ("goes-on", "needs: goes on with the default"),
    ):
        out += [_drawn(mark, x, y - 4), f'<text class="key" x="{x + 16}" y="{y}">{escape(words)}</text>']
        x += 40 + len(words) * 7
    return out


def _x(column: int) -> int:
    return _LEFT + _NAME + 20 + column * _COLUMN


def _y(row: int) -> int:
    return _TOP + 16 + row * _ROW


def main() -> None:
    """Write both."""
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page_with_pass(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
