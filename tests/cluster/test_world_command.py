"""``growth world`` on a real cluster, also as somebody who may not look."""

import asyncio
import os
import sys
from pathlib import Path

import pytest

from growth_lab.local_cluster.cluster import LocalCluster

pytestmark = pytest.mark.cluster


async def growth_world(kubeconfig: Path) -> tuple[int, str, str]:
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "growth", "world", "--kubeconfig", str(kubeconfig)),
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
        env={**os.environ, "COLUMNS": "100"},
    )
    out, err = await process.communicate()
    return process.returncode or 0, out.decode(), err.decode()


async def test_it_shows_the_nodes_of_a_real_cluster(control_plane: LocalCluster) -> None:
    names = await control_plane.add_nodes(2, labels={"growth.dev/pool": "shown"})
    code, out, err = await growth_world(control_plane.kubeconfig)
    assert (code, err) == (0, "")
    assert any("shown" in line and "2/2" in line for line in out.splitlines())
    await control_plane.kubectl("delete", "node", *names)


async def test_a_role_that_may_not_look_is_told_which_verb_it_lacks(control_plane: LocalCluster) -> None:
    code, out, err = await growth_world(await control_plane.kubeconfig_as("default", "nobody"))
    (line,) = err.strip().splitlines()
    assert (code, out) == (2, "")
    assert line.startswith("Error: the role lacks the verb 'watch' on ")
