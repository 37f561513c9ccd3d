"""``python -m bench.reaction`` runs to its end. How fast it is is not tested: that depends on who else is here."""

import asyncio
import json
import sys

import pytest

from tests.repository import ROOT

pytestmark = pytest.mark.cluster

FIELDS = {
    *("pods", "repeat", "seed", "from_zero", "floor_s", "all_running_s", "over_floor_s", "bound_p50_s", "bound_p99_s"),
    *("refusals_s", "nodes", "cost", "nominations", "rss_mb", "cpu_s", "floor_cpu_s_of", "cpu_s_of", "moments"),
}


async def test_three_pods_run_on_machines_that_growth_bought_and_one_line_of_json_tells_of_it() -> None:
    command = (sys.executable, "-m", "bench.reaction", "--pods", "3", "--repeat", "1")
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe)
    output, words = await running.communicate()
    assert running.returncode == 0, words.decode()
    (line,) = output.decode().splitlines()
    told = json.loads(line)
    assert told.keys() >= FIELDS
    assert (told["pods"], told["from_zero"]) == (3, False)
    assert told["nodes"] >= 1
    assert told["cost"] > 0
    assert told["all_running_s"] >= told["bound_p99_s"] >= told["bound_p50_s"] > 0
    assert told["rss_mb"] > 0
