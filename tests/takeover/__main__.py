"""``make upgrade``: this version of Growth and an older one take over from each other in the middle of a failover.

    python -m tests.takeover               # with the durations that Growth and Kubernetes have by default
    python -m tests.takeover --fast        # in seconds
    python -m tests.takeover --first old   # one journey: old, new, old, new, old

A table at the end, and the same as one line of JSON. Exit code 1 if anything went wrong.
"""

import argparse
import asyncio
import json
import sys
from collections.abc import Sequence
from typing import Final

import msgspec

from bench.crowd import tell
from tests.takeover.journey import Takeover
from tests.takeover.terms import FAST, SHIPPED, Terms
from tests.takeover.trip import Side, Trip, alternating, trip
from tests.takeover.version import OlderIsMissing, older_version

_HEADER: Final = ("MOMENT", "FROM", "TO", "LEADS", "FINISHED", "RUNNING")


def table(trips: list[Trip]) -> str:
    """Every takeover; seconds from the kill, and for RUNNING from the power cut."""
    rows = [_HEADER, *(_row(one) for found in trips for one in found.takeovers)]
    widths = [max(len(row[at]) for row in rows) for at in range(len(_HEADER))]
    lines = ["  ".join(text.ljust(width) for text, width in zip(row, widths, strict=True)).rstrip() for row in rows]
    return "\n".join([*lines, *(problem for found in trips for problem in found.problems)])


def _row(one: Takeover) -> tuple[str, ...]:
    running = "-" if one.running_s is None else f"{one.running_s:.1f} s"
    return one.moment, one.before, one.after, f"{one.leads_s:.1f} s", f"{one.finished_s:.1f} s", running


async def _travel(firsts: Sequence[Side], terms: Terms) -> list[Trip]:
    with older_version() as older:
        return [await trip(alternating(older, first), terms, tell) for first in firsts]


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--first", choices=("old", "new"), help="the version that begins (one journey for each)")
    parser.add_argument("--fast", action="store_true", help="Lease, proof and node life cycle in seconds")
    options = parser.parse_args()
    firsts: Sequence[Side] = [options.first] if options.first else ["old", "new"]
    try:
        trips = asyncio.run(_travel(firsts, FAST if options.fast else SHIPPED))
    except OlderIsMissing as error:
        sys.exit(f"Error: {error}")
    print(table(trips))  # noqa: T201 - a command's output
    print(json.dumps({"takeover": msgspec.to_builtins(trips)}))  # noqa: T201
    return 1 if any(one.problems for one in trips) else 0


if __name__ == "__main__":
    sys.exit(_main())
