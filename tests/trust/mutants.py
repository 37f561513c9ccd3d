"""A check of the checkers: Growth with a deliberate defect must be caught, by the crash suite, by tests or by chaos.

    python -m tests.trust.mutants

Each defect is put into the product in memory, for as long as it is tried. First the stories are told, undisturbed and
then stopped here and there, the tests of that part are run, then runs of chaos are drawn; the table says who noticed
what, and after how many runs.
"""

import argparse
import io
import itertools
import random
import sys
import time
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from contextlib import ExitStack, contextmanager, redirect_stdout
from dataclasses import dataclass
from datetime import datetime
from typing import Any, Final
from unittest.mock import patch

import pytest

from growth.api.actions import Action, DeleteObject
from growth.api.kinds import NODES
from growth.api.node_pool import NodePool
from growth.api.node_removal_request import NodeRemovalRequest
from growth.api.references import reference_to
from growth.decide.elapsed import counts_from
from growth.decide.node_requests import decider as provision
from growth.decide.scale_down import removal_requests
from growth.decide.scale_down.context import ScaleDownContext
from growth.kube.client import Client
from growth.kube.patches import JsonPatch, MergePatch
from growth.kube.transport import Request
from growth_lab.scenarios.scenario import Story
from tests.drawing import THOROUGH
from tests.trust.chaos.run import played_run
from tests.trust.chaos.terms import drawn_terms_of
from tests.trust.cohort_mutants import COHORT_MUTANTS
from tests.trust.crash import TOLD
from tests.trust.crash_points import stops_of
from tests.trust.failover_mutants import FAILOVER_MUTANTS
from tests.trust.memory.mutants import MEMORY_MUTANTS
from tests.trust.mistakes import be_quiet
from tests.trust.moving_mutants import MOVING_MUTANTS
from tests.trust.mutant import Mutant
from tests.trust.queue_mutants import QUEUE_MUTANTS
from tests.trust.trial import tried

_STOPS_PER_STORY: Final = 2


@dataclass(frozen=True)
class Caught:
    """Who noticed a defect, after how many runs, and by what; nobody if there is no suite."""

    mutant: str
    suite: str
    runs: int
    by: str


_CHANCE: Final = random.Random(0)  # noqa: S311 - so that it is the same defect each time


def _random_name(pool: NodePool, *_: object) -> str:
    return f"{pool.metadata.name}-{_CHANCE.getrandbits(40):010x}"


def _unconditional_merge(body: Mapping[str, Any]) -> MergePatch:
    meta = {key: value for key, value in body.get("metadata", {}).items() if key not in ("uid", "resourceVersion")}
    return MergePatch({**body, "metadata": meta} if meta else {key: body[key] for key in body if key != "metadata"})


def _unconditional_edit(operations: Sequence[Mapping[str, Any]]) -> JsonPatch:
    return JsonPatch([one for one in operations if one["op"] != "test"])


def _unconditional_delete(_: str, __: int | None, grace_seconds: int | None) -> Mapping[str, Any]:
    return {} if grace_seconds is None else {"gracePeriodSeconds": grace_seconds}


def _nothing(*_: object) -> None:
    """What should happen here does not."""


def _no_actions(*_: object) -> Iterator[Action]:
    return iter(())


async def _no_check(*_: object) -> None:
    """Nobody looks."""


def _no_reason(*_: object) -> str:
    return ""


def _everybody(_: ScaleDownContext, __: NodePool, spare: Sequence[Any]) -> tuple[set[str], set[str]]:
    return {node.metadata.name for node in spare}, set()


_STEPS: Final = {**vars(provision)["_NEXT"], "Ready": _nothing}
_USUALLY: Final = removal_requests.remove


def _never_again(scene: ScaleDownContext, removal: NodeRemovalRequest) -> None:
    if removal.status.phase != "Deprovisioning" or removal_requests.machine_of(scene, removal) is None:
        _USUALLY(scene, removal)


_ASK: Final[Callable[[ScaleDownContext, NodeRemovalRequest, str, str], None]] = vars(removal_requests)["_ask"]


