"""``python -m bench.churn`` runs to its end. What it costs is not tested: that depends on who else is here."""

import asyncio
import json
import sys

import pytest

from tests.repository import ROOT

pytestmark = pytest.mark.cluster

FIELDS = {
    *("purchases", "removals", "duplicates", "leaked", "cpu_percent", "rss_mb_start", "rss_mb_end"),
    *("unused", "left", "seconds", "nodes_mean", "nodes_peak", "pods_created", "pods_bound", "passes", "errors"),
}


async def test_a_few_nodes_come_and_go_and_one_line_of_json_tells_that_nothing_is_left() -> None:
    command = (sys.executable, "-m", "bench.churn", "--nodes", "4", "--minutes", "0.08", "--empty-after", "1")
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe)
    output, words = await running.communicate()
    assert running.returncode == 0, words.decode()
    (line,) = output.decode().splitlines()
    told = json.loads(line)
    assert told.keys() >= FIELDS
    assert told["purchases"] == told["removals"] >= 1
    assert (told["duplicates"], told["leaked"], told["left"], told["errors"]) == (0, 0, 0, 0)
    assert told["nodes_peak"] >= 1
    assert told["pods_created"] >= told["pods_bound"] >= 1
    assert told["rss_mb_end"] > 0
