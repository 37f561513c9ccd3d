"""docs/invariants.md says what the code checks, and where it stops."""

import re
from pathlib import Path

from tests.trust.endings import AT_THE_END
from tests.trust.invariants import ALWAYS
from tests.trust.register import REGISTER

PAGE = (Path(__file__).parents[2] / "docs" / "invariants.md").read_text(encoding="utf-8")


def test_the_page_has_every_invariant_and_no_other() -> None:
    rows = re.findall(r"^\| (I\d+) \| ([^|]+) \| (always|at the end) \|", PAGE, re.MULTILINE)
    stated = {(one.number, one.name, "always") for one in ALWAYS}
    stated |= {(one.number, one.name, "at the end") for one in AT_THE_END}
    assert set(rows) == stated
    assert len(rows) == len(stated)


def test_the_page_has_every_point_and_no_other() -> None:
    rows = re.findall(r"^\| `([^`]+)` \| ([^|]+) \|$", PAGE, re.MULTILINE)
    assert dict(rows) == REGISTER
