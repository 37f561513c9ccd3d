"""The cluster at a glance."""

from datetime import UTC, datetime

from growth.cli.reports.cluster_summary import ResourceUse, summary_of
from growth.observe.cache import ClusterCache
from tests.builders import a_node, a_pod
from tests.observe.telling import Teller

NOW = datetime(2026, 11, 15, tzinfo=UTC)


def test_nodes_are_grouped_by_pool_and_type_and_filled_by_what_pods_ask_for() -> None:
    world = ClusterCache()
    teller = Teller(world)
    for number, ready in enumerate([True, True, False]):
        labels = {"growth.dev/pool": "default", "node.kubernetes.io/instance-type": "cx33"}
        teller.node(a_node(f"n-{number}", ready=ready, labels=labels, allocatable={"cpu": "4", "pods": "10"}))
    teller.pod(a_pod("p", node="n-0", requests={"cpu": "3"}))
    summary = summary_of(world.snapshot(NOW))
    (group,) = summary.groups
    assert (group.pool, group.instance_type, group.ready, group.nodes) == ("default", "cx33", 2, 3)
    assert group.cpu_millis == ResourceUse(used=3000, total=12_000)
    assert group.pods == ResourceUse(used=1, total=30)
    assert (summary.nodes, summary.ready, summary.pods, summary.waiting) == (3, 2, 1, 0)


def test_waiting_pods_are_grouped_by_owner_and_shape_the_largest_group_first() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_pod("lonely", node="", template="batch", requests={"cpu": "8", "memory": "1Gi"}))
    for number in range(3):
        teller.pod(a_pod(f"web-{number}", node="", template="web", requests={"cpu": "500m", "memory": "2Gi"}))
    groups = summary_of(world.snapshot(NOW)).waiting_groups
    assert [(group.pods, group.cpu_millis, group.memory_bytes) for group in groups] == [
        (3, 500, 2 << 30),
        (1, 8000, 1 << 30),
    ]
    assert groups[0].owner == "ReplicaSet web-7d4b9c6f5"


def test_an_empty_cluster_is_no_mistake() -> None:
    summary = summary_of(ClusterCache().snapshot(NOW))
    assert (summary.nodes, summary.groups, summary.waiting_groups) == (0, (), ())
