"""``growth node`` and ``growth explain node`` on a real cluster, with a machine that really has a provider."""

import asyncio
import json
import os
import signal
import sys

import pytest

from growth.api.kinds import NODES, VOLUME_ATTACHMENTS
from growth.api.machine import request_for
from growth.api.out_of_service import out_of_service_taint, proof_on
from growth.kube.patches import MergePatch
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cloud.kwok_trial import POOL, SMALL
from tests.cluster.test_kwok_provider import NAMESPACE, RBAC, order, played, until_node
from tests.cluster.test_top_command import growth as run_growth

pytestmark = pytest.mark.cluster

NAME, VOLUME = "by-hand", "csi-by-hand"
PROVIDER = ("--providers-enabled", "kwok", "--failover-read-every", "1s", "--failover-proven-after", "2s")


async def growth(cluster: LocalCluster, *arguments: str) -> tuple[int, str, str]:
    return await run_growth(cluster.kubeconfig, *arguments)


async def until_stuck_and_interrupted(cluster: LocalCluster) -> tuple[int, str]:
    """Follow a node that does not become free, until Ctrl-C."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "growth", "node", "out-of-service", NAME, "--kubeconfig", str(cluster.kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        env={**os.environ, "PYTHONUNBUFFERED": "1"},
    )
    assert process.stdout is not None
    seen = ""
    async with asyncio.timeout(30):
        while "left of its old life" not in seen:
            seen += (await process.stdout.readline()).decode()
        process.send_signal(signal.SIGINT)
        rest = (await process.stdout.read()).decode()
        return await process.wait(), seen + rest


async def test_a_node_is_taken_out_by_hand_followed_explained_and_taken_in(control_plane: LocalCluster) -> None:
    admin = control_plane.admin
    await control_plane.apply(RBAC)
    async with played(admin) as provider:
        machine = await provider.create(request_for(NAME, POOL, SMALL))
        await until_node(admin, machine, ready=True)
        code, out, err = await growth(control_plane, "node", "out-of-service", NAME, *PROVIDER)
        assert (code, "Traceback" in err) == (1, False)
        assert f"its machine {machine.provider_id} runs, says kwok" in err

        await order(admin, machine, "powerOff")
        await until_node(admin, machine, ready=False)
        spec = {"attacher": "disk.example.org", "nodeName": NAME, "source": {"persistentVolumeName": "pv-by-hand"}}
        meta = {"name": VOLUME, "finalizers": ["example.org/slow-driver"]}
        await admin.create(VOLUME_ATTACHMENTS, {"metadata": meta, "spec": spec})
        code, out, err = await growth(control_plane, "node", "out-of-service", NAME, "--no-wait", *PROVIDER)
        assert (code, err) == (0, "")
        assert out.splitlines()[-1] == f"node {NAME} is out of service"
        node = await admin.get(NODES, NAME)
        proof = proof_on(node)
        assert out_of_service_taint(node) is not None
        assert proof is not None
        assert (proof.provider_id, proof.readings, proof.is_forced) == (machine.provider_id, 3, False)

        code, out = await until_stuck_and_interrupted(control_plane)
        assert code == 0
        assert f"node {NAME} is out of service already, by {proof.by}, since" in out
        assert f"Nobody watches any more; node {NAME} stays out of service" in out

        code, out, err = await growth(control_plane, "node", "in-service", NAME)
        assert code == 1
        assert "volume pv-by-hand" in err
        code, out, err = await growth(control_plane, "explain", "node", NAME, "--output", "json")
        told = json.loads(out)
        assert (told["standing"], told["volumes"]) == ("out of service, and not free yet", ["pv-by-hand"])
        assert [step["what"] for step in told["steps"]] == ["LastSign", "Dead", "Tainted"]

        await admin.delete(VOLUME_ATTACHMENTS, VOLUME)
        await admin.patch(VOLUME_ATTACHMENTS, VOLUME, MergePatch({"metadata": {"finalizers": None}}))
        await order(admin, machine, "")
        await until_node(admin, machine, ready=True)
        code, out, err = await growth(control_plane, "node", "in-service", NAME)
        assert (code, out, err) == (0, f"node {NAME} is in service: taint and note are gone\n", "")
        assert out_of_service_taint(await admin.get(NODES, NAME)) is None
        assert NAMESPACE in told["provider_id"]
