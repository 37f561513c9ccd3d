"""``python -m bench.memory`` runs to its end, and no label is lost. How fast it is is not tested here."""

import asyncio
import json
import sys

import pytest

from bench.memory_nodes import Member
from growth.api.node_memory import MARKER
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

FIELDS = {
    *("nodes", "replicas", "killed", "restored", "lost", "resurrected", "p50_s", "p99_s", "worst_s", "burst_s"),
    *("api_writes", "writes_per_node", "writes_of", "refused", "shard_lease_writes", "cpu_s_of", "full_lists", "lists"),
    *("rss_mb", "steady_per_s", "steady_p50_s", "steady_p99_s", "ceiling_writes_per_s", "over_ceiling"),
}


async def test_twenty_nodes_leave_and_return_and_one_line_of_json_tells_of_it() -> None:
    command = (sys.executable, "-m", "bench.memory", "--nodes", "20", "--replicas", "2", "--kill-one")
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stdout=pipe, stderr=pipe)
    output, words = await running.communicate()
    assert running.returncode == 0, words.decode()
    (line,) = output.decode().splitlines()
    told = json.loads(line)
    assert told.keys() >= FIELDS
    assert (told["restored"], told["lost"], told["resurrected"]) == (20, 0, 0)
    assert told["writes_per_node"] < 8  # 7, and what a lagging watch may add
    assert told["full_lists"] <= 2


def test_one_of_ten_nodes_has_a_label_changed_before_it_leaves_and_one_has_one_removed() -> None:
    members = [Member(number) for number in range(20)]
    changes = {member.number: member.last_change() for member in members}
    assert {number: change for number, change in changes.items() if change} == {
        3: {"rack": "moved-2"},
        7: {"team": None},
        13: {"rack": "moved-2"},
        17: {"team": None},
    }


def test_a_node_is_whole_with_its_marker_and_every_label_that_it_had_and_none_that_it_lost() -> None:
    member = Member(7)
    marked = {**member.labels, MARKER: "0"}
    assert member.is_whole(marked)
    assert not member.is_whole(member.labels)
    assert not member.is_whole({**marked, "rack": "another"})
    member.last_change()
    assert member.resurrected(marked) == ["team"]
    assert not member.is_whole(marked)
