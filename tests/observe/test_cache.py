"""The World: every index right after each single change, in whatever order kinds are told."""

import json
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st

from growth.api.annotations import DRAIN
from growth.api.change import Change, ChangeType
from growth.api.decoding import Reader
from growth.api.growth_kinds import NODE_POOLS, NODE_REMOVAL_REQUESTS, NODE_REQUESTS
from growth.api.interning import InternTables
from growth.api.kinds import NAMESPACES, NODES, PODS
from growth.api.node import Node
from growth.api.offering import POOL
from growth.api.pod_classification import is_work
from growth.api.taints import has_traces
from growth.observe.cache import ClusterCache
from growth.observe.nodes_by_template import NodeTemplateKey, make_of
from tests.builders import BORN, Json, a_node, a_pod, uid_of
from tests.observe.telling import Teller

NOW = datetime(2026, 11, 15, tzinfo=UTC)
UNTRIED: Json = {"conditions": []}

Family = tuple[str, tuple[tuple[str, str], ...], int, bool]


def test_a_bound_pod_takes_room_and_gives_it_back() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.node(a_node("n", allocatable={"cpu": "4", "memory": "16Gi", "pods": "110"}))
    pod = teller.pod(a_pod("p", node="n", requests={"cpu": "1500m", "memory": "1Gi"}))
    assert world.room.free("n")["cpu"] == 2500
    assert world.room.free("n")["pods"] == 109
    teller.pod_gone(pod.metadata.uid)
    assert world.room.free("n")["cpu"] == 4000
    assert not world.pods_by_node


def test_a_pod_seen_before_its_node_counts_as_soon_as_the_node_is_seen() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_pod("p", node="n", requests={"cpu": "1"}))
    assert world.room.free("n")["cpu"] == -1000
    teller.node(a_node("n", allocatable={"cpu": "4"}))
    assert world.room.free("n")["cpu"] == 3000


def test_a_pod_outlives_its_node_in_the_picture_as_it_does_on_the_server() -> None:
    world = ClusterCache()
    teller = Teller(world)
    node = teller.node(a_node("n"))
    pod = teller.pod(a_pod("p", node="n"))
    teller.node_gone(node.metadata.uid)
    assert "n" not in world.nodes
    assert pod.metadata.uid in world.pods_by_node["n"]
    teller.pod_gone(pod.metadata.uid)
    assert "n" not in world.room.rows


def test_a_waiting_pod_is_bound() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_pod("p", node=""))
    assert len(world.waiting) == 1
    teller.pod(a_pod("p", node="n", version=2))
    assert not world.waiting
    assert len(world.pods_by_node["n"]) == 1


def test_a_finished_pod_holds_nothing() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.node(a_node("n", allocatable={"cpu": "4"}))
    teller.pod(a_pod("p", node="n", requests={"cpu": "1"}))
    teller.pod(a_pod("p", node="n", requests={"cpu": "1"}, version=2, phase="Succeeded"))
    assert world.room.free("n")["cpu"] == 4000
    assert not world.pods_by_node


def test_a_node_that_was_made_anew_under_its_name_survives_the_end_of_the_old_one() -> None:
    world = ClusterCache()
    teller = Teller(world)
    old = teller.node(a_node("n", uid="old"))
    teller.node(a_node("n", uid="new", version=2))
    teller.node_gone(old.metadata.uid)
    assert world.nodes["n"].metadata.uid == "new"


def test_a_resized_pod_gives_back_what_it_took() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.node(a_node("n", allocatable={"cpu": "4"}))
    resizing = {"containerStatuses": [{"name": "app", "resources": {"requests": {"cpu": "2"}}}]}
    pod = teller.pod(a_pod("p", node="n", requests={"cpu": "1"}, status=resizing))
    assert world.room.free("n")["cpu"] == 2000
    teller.pod(a_pod("p", node="n", requests={"cpu": "1"}, version=2))
    assert world.room.free("n")["cpu"] == 3000
    teller.pod_gone(pod.metadata.uid)
    assert world.room.free("n")["cpu"] == 4000


def test_siblings_share_a_shape_and_the_last_one_takes_it_along() -> None:
    world = ClusterCache()
    teller = Teller(world)
    pods = [teller.pod(a_pod(f"p-{number}", template="web")) for number in range(3)]
    assert len(world.shapes) == 1
    assert world.shapes.of(pods[0].spec).pods == 3
    for pod in pods:
        teller.pod_gone(pod.metadata.uid)
    assert len(world.shapes) == 0


