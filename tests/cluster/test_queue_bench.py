"""``python -m bench.queue`` runs to its end, and quota is never exceeded. How fast it is is not tested here."""

import asyncio
import json
import sys

import pytest

from tests.repository import ROOT

pytestmark = pytest.mark.cluster

FIELDS = {
    *("workloads", "finished", "exceeded", "wall_s", "made_s", "api_floor_s", "admissions_per_second"),
    *("avg_admission_s", "usage_percent", "reserved_over_run", "rss_mb", "api_writes", "preemptions", "cpu_s"),
}


async def test_sixty_workloads_run_to_their_end_and_one_line_of_json_tells_of_it() -> None:
    command = (sys.executable, "-m", "bench.queue", "--workloads", "60")
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe)
    output, words = await running.communicate()
    assert running.returncode == 0, words.decode()
    (line,) = output.decode().splitlines()
    told = json.loads(line)
    assert told.keys() >= FIELDS
    assert (told["finished"], told["exceeded"]) == (60, 0)
    assert told["avg_admission_s"].keys() == {"large", "medium", "small"}
    assert told["api_writes"]["patch workloads/status"] >= 60
    assert told["reserved_over_run"] >= 1
