"""What failover sends and writes is what docs/failover-operations.md lists: the bench's scenario, in small."""

import json
import re
from collections import Counter
from functools import cache
from typing import Any, Final

import pytest

from bench import failover_cost
from bench.failover_cost import more_than
from bench.failover_cost_memory import deep_size, leases_cost
from tests.repository import page_text

PAGE: Final = page_text("failover-operations")
PODS: Final = 2


@cache
def measured() -> dict[str, Any]:
    return failover_cost.measure(6, PODS, minutes=10, seed=1)


def stated_requests() -> dict[str, int]:
    """The page's table of requests for one dead node, with the number of pods filled in."""
    rows = re.findall(r"^\| `((?:patch|delete|create) [\w/]+)` \| ([n\d +]+) \|", PAGE, re.MULTILINE)
    return {request: sum(PODS if term == "n" else int(term) for term in how.split(" + ")) for request, how in rows}


def test_requests_for_a_dead_node_are_those_of_the_page() -> None:
    assert measured()["extra_requests"] == stated_requests()


def sent(mode: str, window: str) -> Counter[str]:
    requests: dict[str, int] = measured()[mode][window]["requests"]
    return Counter(requests)


@pytest.mark.parametrize("window", ["at_rest", "out_of_service"])
def test_nothing_is_sent_while_nothing_happens(window: str) -> None:
    assert list(sent("act", window)) == ["patch leases"]
    assert sent("off", window) == sent("observe", window) == sent("act", window)


def test_a_node_that_comes_back_costs_what_the_page_says() -> None:
    assert more_than(sent("act", "return"), sent("off", "return")) == {
        "create events": 1,
        "patch configmaps": 2,
        "patch nodes": 1,
    }
    assert "one `patch nodes`, one `create events`, two `patch configmaps`" in PAGE


def test_observe_writes_no_node_and_no_pod() -> None:
    assert more_than(sent("observe", "failover"), sent("off", "failover")) == {
        "create events": 1,
        "patch configmaps": 3,
    }
    assert "`observe`** sends 3 `patch configmaps` and one `create events`" in PAGE


def test_sizes_are_typical_ones_of_the_page() -> None:
    """The name of a node differs in length by a few characters from run to run of other sizes."""
    stated = re.search(r"^\| annotation `growth.dev/out-of-service` of a Node \| (\d+) \|", PAGE, re.MULTILINE)
    assert stated is not None
    assert abs(measured()["annotation_bytes"] - int(stated[1])) < 20
    assert 1_000 < measured()["entry_bytes"] < 2_000


def test_failover_decides_and_remembers_only_where_it_is_on() -> None:
    found = measured()
    assert found["off"]["failover"]["carried_bytes"] < found["act"]["failover"]["carried_bytes"]
    assert found["off"]["at_rest"]["passes"] < found["act"]["at_rest"]["passes"]
    assert found["act"]["failover"]["cpu_ms_per_pass"] > 0
    assert found["act"]["at_rest"]["lease_lines"] > 6 * 60


def test_figures_are_one_line_of_json() -> None:
    assert json.loads(json.dumps(measured())) == measured()


def test_leases_cost_memory_by_the_node() -> None:
    few, many = leases_cost(100), leases_cost(200)
    assert 1.5 < many["kib_for_leases"] / few["kib_for_leases"] < 3


def test_size_counts_what_is_shared_once() -> None:
    shared = "x" * 1_000
    assert deep_size((shared, shared)) < 1_500 < deep_size((shared, "y" * 1_000))