def test_pods_that_no_selector_tells_apart_are_counted_together() -> None:
    world = ClusterCache()
    teller = Teller(world)
    pods = [teller.pod(a_pod(f"p-{number}", node=f"n-{number % 2}")) for number in range(3)]
    teller.pod(a_pod("waits", node=""))
    ((_, family),) = world.families.items()
    assert family.by_node == {"n-0": 2, "n-1": 1}
    copy = world.families.copy()
    for pod in pods:
        teller.pod_gone(pod.metadata.uid)
    assert not list(world.families.items())
    assert [family.by_node for _, family in copy.items()] == [{"n-0": 2, "n-1": 1}]


def test_a_pod_whose_labels_change_or_that_must_go_joins_another_family() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_pod("p", node="n", labels={"app": "web"}))
    teller.pod(a_pod("p", node="n", labels={"app": "db"}, version=2))
    assert [dict(family.labels) for _, family in world.families.items()] == [{"app": "db"}]
    body = a_pod("p", node="n", labels={"app": "db"}, version=3)
    body["metadata"]["deletionTimestamp"] = BORN
    teller.pod(body)
    assert [family.is_terminating for _, family in world.families.items()] == [True]


def test_a_copy_of_the_room_stays_as_it_was() -> None:
    world = ClusterCache()
    teller = Teller(world)
    gone = teller.node(a_node("gone", allocatable={"cpu": "1"}))
    teller.node(a_node("n", allocatable={"cpu": "4"}))
    copy = world.room.copy()
    teller.node_gone(gone.metadata.uid)
    teller.pod(a_pod("p", node="n", requests={"cpu": "1", "example.com/fpga": "1"}))
    assert {name: copy.free(name)["cpu"] for name in copy.rows} == {"gone": 1000, "n": 4000}
    assert "example.com/fpga" not in copy.resources


def test_a_row_that_became_free_is_used_again_and_starts_at_zero() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.node_gone(teller.node(a_node("first", allocatable={"example.com/fpga": "2"})).metadata.uid)
    teller.node(a_node("second"))
    assert world.room.free("second")["example.com/fpga"] == 0
    assert len(world.room.column("cpu")) == 1


