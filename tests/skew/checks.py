"""What is checked on each release: the cheapest scenario of each capability, and what surrounds them."""

import asyncio
import time
from collections.abc import Awaitable, Callable
from typing import Final

from growth.api.server_features import FEATURES, is_since, minor_of
from growth.api.settings.model import ProvidersSettings, QueueSettings, Settings
from growth.cli.doctor_reader import read_report
from growth.cli.doctor_report import DoctorReport
from growth.decide.pipeline import CAPABILITIES
from growth.run.shipped_manifests import ACCOUNT
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.scenarios.local import play_on
from lab.tests.simulator.api import policy_scenes
from tests.skew.probes import features_shown
from tests.stories.all_stories import STORIES

Check = Callable[[LocalCluster], Awaitable[object]]

EVERYTHING: Final = Settings(providers=ProvidersSettings(enabled="kwok"), queue=QueueSettings(enabled=True))
_IN_FORCE_SECONDS: Final = 30.0
_SCENARIOS: Final = {
    "grow": "a pod waits and gets a machine",
    "shrink": "a node that nobody needs goes",
    "registry": "silent nodes of others halt for a while only",
    "failover": "a database leaves a machine that lost its power",
    "memory": "a node that comes back has its labels",
    "queue": "a job waits until there is quota",
    "consolidate": "a substitute goes back to what is cheaper once that is in stock",
}


def _scenario(name: str) -> Check:
    (story,) = (one for one in STORIES if one.name == name)

    async def play(cluster: LocalCluster) -> None:
        assert await play_on(cluster, story.tell, alone=story.alone)

    return play


CHECKS: Final[dict[str, Check]] = {capability: _scenario(name) for capability, name in _SCENARIOS.items()}
"""By capability, in the order in which they run. Each installs kinds and roles, which stay."""


async def examine(cluster: LocalCluster) -> DoctorReport:
    """``growth doctor`` under the shipped role and as the administrator; both know what this release lacks."""
    assert await features_shown(cluster) == await _features_by_table(cluster)
    account = await cluster.client_as(*ACCOUNT)
    _compare(await read_report(account, cluster.url, EVERYTHING, CAPABILITIES))
    report = await read_report(cluster.admin, cluster.url, EVERYTHING, CAPABILITIES)
    _compare(report)
    return report


async def _features_by_table(cluster: LocalCluster) -> dict[str, bool]:
    """Those for which nothing is served, and whether this release should have them."""
    minor = minor_of(await cluster.admin.server_version())
    return {one.name: is_since(minor, one.since) for one in FEATURES if not one.group_version}


def _compare(report: DoctorReport) -> None:
    assert report.exit_code == 0, f"doctor: {report.unusable_kinds} {report.missing_permissions}"
    lacks = {one.name for one in report.missing_features}
    expected = {one.name for one in FEATURES if not is_since(minor_of(report.version), one.since)}
    assert lacks == expected, f"doctor finds {sorted(lacks)} missing, the table says {sorted(expected)}"


async def check_policies(cluster: LocalCluster) -> None:
    """The chart's admission policies make of each object what docs/queue.md says."""
    await policy_scenes.add_namespaces(cluster.admin)
    await policy_scenes.install(cluster.admin)
    deadline = time.monotonic() + _IN_FORCE_SECONDS
    while not await policy_scenes.is_in_force(cluster.admin, "shop"):
        assert time.monotonic() < deadline, "the policies are not in force"
        await asyncio.sleep(0.2)
    for number, (name, (*_, expected)) in enumerate(policy_scenes.SCENES.items()):
        found = await policy_scenes.play(cluster.admin, number, name)
        assert found == expected, f"{name}: {found}, expected {expected}"
