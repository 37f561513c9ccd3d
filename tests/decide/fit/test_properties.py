"""Promises of the stage, on drawn clusters: what it keeps up by steps equals what a fresh look would find."""

from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.node import Node
from growth.api.pod import Pod
from growth.decide.fit import FilterRefusal, SimulatedCluster, fit
from tests.decide.stages import a_node, a_pod, a_snapshot, a_stage

Json = dict[str, Any]
APPS = ("web", "db")
KEYS = ("zone", "rack", "kubernetes.io/hostname")

Misfits = dict[str, FilterRefusal | None]


@st.composite
def _nodes(draw: st.DrawFn, prefix: str, at_least: int = 1) -> list[Node]:
    nodes: list[Node] = []
    for number in range(draw(st.integers(at_least, 4))):
        labels = {key: draw(st.sampled_from(("1", "2"))) for key in KEYS[:2] if draw(st.integers(0, 4))}
        taints = [{"key": "gpu", "effect": "NoSchedule"}] if not draw(st.integers(0, 4)) else []
        nodes.append(a_node(f"{prefix}{number}", cpu=draw(st.sampled_from("123")), labels=labels, taints=taints))
    return nodes


@st.composite
def _pods(draw: st.DrawFn, node_names: tuple[str, ...] = ("",)) -> Pod:
    selector = {"matchLabels": {"app": draw(st.sampled_from(APPS))}}
    key = draw(st.sampled_from(KEYS))
    term = {"topologyKey": key, "labelSelector": selector}
    spread = {
        "maxSkew": draw(st.integers(1, 2)),
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": selector,
        "minDomains": draw(st.sampled_from((None, 1, 2, 3))),
        "nodeTaintsPolicy": draw(st.sampled_from(("Honor", "Ignore"))),
    }
    required = {"requiredDuringSchedulingIgnoredDuringExecution": [term]}
    spec: Json = draw(
        st.sampled_from(
            (
                {},
                {"topologySpreadConstraints": [spread]},
                {"affinity": {"podAffinity": required}},
                {"affinity": {"podAntiAffinity": required}},
                {"containers": [{"name": "m", "ports": [{"containerPort": 1, "hostPort": 80}]}]},
                {"nodeSelector": {"zone": "1"}, "topologySpreadConstraints": [spread]},
            )
        )
    )
    return a_pod(
        labels={"app": draw(st.sampled_from(APPS))},
        node=draw(st.sampled_from(node_names)),
        requests={"cpu": draw(st.sampled_from(("0", "400m", "1")))},
        namespace=draw(st.sampled_from(("default", "default", "other"))),
        **spec,
    )


def _misfits(stage: SimulatedCluster, pods: list[Pod]) -> list[Misfits]:
    return [{name: fit(stage, pod, name) for name in sorted(stage.nodes)} for pod in pods]


def _moved(pod: Pod, node: str) -> Pod:
    return msgspec.structs.replace(pod, node_name=node)


@pytest.mark.long
@given(data=st.data())
def test_a_stage_that_was_changed_step_by_step_equals_one_that_is_made_anew(data: st.DataObject) -> None:
    nodes = data.draw(_nodes("n"))
    names = tuple(node.metadata.name for node in nodes)
    there = data.draw(st.lists(_pods(names), max_size=6))
    probes = data.draw(st.lists(_pods(), min_size=1, max_size=4))
    lost = data.draw(st.lists(_pods(("lost", "new0")), max_size=2))  # pods of nodes that we do not see
    stage = a_stage(nodes, [*there, *lost])
    if data.draw(st.booleans()):
        _misfits(stage, probes)  # so that every count is kept from here on, not begun when all is done
    left = {pod.metadata.uid: pod for pod in there}
    if data.draw(st.booleans()):
        (coming,) = data.draw(_nodes("new", 1).map(lambda some: some[:1]))
        stage.add_node(coming)
        nodes = [*nodes, coming]
    if data.draw(st.booleans()) and len(nodes) > 1:
        gone = nodes[0]
        stage.remove_node(gone.metadata.name)
        nodes = nodes[1:]
        left = {uid: pod for uid, pod in left.items() if pod.node_name != gone.metadata.name}
    for uid in data.draw(st.lists(st.sampled_from(sorted(left)), unique=True) if left else st.just([])):
        stage.remove(uid)
        del left[uid]
    for pod in data.draw(st.lists(_pods(), max_size=4)):
        where = data.draw(st.sampled_from([node.metadata.name for node in nodes]))
        stage.place(pod, where)
        left[pod.metadata.uid] = _moved(pod, where)
    assert _misfits(stage, probes) == _misfits(a_stage(nodes, left.values()), probes)