def test_work_is_counted_by_node_and_what_is_on_every_node_anyway_is_none() -> None:
    world = ClusterCache()
    teller = Teller(world)
    web = teller.pod(a_pod("web", node="n"))
    daemon = a_pod("agent", node="n")
    daemon["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
    teller.pod(daemon)
    assert world.snapshot(NOW).work == {"n": 1}
    teller.pod(a_pod("web", node="n", phase="Succeeded", version=2))
    assert world.snapshot(NOW).work == {}
    teller.pod(a_pod("web", node="m", version=3))
    teller.pod_gone(web.metadata.uid)
    assert world.snapshot(NOW).work == {}


def test_a_pod_that_becomes_a_daemons_is_no_work_any_more() -> None:
    world = ClusterCache()
    teller = Teller(world)
    teller.pod(a_pod("web", node="n"))
    adopted = a_pod("web", node="n", version=2)
    adopted["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
    teller.pod(adopted)
    assert world.snapshot(NOW).work == {}


def test_listeners_count_what_they_hear() -> None:
    world = ClusterCache()
    namespace = Reader(NAMESPACES, InternTables()).object(b'{"metadata":{"name":"shop","uid":"u"}}')
    world.listeners()[NAMESPACES]([Change(ChangeType.ADDED, namespace, None)])
    assert world.changes_heard == 1
    assert world.snapshot(NOW).table(NAMESPACES)["", "shop"] is namespace


def test_every_kind_that_the_world_wants_has_a_listener() -> None:
    assert {PODS, NODES, NAMESPACES} <= set(ClusterCache().listeners())


def test_our_own_kinds_are_kept_by_name() -> None:
    world = ClusterCache()
    pool = Reader(NODE_POOLS, InternTables()).object(b'{"metadata":{"name":"default","uid":"u"},"spec":{}}')
    world.listeners()[NODE_POOLS]([Change(ChangeType.ADDED, pool, None)])
    snapshot = world.snapshot(NOW)
    assert snapshot.table(NODE_POOLS)["", "default"] is pool
    assert len(snapshot.table(NODE_REQUESTS)) == len(snapshot.table(NODE_REMOVAL_REQUESTS)) == 0


happenings = st.lists(
    st.tuples(
        st.sampled_from(["pod", "node", "pod gone", "node gone"]),
        st.integers(0, 4),
        st.sampled_from(["", "n-0", "n-1", "n-2"]),
        st.sampled_from(["100m", "1", "1500m"]),
        st.sampled_from(["", "Succeeded"]),
        st.sampled_from(["web", "db"]),
        st.booleans(),
    ),
    max_size=40,
)


@given(happenings)
def test_indexes_kept_change_by_change_equal_those_built_at_once(
    history: list[tuple[str, int, str, str, str, str, bool]],
) -> None:
    world = ClusterCache()
    pods: dict[str, dict[str, object]] = {}
    nodes: dict[str, dict[str, object]] = {}
    teller = Teller(world)
    for version, (what, number, node, cpu, phase, app, leaving) in enumerate(history, start=1):
        match what:
            case "pod":
                name = f"p-{number}"
                labels = {"app": app}
                untried = UNTRIED if app == "db" and not node else None
                body = a_pod(
                    name, node=node, requests={"cpu": cpu}, phase=phase, version=version, labels=labels, status=untried
                )
                if cpu == "100m":
                    body["metadata"]["ownerReferences"][0]["kind"] = "DaemonSet"
                elif cpu == "1":
                    body["metadata"]["annotations"]["kubernetes.io/config.mirror"] = "x"
                if leaving:
                    body["metadata"]["deletionTimestamp"] = BORN
                pods[body["metadata"]["uid"]] = body
                teller.pod(body)
            case "node":
                body = a_node(f"n-{number}", allocatable={"cpu": cpu}, version=version, labels={POOL: app})
                if cpu == "1":
                    body["metadata"]["annotations"][DRAIN] = "a person wants it"
                if leaving:
                    body["metadata"]["annotations"]["growth.dev/scale-down-at"] = BORN
                nodes[body["metadata"]["uid"]] = body
                teller.node(body)
            case "pod gone":
                uid = uid_of("pod", "default", f"p-{number}")
                if pods.pop(uid, None):
                    teller.pod_gone(uid)
            case _:
                uid = uid_of("node", f"n-{number}")
                if nodes.pop(uid, None):
                    teller.node_gone(uid)
    assert picture(world) == picture(built_at_once(pods, nodes))
    assert world.snapshot(NOW).work == work_counted_anew(world)
    assert world.snapshot(NOW).untried == {uid: pod for uid, pod in world.waiting.items() if pod.is_untried}
    assert world.snapshot(NOW).to_go == {name: node for name, node in world.nodes.items() if has_traces(node)}
    assert families_of(world) == families_counted_anew(world)
    assert dict(world.snapshot(NOW).makes.items()) == makes_put_together_anew(world)
    of_web = [name for name, node in world.nodes.items() if node.metadata.labels[POOL] == "web"]
    assert {node.metadata.name for node in world.makes.of_pool("web")} == set(of_web)


def built_at_once(pods: dict[str, dict[str, object]], nodes: dict[str, dict[str, object]]) -> ClusterCache:
    world = ClusterCache()
    teller = Teller(world)
    for body in nodes.values():
        teller.node(body)
    for body in pods.values():
        teller.pod(body)
    return world


def work_counted_anew(world: ClusterCache) -> dict[str, int]:
    counts = {node: sum(map(is_work, pods.values())) for node, pods in world.pods_by_node.items()}
    return {node: count for node, count in counts.items() if count}


def makes_put_together_anew(world: ClusterCache) -> dict[NodeTemplateKey, dict[str, Node]]:
    found: dict[NodeTemplateKey, dict[str, Node]] = {}
    for name, node in world.nodes.items():
        found.setdefault(make_of(node), {})[name] = node
    return found


def families_of(world: ClusterCache) -> dict[Family, dict[str, int]]:
    return {
        (family.namespace, tuple(family.labels.items()), id(family.spec), family.is_terminating): dict(family.by_node)
        for _, family in world.snapshot(NOW).families.items()
    }


def families_counted_anew(world: ClusterCache) -> dict[Family, dict[str, int]]:
    """From the pods on nodes, by what their labels say instead of by which object they are."""
    found: dict[Family, dict[str, int]] = {}
    for node, pods in world.pods_by_node.items():
        for pod in pods.values():
            meta = pod.metadata
            family = (meta.namespace, tuple(meta.labels.items()), id(pod.spec), meta.deletion_timestamp is not None)
            counts = found.setdefault(family, {})
            counts[node] = counts.get(node, 0) + 1
    return found


def picture(world: ClusterCache) -> str:
    """Everything that a World shows, as text that can be compared. Resources that are all zero say nothing."""
    free = {name: {key: n for key, n in world.room.free(name).items() if n} for name in sorted(world.room.rows)}
    by_node = {name: sorted(here) for name, here in sorted(world.pods_by_node.items())}
    snapshot = world.snapshot(NOW)
    counts = [len(world.shapes), snapshot.pod_count]
    return json.dumps([free, by_node, sorted(world.waiting), sorted(world.nodes), counts], sort_keys=True)
