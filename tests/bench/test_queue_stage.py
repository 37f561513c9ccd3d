"""The load of ``bench.queue`` on a virtual cluster: real Growth, virtual time."""

import asyncio
from contextlib import suppress
from typing import Any, Final

from bench.queue_load import lines_of, load_of
from bench.queue_stage import furnish, make, watching
from growth.api.kinds import LEASES, NAMESPACES
from growth.api.settings.model import QueueSettings, Settings
from growth.decide.pipeline import chosen
from growth.run.replica import ReplicaConfig, control, new_health
from growth.run.runtime import played
from growth.run.shipped_manifests import ACCOUNT, shipped_roles
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.virtual_loop import run_virtually

SETTINGS: Final = Settings(queue=QueueSettings(enabled=True))


async def played_load(workloads: int) -> dict[str, Any]:
    """All of it, until the last is finished."""
    cluster = VirtualCluster(0, roles=shipped_roles())
    admin, lines = cluster.admin(), lines_of(2, 2)
    load = load_of(workloads, lines)
    await admin.create(NAMESPACES, {"metadata": {"name": SETTINGS.namespace}})
    # Nobody ever held it, so nobody is waited for.
    lease = {"metadata": {"name": SETTINGS.leader_election.lease_name}, "spec": {}}
    await admin.create(LEASES, lease, SETTINGS.namespace)
    await furnish(admin, lines)
    client = cluster.client(service_account(*ACCOUNT))
    plant = ReplicaConfig(
        client=client,
        lease_client=client,
        settings=SETTINGS,
        capabilities=chosen(["queue"]),
        host=played("queue", cluster.clock.now),
    )
    growth = asyncio.create_task(control(plant, new_health()))
    try:
        async with asyncio.timeout(600), watching(admin, admin, load, lines) as (witness, _):
            witness.begin()
            await make(admin, load, witness)
            while len(witness.finished) < workloads:  # noqa: ASYNC110 - counted, not told
                await asyncio.sleep(0.1)
            return witness.figures()
    finally:
        growth.cancel()
        with suppress(asyncio.CancelledError):
            await growth


def test_every_workload_of_a_small_load_runs_to_its_end_and_quota_is_never_exceeded() -> None:
    told = run_virtually(played_load(200))
    assert (told["finished"], told["exceeded"]) == (200, 0)
    assert told["admissions"] == 200 + told["preemptions"]
    assert 1 <= told["reserved_over_run"] <= 1.5, "here nothing takes time but the runs themselves"