@pytest.mark.long
@given(data=st.data())
def test_going_back_to_a_mark_leaves_no_trace(data: st.DataObject) -> None:
    nodes = data.draw(_nodes("n", 2))
    names = tuple(node.metadata.name for node in nodes)
    stage = a_stage(nodes, data.draw(st.lists(_pods(names), max_size=6)))
    probes = data.draw(st.lists(_pods(), min_size=1, max_size=4))
    before = _misfits(stage if data.draw(st.booleans()) else SimulatedCluster.of(stage.snapshot), probes)
    mark = stage.mark()
    for pod in data.draw(st.lists(_pods(), max_size=4)):
        stage.place(pod, data.draw(st.sampled_from(sorted(stage.nodes))))
    stage.remove_node(names[0])
    stage.add_node(data.draw(_nodes("new"))[0])
    _misfits(stage, probes)
    stage.back_to(mark)
    assert _misfits(stage, probes) == before


@given(data=st.data())
def test_a_copy_answers_like_the_original(data: st.DataObject) -> None:
    nodes = data.draw(_nodes("n"))
    names = tuple(node.metadata.name for node in nodes)
    snapshot = a_snapshot(nodes, data.draw(st.lists(_pods(names), max_size=6)))
    probes = data.draw(st.lists(_pods(), min_size=1, max_size=3))
    assert _misfits(SimulatedCluster.of(snapshot), probes) == _misfits(SimulatedCluster.copy_of(snapshot), probes)


@given(data=st.data())
def test_pods_placed_where_they_fit_never_overbook_and_never_break_what_they_asked_for(data: st.DataObject) -> None:
    stage = a_stage(data.draw(_nodes("n", 2)))
    placed: list[tuple[Pod, str]] = []
    for pod in data.draw(st.lists(_pods(), max_size=8)):
        fitting = [name for name in sorted(stage.nodes) if fit(stage, pod, name) is None]
        if fitting:
            placed.append((pod, data.draw(st.sampled_from(fitting))))
            stage.place(*placed[-1])
    for site in stage.sites():
        assert all(free >= 0 for free in site.free.values())
    for pod, name in placed:
        affinity = pod.spec.affinity
        if affinity is None or affinity.pod_anti_affinity is None:
            continue
        (term,) = affinity.pod_anti_affinity.required
        value = stage.nodes[name].metadata.labels.get(term.topology_key)
        kept_out = [
            other
            for other, where in placed
            if other is not pod
            and other.metadata.namespace == pod.metadata.namespace
            and term.label_selector is not None
            and term.label_selector.matches(other.metadata.labels)
            and value is not None
            and stage.nodes[where].metadata.labels.get(term.topology_key) == value
        ]
        assert kept_out == []


@given(
    zones=st.lists(st.sampled_from("abc"), min_size=1, max_size=6),
    skew=st.integers(1, 3),
    choices=st.lists(st.integers(0, 100), max_size=20),
)
def test_whatever_order_they_come_in_pods_that_spread_stay_even(
    zones: list[str], skew: int, choices: list[int]
) -> None:
    constraint = {
        "maxSkew": skew,
        "topologyKey": "zone",
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": {"matchLabels": {"app": "web"}},
    }
    stage = a_stage([a_node(f"n{number}", labels={"zone": zone}) for number, zone in enumerate(zones)])
    pods = dict.fromkeys(zones, 0)
    for choice in choices:
        pod = a_pod(labels={"app": "web"}, topologySpreadConstraints=[constraint])
        fitting = [name for name in sorted(stage.nodes) if fit(stage, pod, name) is None]
        assert fitting  # the emptiest zone always takes one more
        name = fitting[choice % len(fitting)]
        stage.place(pod, name)
        pods[stage.nodes[name].metadata.labels["zone"]] += 1
        assert max(pods.values()) - min(pods.values()) <= skew
