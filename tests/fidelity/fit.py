"""Fit against the real kube-scheduler: ``python -m tests.fidelity.fit --cases 3000 --seed 7``.

Draws cases, plays them on two control planes side by side and compares "fits somewhere" with "fits nowhere", and the
node that the scheduler chose with those that we would allow. A case on which we differ is played again, alone: the
scheduler hears of things on several watches and may have answered too early. Ends in one JSON line; fails if any
disagreement stands. For pods that fit nowhere the reasons are compared, too. ``--only N`` plays one case and shows it.
"""

import argparse
import asyncio
import json
import secrets
import sys
import time
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from itertools import count, islice

import yaml

from growth.decide.fit import SimulatedCluster, fits_anywhere
from tests.fidelity.arena import Arena, Played, Refused, an_arena
from tests.fidelity.draft import Case
from tests.fidelity.drawing import draw
from tests.fidelity.reasons import difference

BATCH = 40
PATIENT_SECONDS = 3.0


@dataclass(frozen=True)
class Disagreement:
    """A case that we judge otherwise than the scheduler, and what each of us says."""

    case: Case
    ours: str
    theirs: str
    is_detail: bool = False
    """Whether we agree that the pod fits nowhere and differ only in the reason that some node has."""

    def __str__(self) -> str:
        replay = f"python -m tests.fidelity.fit --seed {self.case.seed} --only {self.case.index}"
        themes = ", ".join(self.case.themes)
        return (
            f"case {self.case.index} of seed {self.case.seed} ({themes})\n  we say: {self.ours}\n"
            f"  the scheduler says: {self.theirs}\n  again: {replay}"
        )


@dataclass
class Tally:
    """What came out."""

    seed: int
    played: int = 0
    fitting: Counter[str] = field(default_factory=Counter[str])
    refusing: Counter[str] = field(default_factory=Counter[str])
    refused: list[Refused] = field(default_factory=list[Refused])
    disagreements: list[Disagreement] = field(default_factory=list[Disagreement])
    played_again: int = 0
    seconds: float = 0.0

    def line(self) -> str:
        """One line of JSON."""
        themes = sorted({*self.fitting, *self.refusing})
        shares = {
            theme: round(self.fitting[theme] / (self.fitting[theme] + self.refusing[theme]), 2) for theme in themes
        }
        details = sum(one.is_detail for one in self.disagreements)
        return json.dumps(
            {
                "cases": self.played,
                "agreements": self.played - len(self.disagreements) + details,
                "disagreements": len(self.disagreements) - details,
                "other_reasons": details,
                "played_again": self.played_again,
                "refused_by_api": len(self.refused),
                "cases_per_second": round(self.played / self.seconds, 1) if self.seconds else 0.0,
                "seconds": round(self.seconds, 1),
                "fits_share": shares,
                "seed": self.seed,
            }
        )


def judge(played: Played) -> Disagreement | None:
    """Compare our verdict with the scheduler's; None if we agree."""
    verdict = fits_anywhere(SimulatedCluster.of(played.snapshot), played.pod)
    answer = played.answer
    theirs = f"bound to {answer.node}" if answer.node else answer.reason or "nothing at all"
    agrees = answer.node in verdict.nodes if answer.node else answer.reason == "Unschedulable" and not verdict.fits
    if agrees and answer.message:
        stage = SimulatedCluster.of(played.snapshot)
        names = [node["metadata"]["name"] for node in played.case.nodes]
        detail = difference(answer.message, stage, played.pod, names)
        return Disagreement(played.case, verdict.sentence, detail, is_detail=True) if detail else None
    if agrees:
        return None
    where = f" ({', '.join(verdict.nodes)})" if verdict.fits else ""
    return Disagreement(played.case, verdict.sentence + where, theirs)


async def compare(seed: int, cases: int, *, clusters: int = 2, seconds: float | None = None, first: int = 0) -> Tally:
    """Play so many cases, or as many as the time allows."""
    tally = Tally(seed)
    numbers = count(first)
    wanted = cases  # those that the API server refuses are drawn anew
    started = time.monotonic()

    async def work() -> None:
        nonlocal wanted
        async with an_arena() as arena:
            begun = time.monotonic()
            while wanted > 0 and (seconds is None or time.monotonic() - begun < seconds):
                batch = [draw(seed, number) for number in islice(numbers, min(BATCH, wanted))]
                wanted -= len(batch)
                refused = await _play(arena, batch, tally)
                wanted += refused  # not in one line with the await: the other worker changes it meanwhile

    await asyncio.gather(*(work() for _ in range(clusters)))
    tally.seconds = time.monotonic() - started
    return tally


async def _play(arena: Arena, batch: Sequence[Case], tally: Tally) -> int:
    """Play and count; returns how many the API server refused."""
    refused = 0
    again: list[Case] = []
    for result in await arena.play(batch):
        if isinstance(result, Refused):
            tally.refused.append(result)
            refused += 1
        elif judge(result) is not None:
            again.append(result.case)
        else:
            _count(tally, result)
    for number, case in enumerate(again):
        tally.played_again += 1
        fresh = draw(case.seed, case.index, prefix=f"c{case.index}r{number}")
        (result,) = await arena.play([fresh], PATIENT_SECONDS)
        if isinstance(result, Refused):
            tally.refused.append(result)
            refused += 1
            continue
        _count(tally, result)
        disagreement = judge(result)
        if disagreement is not None:
            tally.disagreements.append(disagreement)
            print(disagreement, file=sys.stderr, flush=True)  # noqa: T201 - a command's output
    return refused


def _count(tally: Tally, played: Played) -> None:
    tally.played += 1
    counter = tally.fitting if played.answer.node else tally.refusing
    counter.update(played.case.themes)


async def show(seed: int, index: int) -> Disagreement | None:
    """Play one case and print all of it."""
    case = draw(seed, index)
    manifests = [*case.nodes, *case.objects, *(there.manifest for there in case.existing), *case.late, case.pod]
    print(yaml.safe_dump_all(manifests))  # noqa: T201
    for there in case.existing:
        if there.fate or there.status:
            print(f"# {there.manifest['metadata']['name']}: {there.fate} {there.node} {there.status}")  # noqa: T201
    async with an_arena() as arena:
        (result,) = await arena.play([case], PATIENT_SECONDS)
    if isinstance(result, Refused):
        print(f"the API server does not take it: {result.why}")  # noqa: T201
        return None
    verdict = fits_anywhere(SimulatedCluster.of(result.snapshot), result.pod)
    print(f"we say: {verdict.sentence} {' '.join(verdict.nodes)}\nthe scheduler says: {result.answer}")  # noqa: T201
    return judge(result)


def main() -> int:
    """Parse, play, print."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=int, default=3000)
    parser.add_argument("--seed", type=int, default=secrets.randbelow(1_000_000))
    parser.add_argument("--clusters", type=int, default=2)
    parser.add_argument("--only", type=int, help="the number of one case to play and show")
    given = parser.parse_args()
    if given.only is not None:
        return 1 if asyncio.run(show(given.seed, given.only)) else 0
    tally = asyncio.run(compare(given.seed, given.cases, clusters=given.clusters))
    for refused in tally.refused[:5]:
        print(f"not taken by the API server: case {refused.case.index}: {refused.why}", file=sys.stderr)  # noqa: T201
    print(tally.line())  # noqa: T201
    return 1 if tally.disagreements else 0


if __name__ == "__main__":
    sys.exit(main())
