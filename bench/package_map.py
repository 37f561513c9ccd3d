"""The map of the packages in docs/architecture.md: a picture and a table, both read from the code.

    python -m bench.package_map

Order and direction are those that import-linter enforces, the sentences are the first ones of the packages' docstrings.
tests/test_package_map.py fails when page or picture are not what this draws.
"""

import ast
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Final
from xml.sax.saxutils import escape

ROOT: Final = Path(__file__).parent.parent
PAGE: Final = ROOT / "docs" / "architecture.md"
PICTURE: Final = ROOT / "docs" / "images" / "packages.svg"
BEGIN, END = "<!-- packages: python -m bench.package_map -->\n", "<!-- end of packages -->\n"
DECIDERS: Final = (
    "registry", "scale_up", "node_requests", "scale_down", "consolidation", "pool_status", "failover", "node_memory",
    "queue",
)  # fmt: skip
"""In the order in which a person meets them; the order of a pass is the pipeline's."""
SHARED: Final = ("solver", "writes", "capacity", "fit", "policy", "facts")
_PURE: Final = {"decide", "observe", "api"}
_STYLE: Final = """<style>
  text { font-family: system-ui, sans-serif; fill: #14202b; }
  .name { font-size: 15px; font-weight: 600; }
  .what { font-size: 12px; fill: #4a5b6b; }
  rect { fill: #ffffff; stroke: #2c3e50; stroke-width: 1.4; }
  .pure { fill: #e3f5e5; stroke: #2e7d32; }
  .part { fill: #ffffff; stroke: #2e7d32; }
  .lab { fill: #f4f6f8; stroke: #7b8a97; stroke-dasharray: 5 4; }
</style>"""
_WIDTH, _ROW, _GAP, _EDGE = 960, 46, 12, 16


def what(folder: Path) -> str:
    """The first sentence of a package's docstring."""
    text = (folder / "__init__.py").read_text(encoding="utf-8")
    first = (ast.get_docstring(ast.parse(text)) or "").split("\n\n")[0]
    return " ".join(first.split()).replace("``", "`").removesuffix(".")


def layers() -> list[str]:
    """The packages of the product, from what people touch down, as import-linter has them."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    contracts = project["tool"]["importlinter"]["contracts"]
    (rows,) = (one["layers"] for one in contracts if one["type"] == "layers" and one["containers"] == ["growth"])
    names = [name.strip(" ()") for row in rows for name in row.split("|")]
    return [name for name in names if (ROOT / "src" / "growth" / name).is_dir()]


def lab_packages() -> list[str]:
    """The packages of the lab."""
    return sorted(path.parent.name for path in (ROOT / "lab/src/growth_lab").glob("*/__init__.py"))


def table() -> str:
    """One row for each package; those of ``decide`` stand under it."""
    rows = ["| package | holds |", "|---|---|"]
    for name in layers():
        rows.append(f"| `growth/{name}` | {what(ROOT / 'src/growth' / name)} |")
        parts = (*DECIDERS, *SHARED) if name == "decide" else ()
        rows += [f"| `growth/decide/{part}` | {what(ROOT / 'src/growth/decide' / part)} |" for part in parts]
    rows += [f"| `growth_lab/{name}` | {what(ROOT / 'lab/src/growth_lab' / name)} |" for name in lab_packages()]
    return "\n".join(rows) + "\n"


def picture() -> str:
    """The packages of the product one above the other, each importing only what is below it; beside them the lab."""
    out: list[str] = []
    top, left, width = _EDGE, _EDGE, _WIDTH - 2 * _EDGE
    for name in layers():
        parts = (DECIDERS[:5], DECIDERS[5:], SHARED) if name == "decide" else ()
        height = _ROW + len(parts) * 40 + (8 if parts else 0)
        out.append(_box("pure" if name in _PURE else "", left, top, width, height))
        out.append(_text("name", left + 14, top + 20, name) + _text("what", left + 14, top + 38, what(_of(name))))
        for row, names in enumerate(parts):
            out += _row(names, left + 14, top + _ROW + row * 40, width - 28)
        top += height + _GAP
    out.append(_box("lab", left, top, width, _ROW + 40))
    out.append(_text("name", left + 14, top + 20, "growth_lab"))
    out.append(_text("what", left + 14, top + 38, "a distribution of its own, which growth never imports"))
    out += _row(lab_packages(), left + 14, top + _ROW, width - 28)
    height = top + _ROW + 40 + _EDGE
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" role="img"'
    label = 'aria-label="The packages of Growth, each importing only what is below it"'
    return "\n".join((f"{head} {label}>", _STYLE, *out, "</svg>")) + "\n"


def page_with_map(text: str) -> str:
    """The page with its table as it should be."""
    before, _, rest = text.partition(BEGIN)
    return f"{before}{BEGIN}{table()}{END}{rest.partition(END)[2]}"


def _of(name: str) -> Path:
    return ROOT / "src" / "growth" / name


def _row(names: Sequence[str], left: int, top: int, width: int) -> list[str]:
    each = (width - (len(names) - 1) * 8) // len(names)
    out: list[str] = []
    for number, name in enumerate(names):
        at = left + number * (each + 8)
        out.append(_box("part", at, top, each, 30) + _text("what", at + each // 2, top + 20, name, middle=True))
    return out


def _box(kind: str, left: int, top: int, width: int, height: int) -> str:
    return f'<rect class="{kind}" x="{left}" y="{top}" width="{width}" height="{height}" rx="6"/>'


def _text(kind: str, left: int, top: int, words: str, *, middle: bool = False) -> str:
    anchor = ' text-anchor="middle"' if middle else ""
    return f'<text class="{kind}" x="{left}" y="{top}"{anchor}>{escape(words)}</text>'


def main() -> None:
    """Write both."""
    PICTURE.write_text(picture(), encoding="utf-8")
    PAGE.write_text(page_with_map(PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
