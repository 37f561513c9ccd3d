"""All outcomes as a table: a row for each control plane, a column for each check."""

import io
from collections.abc import Sequence

from rich.console import Console
from rich.table import Table

from tests.skew.combination import CheckOutcome, CombinationOutcome


def table_of(outcomes: Sequence[CombinationOutcome], width: int) -> str:
    """Text for a terminal of this width; what failed is spelled out below the table."""
    names = list(dict.fromkeys(one.check for outcome in outcomes for one in outcome.checks))
    table = Table(box=None, pad_edge=False, padding=(0, 2, 0, 0))
    for title in ("KUBERNETES", *names, "LACKS"):
        table.add_column(title)
    for outcome in outcomes:
        found = {one.check: one for one in outcome.checks}
        cells = (_cell(found.get(name)) for name in names)
        table.add_row(f"{outcome.combination} ({outcome.version})", *cells, ", ".join(outcome.lacks) or "nothing")
    console = Console(file=io.StringIO(), width=width, highlight=False)
    with console.capture() as captured:
        console.print(table)
    failed = ((outcome.combination, one) for outcome in outcomes for one in outcome.checks if one.problem)
    return captured.get() + "".join(f"{combination}: {one.check} {one.problem}\n" for combination, one in failed)


def _cell(outcome: CheckOutcome | None) -> str:
    if outcome is None:
        return "-"
    return f"{'FAILED' if outcome.problem else 'ok'} {outcome.seconds:.0f} s"