def _node_first(scene: ScaleDownContext, removal: NodeRemovalRequest, provider: str, machine_id: str) -> None:
    node = removal_requests.node_of(scene, removal)
    if node is not None:
        scene.said.append(DeleteObject(subject=reference_to(NODES, node.metadata), why="it is not needed"))
    _ASK(scene, removal, provider, machine_id)


def _never(*_: object) -> bool:
    return False


def _as_if_always_healthy(
    written: datetime | None, now: datetime, steady_since: datetime | None, _: datetime | None
) -> datetime:
    return counts_from(written, now, steady_since)


def _without_fence(_: Client, request: Request) -> Request:
    return request


_DECIDE: Final = "growth.decide"
MUTANTS: Final = (
    Mutant(
        "a precondition is dropped: no uid, no resource version",
        {
            "growth.act.action_runner.MergePatch": _unconditional_merge,
            "growth.act.action_runner.JsonPatch": _unconditional_edit,
            "growth.kube.client._delete_options": _unconditional_delete,
        },
        seed=320,
    ),
    Mutant("names are random, not derived", {f"{_DECIDE}.scale_up.plan.request_name": _random_name}, seed=160),
    Mutant("a TTL is forgotten: requests that are Ready are kept", {f"{_DECIDE}.node_requests.decider._NEXT": _STEPS}),
    Mutant(
        "a TTL is forgotten: a removal is never tried again",
        {f"{_DECIDE}.scale_down.decider.remove": _never_again},
        "cannot be deleted",
    ),
    Mutant(
        "the Node is deleted before its machine",
        {f"{_DECIDE}.scale_down.removal_requests._ask": _node_first},
        "nobody needs",
    ),
    Mutant(
        "the check before the provider is asked is skipped",
        {
            "growth.act.action_runner._check_that_nobody_works_on": _no_check,
            f"{_DECIDE}.scale_down.removal_requests._why_cancelled": _no_reason,
        },
    ),
    Mutant(
        "demand does not cancel scale-down",
        {
            f"{_DECIDE}.scale_up.last_plan.taken_back": _no_actions,
            f"{_DECIDE}.capacity.disruptability.why_awaited": _no_reason,
            f"{_DECIDE}.scale_down.removal_requests.why_awaited": _no_reason,
        },
        "takes a marked node",
    ),
    Mutant("min is ignored", {f"{_DECIDE}.scale_down.empty_nodes._beyond_min": _everybody}, "keeps ready"),
    Mutant(
        "the fence is ignored: an old leader goes on writing",
        {
            "growth.kube.client.Client._behind_fence": _without_fence,
            "growth.kube.client.Client.is_fenced_off": False,
        },
    ),
    Mutant(
        "the gate is forgotten: nothing halts in an outage",
        {f"{_DECIDE}.facts.cluster_state.ClusterState.is_halted": False},
        "everything halts",
    ),
    Mutant(
        "nobody remembers when an outage was over: deadlines pass in it",
        {
            f"{_DECIDE}.contract.since": _as_if_always_healthy,
            f"{_DECIDE}.registry.classification.since": _as_if_always_healthy,
        },
        seed=120,
    ),
    Mutant(
        "silence is taken for an answer: what a silent provider does not list is gone",
        {
            f"{_DECIDE}.scale_down.context.ScaleDownContext.is_silent": _never,
            f"{_DECIDE}.scale_down.removal_requests.why_unheard_of": _no_reason,
            f"{_DECIDE}.scale_down.unready_nodes.why_unheard_of": _no_reason,
        },
        seed=160,
    ),
    *FAILOVER_MUTANTS,
    *MEMORY_MUTANTS,
    *QUEUE_MUTANTS,
    *COHORT_MUTANTS,
    *MOVING_MUTANTS,
)


def caught(mutant: Mutant, chaos_runs: int) -> list[Caught]:
    """Who notices this defect: each suite for itself."""
    with _defect(mutant):
        crash, tests = _by_crash(mutant), _by_tests(mutant)
    return [crash, tests, _by_chaos(mutant, chaos_runs)]


