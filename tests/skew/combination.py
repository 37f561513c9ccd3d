"""One control plane and all checks on it, one after the other; one that fails does not stop the next."""

import time
from collections.abc import Callable, Sequence
from typing import Final

import msgspec

from growth.cli.doctor_report import DoctorReport
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.local_cluster.errors import LocalError
from growth_lab.scenarios.local import a_real_cluster
from tests.skew.checks import CHECKS, Check, check_policies, examine

_LONGEST_PROBLEM: Final = 300


class Combination(msgspec.Struct, frozen=True):
    """Which release the control plane is; its scheduler and controller-manager may be older."""

    kubernetes: str
    controllers: str = ""

    @property
    def name(self) -> str:
        """As the table shows it."""
        return f"{self.kubernetes}, controllers {self.controllers}" if self.controllers else self.kubernetes


class CheckOutcome(msgspec.Struct, frozen=True):
    """The end of one check."""

    check: str
    seconds: float
    problem: str = ""
    """Why it failed; empty if it did not."""


class CombinationOutcome(msgspec.Struct, frozen=True):
    """The end of all of them."""

    combination: str
    version: str
    start_seconds: float
    checks: tuple[CheckOutcome, ...]
    lacks: tuple[str, ...]
    """Features that the server does not have, by name."""

    @property
    def has_failed(self) -> bool:
        """Whether some check did."""
        return any(one.problem for one in self.checks)


async def check_combination(
    combination: Combination, wanted: Sequence[str], report: Callable[[str], None]
) -> CombinationOutcome:
    """Start it, run the wanted checks (all if none is named), end it. One that does not start has failed."""
    began = time.monotonic()
    try:
        return await _checked(combination, wanted, report)
    except LocalError as error:
        problem = f"failed: {error}"[:_LONGEST_PROBLEM]
        report(f"{combination.name}: start {problem}")
        start = CheckOutcome("start", round(time.monotonic() - began, 1), problem)
        return CombinationOutcome(combination.name, "-", start.seconds, (start,), ())


async def _checked(
    combination: Combination, wanted: Sequence[str], report: Callable[[str], None]
) -> CombinationOutcome:
    began = time.monotonic()
    async with a_real_cluster(combination.kubernetes, combination.controllers) as cluster:
        start_seconds = round(time.monotonic() - began, 1)
        version = await cluster.admin.server_version()
        report(f"{combination.name}: {version} is up after {start_seconds} s")
        outcomes: list[CheckOutcome] = []
        found: list[DoctorReport] = []

        async def run(name: str, check: Check) -> None:
            outcome = await outcome_of(name, check, cluster)
            outcomes.append(outcome)
            report(f"{combination.name}: {name} {outcome.problem or 'ok'} after {outcome.seconds} s")

        async def doctor(cluster: LocalCluster) -> None:
            found.append(await examine(cluster))

        for name, check in CHECKS.items():
            if not wanted or name in wanted:
                await run(name, check)
        await run("doctor", doctor)
        lacks = tuple(one.name for one in found[0].missing_features) if found else ()
        if found and not any("MutatingAdmissionPolicy" in one for one in lacks):
            await run("queue policy", check_policies)
        return CombinationOutcome(combination.name, version, start_seconds, tuple(outcomes), lacks)


async def outcome_of(name: str, check: Check, cluster: LocalCluster) -> CheckOutcome:
    """Run one check; an error of any kind is its outcome."""
    began, problem = time.monotonic(), ""
    try:
        await check(cluster)
    except Exception as error:
        problem = f"failed: {type(error).__name__}: {error}"[:_LONGEST_PROBLEM]
    return CheckOutcome(name, round(time.monotonic() - began, 1), problem)
