"""``make chaos``: many drawn runs, each safe under faults and well after them; or one of them again, as a story."""

import argparse
import asyncio
import itertools
import sys
import time
from collections import Counter
from collections.abc import Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from typing import Final

import msgspec

from tests.trust.chaos.run import Run, classes_of, played_run
from tests.trust.chaos.timeline import show_logs
from tests.trust.chaos.troubles import TROUBLES
from tests.trust.mistakes import be_quiet

_EVERY_SECONDS: Final = 15.0
# Further runs that went wrong are counted, not shown.
_SHOWN: Final = 20


class Summary:
    """What came of all runs so far."""

    def __init__(self) -> None:
        self.runs = 0
        self.failed: list[int] = []
        self.by_class: Counter[str] = Counter()
        self.failed_by_class: Counter[str] = Counter()
        self.totals: Counter[str] = Counter()

    def add(self, run: Run) -> None:
        """One more."""
        self.runs += 1
        others = {"replicas": run.replicas > 1, "moves": run.moves is not None}
        classes = [*run.classes, *(name for name, has in others.items() if has)] or ["none"]
        self.by_class.update(classes)
        self.totals.update(bought=run.launched, removed=run.removed, virtual_seconds=round(run.virtual_seconds))
        if run.moves is not None:
            self.totals.update(
                moves_done=run.moves.done, moves_undone=run.moves.undone, moves_deleted=run.moves.deleted
            )
        if run.problems:
            self.failed.append(run.seed)
            self.failed_by_class.update(classes)


def play_many(seeds: Iterable[int], processes: int) -> Summary:
    """All of these, shown as they go."""
    summary, began = Summary(), time.monotonic()
    shown_at = began
    with ProcessPoolExecutor(processes, initializer=be_quiet) as pool:
        for run in pool.map(played_run, seeds, chunksize=4):
            summary.add(run)
            if run.problems and len(summary.failed) <= _SHOWN:
                _show(run)
            if time.monotonic() - shown_at > _EVERY_SECONDS:
                shown_at = time.monotonic()
                seconds = shown_at - began
                _say(f"{summary.runs} runs in {seconds:.0f} s, {len(summary.failed)} went wrong")
    _say(f"\n{'runs with faults of':22}{'runs':>8}{'went wrong':>12}")
    for name in (*TROUBLES, "replicas", "moves", "none"):
        _say(f"  {name:20}{summary.by_class[name]:8}{summary.failed_by_class[name]:12}")
    result = {
        "runs": summary.runs,
        "failed": len(summary.failed),
        "minutes": round((time.monotonic() - began) / 60, 1),
        **summary.totals,
        "by_class": dict(summary.by_class),
        "failed_seeds": summary.failed[:_SHOWN],
    }
    _say(msgspec.json.encode(result).decode())
    return summary


def _show(run: Run) -> None:
    _say(f"FAILED seed {run.seed}, faults of {', '.join(run.classes) or 'nothing'}:")
    for problem in run.problems[:4]:
        _say(f"    {problem}")
    _say(f"    replay: python -m tests.trust.chaos --replay {run.seed} -v")


def _replay(seed: int, *, is_reported: bool) -> int:
    """One run, with its timeline."""
    if is_reported:
        show_logs()
    else:
        be_quiet()
    run = played_run(seed, _say if is_reported else lambda _: None)
    for problem in run.problems:
        _say(problem)
    if run.moves is not None:
        _say(f"{run.moves}")
    _say(f"{'FAILED' if run.problems else 'well'}: seed {seed}, {run.virtual_seconds:.0f} s, fingerprint {run.digest}")
    return len(run.problems)


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command's output


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser("python -m tests.trust.chaos", description=__doc__)
    parser.add_argument("--runs", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=None, help="of the first run; the time, if none is given")
    parser.add_argument("--without", default="", choices=[*TROUBLES, ""], help="none in which this fails")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--replay", type=int, help="this one again")
    parser.add_argument("-v", "--verbose", action="store_true", help="with all that was drawn, and what Growth did")
    parser.add_argument("--real", action="store_true", help="on a real control plane")
    parser.add_argument("--minutes", type=float, default=15.0, help="how long, on a real control plane")
    chosen = parser.parse_args(arguments)
    if chosen.replay is not None:
        return 1 if _replay(chosen.replay, is_reported=chosen.verbose) else 0
    seed = int(time.time()) if chosen.seed is None else chosen.seed
    _say(f"seeds from {seed} on")
    if chosen.real:
        from tests.trust.chaos.really import play_really

        return 1 if asyncio.run(play_really(seed, chosen.minutes * 60, _say)) else 0
    seeds = (one for one in itertools.count(seed) if chosen.without not in classes_of(one))
    return 1 if play_many(itertools.islice(seeds, chosen.runs), chosen.processes).failed else 0


if __name__ == "__main__":
    sys.exit(main())
