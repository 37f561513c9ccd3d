"""Recordings of what Growth decides and prints, to compare one commit with another byte for byte.

    python -m tests.recordings FILE                # every scenario's trace, plans of drawn loads, all that is printed
    python -m tests.recordings --compare OLD NEW   # exit code 1 and each difference; tests/renames.toml applies to OLD

A change that only moves or renames leaves every recording as it was, except for the names in ``tests/renames.toml``.
"""

import argparse
import hashlib
import json
import logging
import os
import subprocess
import sys
import tomllib
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Final

import click
import msgspec
from click.testing import CliRunner

from bench import loads
from growth.cli.main import main as growth
from growth.decide.fit import SimulatedCluster
from growth.decide.solver.placement_solution import PlacementSolution
from growth.decide.solver.planner import plan
from growth.decide.solver.problem import StepBudget
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.all_stories import STORIES

_RENAMES: Final = Path(__file__).with_name("renames.toml")
_LOADS: Final[dict[str, Callable[[int], loads.Load]]] = {
    "mixed": lambda seed: loads.mixed(200, seed),
    "hetzner": lambda seed: loads.hetzner(200, seed),
    "small": lambda seed: loads.plain(200, 5, seed),
    "trickle": lambda seed: loads.trickle(10, 500, seed),
}
_LONGEST: Final = 5
"""Of the differences in one recording that are printed."""

Recording = dict[str, list[str]]


def trace(name: str) -> tuple[str, list[str]]:
    """One scenario on the virtual cluster: what was seen of it, and what was logged."""
    story = next(one for one in STORIES if one.name == name)
    log = _Log()
    log.listen()
    try:
        seen = [str(one) for one in play_virtually(story.tell, alone=story.alone)]
    except AssertionError as error:
        seen = [f"failed: {error}"]
    return f"scenario {name}", [*seen, *log.messages]


class _Log(logging.Handler):
    """Messages of all loggers, in their order."""

    def __init__(self) -> None:
        super().__init__()
        self.messages: list[str] = []

    def listen(self) -> None:
        """Take the place of whatever printed before."""
        root = logging.getLogger()
        root.handlers = [self]
        root.setLevel(logging.INFO)

    def emit(self, record: logging.LogRecord) -> None:
        self.messages.append(f"{record.levelname} {record.getMessage()}")


def planned(load: str, seed: int) -> tuple[str, list[str]]:
    """One plan for drawn pods."""
    one = _LOADS[load](seed)
    solution = plan(
        SimulatedCluster.of(one.stage.snapshot), one.pods, one.market, StepBudget(passes=1, rounds=0, steps=20)
    )
    return f"plan {load} {seed}", lines_of(solution)


def lines_of(solution: PlacementSolution) -> list[str]:
    """A plan as text, without how long it took."""
    launched = [
        f"{one.name} {one.offering.id} {' '.join(p.metadata.name for p in one.pods)}" for one in solution.launch
    ]
    filled = [f"{one.node} {' '.join(p.metadata.name for p in one.pods)}" for one in solution.existing]
    left = [f"{one.pod.metadata.name} {one.reason}" for one in solution.left_out]
    costs = f"{solution.outcome} {solution.cost_per_hour!r} {solution.bound_per_hour!r} {len(solution.keep)}"
    return [costs, *launched, *filled, *left]


def printed() -> Recording:
    """The help of every command, and what those print that need no cluster."""
    runner = CliRunner()
    words = [*_commands(growth), ("crds",), ("manifests",), ("settings",)]
    return {
        f"growth {' '.join(one)}": runner.invoke(growth, one, prog_name="growth").output.splitlines() for one in words
    }


def _commands(group: click.Group, path: tuple[str, ...] = ()) -> list[tuple[str, ...]]:
    found = [(*path, "--help")]
    context = click.Context(group)
    for name in group.list_commands(context):
        command = group.get_command(context, name)
        assert command is not None
        found += _commands(command, (*path, name)) if isinstance(command, click.Group) else [(*path, name, "--help")]
    return found


def recorded() -> Recording:
    """All of it; processes share the work, each scenario in one of them."""
    with ProcessPoolExecutor() as pool:
        traces = dict(pool.map(trace, [story.name for story in STORIES]))
        pairs = [(load, seed) for load in _LOADS for seed in range(5)]
        plans = dict(pool.map(planned, *zip(*pairs, strict=True)))
    return traces | plans | printed()


def renamed(recording: Recording, renames: dict[str, str]) -> Recording:
    """An old recording in new names, the longest first."""
    text = json.dumps(recording)
    for old in sorted(renames, key=len, reverse=True):
        text = text.replace(json.dumps(old)[1:-1], json.dumps(renames[old])[1:-1])
    return msgspec.json.decode(text, type=Recording)


def differences(old: Recording, new: Recording) -> list[str]:
    """A line for each recording that is not the same."""
    found: list[str] = []
    for name in sorted(old.keys() | new.keys()):
        before, after = old.get(name, []), new.get(name, [])
        if before == after:
            continue
        found.append(f"{name}: {len(before)} lines before, {len(after)} after")
        pairs = [(one, other) for one, other in zip(before, after, strict=False) if one != other]
        found += [f"  - {one}\n  + {other}" for one, other in pairs[:_LONGEST]]
    return found


def digest(recording: Recording) -> str:
    """One short word for all of it."""
    return hashlib.sha256(json.dumps(recording, sort_keys=True).encode()).hexdigest()[:16]


def _read(path: str) -> Recording:
    return msgspec.json.decode(Path(path).read_bytes(), type=Recording)


def _main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("file", nargs="?", help="where to write the recording")
    parser.add_argument("--compare", nargs=2, metavar=("OLD", "NEW"), help="two recordings")
    given = parser.parse_args()
    if given.compare:
        renames: dict[str, Any] = tomllib.loads(_RENAMES.read_text(encoding="utf-8"))
        old, new = renamed(_read(given.compare[0]), renames["renames"]), _read(given.compare[1])
        found = differences(old, new)
        print("\n".join([*found, f"{len(old)} recordings before, {len(new)} after, {len(found)} differ"]))  # noqa: T201
        return 1 if found else 0
    if given.file is None:
        parser.error("expected FILE or --compare OLD NEW")
    if os.environ.get("PYTHONHASHSEED") != "0":  # the order of sets is chance otherwise
        again = [sys.executable, "-m", "tests.recordings", given.file]
        return subprocess.run(again, env=os.environ | {"PYTHONHASHSEED": "0"}, check=False).returncode
    recording = recorded()
    Path(given.file).write_text(json.dumps(recording, indent=1, sort_keys=True), encoding="utf-8")
    print(f"{len(recording)} recordings, {sum(map(len, recording.values()))} lines, digest {digest(recording)}")  # noqa: T201
    return 0


if __name__ == "__main__":
    sys.exit(_main())
