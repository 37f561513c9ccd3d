"""``make skew``: one short scenario of each capability on every pinned release of Kubernetes, and a table at the end.

    python -m tests.skew                    # all of it
    python -m tests.skew 1.33 --only queue  # one release, one capability

The last line is the same as JSON. Exit code 1 if anything failed.
"""

import argparse
import asyncio
import shutil
import sys
import time
from collections.abc import Sequence
from typing import Final

import msgspec

from growth_lab.local_cluster.pinned_modules import DEFAULT_RELEASE, RELEASES
from tests.skew.checks import CHECKS
from tests.skew.combination import Combination, CombinationOutcome, check_combination
from tests.skew.table import table_of

_LEAST_COLUMNS: Final = 160


def all_combinations() -> list[Combination]:
    """Each release, and the default one with a scheduler and a controller-manager that are one minor release older."""
    minors = [release.minor for release in RELEASES]
    older = minors[minors.index(DEFAULT_RELEASE.minor) - 1]
    return [*(Combination(minor) for minor in minors), Combination(DEFAULT_RELEASE.minor, older)]


async def check_all(combinations: Sequence[Combination], wanted: Sequence[str]) -> list[CombinationOutcome]:
    """One after the other."""
    began = time.monotonic()

    def report(line: str) -> None:
        sys.stderr.write(f"[{time.monotonic() - began:5.0f} s] {line}\n")

    return [await check_combination(one, wanted, report) for one in combinations]


def _main() -> int:
    combinations = {one.name: one for one in all_combinations()}
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("release", nargs="*", help=f"some of: {'; '.join(combinations)}")
    parser.add_argument("--only", action="append", default=[], choices=CHECKS, help="a capability; may be repeated")
    given = parser.parse_args()
    if unknown := [name for name in given.release if name not in combinations]:
        parser.error(f"no release {unknown[0]!r}; expected some of: {'; '.join(combinations)}")
    chosen = [combinations[name] for name in given.release or combinations]
    outcomes = asyncio.run(check_all(chosen, given.only))
    has_failed = any(one.has_failed for one in outcomes)
    width = max(shutil.get_terminal_size().columns, _LEAST_COLUMNS)
    print(table_of(outcomes, width))  # noqa: T201 - a command's output
    print(msgspec.json.encode({"skew": outcomes, "is_ok": not has_failed}).decode())  # noqa: T201
    return 1 if has_failed else 0


if __name__ == "__main__":
    sys.exit(_main())