def is_told_of(mutant: Mutant) -> bool:
    """Whether a story or a test notices this defect: who comes second is asked only if the first does not."""
    with _defect(mutant):
        return any(suite(mutant).suite for suite in (_by_crash, _by_tests))


def _caught_by_name(name: str, chaos_runs: int) -> list[Caught]:
    """The same in another process, to which not every defect can be sent."""
    return caught(next(one for one in MUTANTS if one.name == name), chaos_runs)


@contextmanager
def _defect(mutant: Mutant) -> Generator[None]:
    with ExitStack() as changed:
        for target, new in mutant.changes.items():
            changed.enter_context(patch(target, new))
        yield


def _by_crash(mutant: Mutant) -> Caught:
    runs = 0
    for story in (one for one in TOLD if mutant.story and mutant.story in one.name):
        for problems in _told(story):
            runs += 1
            if problems:
                return Caught(mutant.name, "crash", runs, problems[0])
    return Caught(mutant.name, "", runs, "")


def _told(story: Story) -> Iterator[list[str]]:
    """The problems of a story that nobody stops, and of some that are stopped."""
    usual = tried(story, may_be_left=None)
    yield usual.problems
    stops = stops_of(usual.passes)
    for stop in stops[:: max(1, len(stops) // _STOPS_PER_STORY)]:
        yield tried(story, stop.wish(), may_be_left=usual.left).problems


class _Failure:
    """A plugin of pytest that remembers what failed first."""

    def __init__(self) -> None:
        self.ran = 0
        self.first = ""

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """One step of one test is over."""
        self.ran += report.when == "call"
        if report.failed and not self.first:
            self.first = report.nodeid.rpartition("::")[2]


def _by_tests(mutant: Mutant) -> Caught:
    if not mutant.tests:
        return Caught(mutant.name, "", 0, "")
    failure = _Failure()
    with redirect_stdout(io.StringIO()):
        drawing = f"--hypothesis-profile={THOROUGH}"
        # What is imported already cannot be rewritten, which makes failures no less visible.
        quiet = ["-W", "ignore::pytest.PytestAssertRewriteWarning", "-p", "no:cacheprovider"]
        pytest.main(["-q", "-x", *quiet, drawing, *mutant.tests.split()], plugins=[failure])
    return Caught(mutant.name, "tests" if failure.first else "", failure.ran, failure.first)


def _by_chaos(mutant: Mutant, most: int) -> Caught:
    seeds = (one for one in itertools.count(mutant.seed) if not mutant.of_failover or drawn_terms_of(one).acts)
    for number, seed in enumerate(itertools.islice(seeds, most)):
        with _defect(mutant):
            problems = played_run(seed).problems
        if problems and not played_run(seed).problems:  # without the defect all is well
            return Caught(mutant.name, "chaos", number + 1, problems[0])
    return Caught(mutant.name, "", most, "")


def main(arguments: Sequence[str] | None = None) -> int:
    """The command; gives its exit code."""
    parser = argparse.ArgumentParser("python -m tests.trust.mutants", description=__doc__)
    parser.add_argument("--runs", type=int, default=150, help="of chaos, at most, for each defect")
    parser.add_argument("--only", default="", help="defects whose names hold this")
    chosen = parser.parse_args(arguments)
    began, missed = time.monotonic(), 0
    mutants = [mutant for mutant in MUTANTS if chosen.only in mutant.name]
    with ProcessPoolExecutor(2, initializer=be_quiet) as pool:
        found = pool.map(_caught_by_name, [one.name for one in mutants], [chosen.runs] * len(mutants))
        for mutant, suites in zip(mutants, found, strict=True):
            noticed = [one for one in suites if one.suite]
            missed += not noticed
            _say(f"{'caught' if noticed else 'MISSED'}  {mutant.name}")
            for one in noticed:
                _say(f"          {one.suite}, run {one.runs}: {one.by[:160]}")
    _say(f"{len(mutants) - missed} of {len(mutants)} defects caught in {time.monotonic() - began:.0f} s")
    return 1 if missed else 0


def _say(line: str) -> None:
    print(line, flush=True)  # noqa: T201 - a command's output


if __name__ == "__main__":
    sys.exit(main())
