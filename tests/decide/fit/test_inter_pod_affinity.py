"""InterPodAffinity: near, far, the first of a group, and what the pods that are there say about it."""

from typing import Any

import pytest

from tests.decide.fit.asking import where, why
from tests.decide.stages import a_namespace, a_node, a_pod, a_stage

Json = dict[str, Any]
WEB, DB = {"app": "web"}, {"app": "db"}
NODES = [
    a_node("a1", labels={"zone": "a"}),
    a_node("a2", labels={"zone": "a"}),
    a_node("b1", labels={"zone": "b"}),
    a_node("bare"),
]
SPACES = [a_namespace("default", team="x"), a_namespace("other", team="y")]
ANYWHERE = ["a1", "a2", "b1", "bare"]


def term(labels: dict[str, str] | None = None, key: str = "zone", **fields: object) -> Json:
    selector = {} if labels is None else {"labelSelector": {"matchLabels": labels}}
    return {"topologyKey": key, **selector, **fields}


def near(*terms: Json) -> Json:
    return {"podAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


def far(*terms: Json) -> Json:
    return {"podAntiAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": list(terms)}}


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term(DB)], ["a1", "a2"], id="the zone of such a pod"),
        pytest.param([term(DB, "kubernetes.io/hostname")], ["a1"], id="the node of such a pod"),
        pytest.param([term({"app": "none"})], [], id="there is none"),
        pytest.param([term()], [], id="no selector means no pod"),
        pytest.param([term({})], ["a1", "a2", "b1"], id="an empty one means every pod"),
        pytest.param(
            [term(DB), term({"tier": "1"}, "kubernetes.io/hostname")], ["a1"], id="one pod matches both terms"
        ),
        pytest.param([term(DB), term(WEB)], [], id="no pod matches both terms"),
        pytest.param([term(DB, namespaces=["other"])], ["b1"], id="another namespace"),
        pytest.param([term(DB, namespaceSelector={})], ["a1", "a2", "b1"], id="all namespaces"),
        pytest.param([term(DB, namespaceSelector={"matchLabels": {"team": "y"}})], ["b1"], id="selected namespaces"),
        pytest.param(
            [term(DB, namespaces=["default"], namespaceSelector={"matchLabels": {"team": "y"}})],
            ["a1", "a2", "b1"],
            id="named and selected ones together",
        ),
    ],
)
def test_a_pod_goes_where_the_pods_are_that_it_needs(terms: list[Json], expected: list[str]) -> None:
    there = [
        a_pod(node="a1", labels={**DB, "tier": "1"}),
        a_pod(node="b1", labels=DB, namespace="other"),
        a_pod(node="b1", labels=WEB),
    ]
    assert where(a_stage(NODES, there, SPACES), a_pod(labels={"app": "it"}, affinity=near(*terms))) == expected


def test_the_first_of_a_group_may_go_anywhere_where_the_key_is() -> None:
    assert where(a_stage(NODES), a_pod(labels=WEB, affinity=near(term(WEB)))) == ["a1", "a2", "b1"]
    assert where(a_stage(NODES), a_pod(labels=DB, affinity=near(term(WEB)))) == []


def test_pods_on_nodes_without_the_key_do_not_make_somebody_the_second() -> None:
    stage = a_stage(NODES, [a_pod(node="bare", labels=WEB)])
    assert where(stage, a_pod(labels=WEB, affinity=near(term(WEB)))) == ["a1", "a2", "b1"]


def test_the_second_goes_to_the_first() -> None:
    stage = a_stage(NODES)
    first, second = (a_pod(labels=WEB, affinity=near(term(WEB))) for _ in range(2))
    assert where(stage, second) == ["a1", "a2", "b1"]
    stage.place(first, "b1")
    assert where(stage, second) == ["b1"]


def test_different_pods_may_satisfy_different_keys() -> None:
    nodes = [a_node("n1", labels={"zone": "a", "rack": "1"}), a_node("n2", labels={"zone": "a", "rack": "2"})]
    far_ones = [a_node("n3", labels={"zone": "b", "rack": "1"})]
    stage = a_stage([*nodes, *far_ones], [a_pod(node="n1", labels=DB), a_pod(node="n3", labels=DB)])
    assert where(stage, a_pod(affinity=near(term(DB), term(DB, "rack")))) == ["n1", "n3"]


@pytest.mark.parametrize(
    ("terms", "expected"),
    [
        pytest.param([term(DB)], ["b1", "bare"], id="any zone but that one, and nodes without"),
        pytest.param([term(DB, "kubernetes.io/hostname")], ["a2", "b1", "bare"], id="any node but that one"),
        pytest.param([term(DB), term(WEB)], ["bare"], id="any term keeps away"),
        pytest.param([term()], ANYWHERE, id="no selector means no pod"),
        pytest.param([term(DB, namespaces=["other"])], ANYWHERE, id="another namespace"),
    ],
)
def test_a_pod_stays_away_from_others(terms: list[Json], expected: list[str]) -> None:
    there = [a_pod(node="a1", labels=DB), a_pod(node="b1", labels=WEB)]
    assert where(a_stage(NODES, there, SPACES), a_pod(affinity=far(*terms))) == expected


@pytest.mark.parametrize(
    ("their_term", "expected"),
    [
        pytest.param(term(WEB), ["b1", "bare"], id="they mean us"),
        pytest.param(term(DB), ANYWHERE, id="they mean others"),
        pytest.param(term(WEB, namespaces=["other"]), ANYWHERE, id="they mean others elsewhere"),
        pytest.param(term(WEB, namespaceSelector={}), ["b1", "bare"], id="they mean everybody"),
        pytest.param(term(WEB, namespaceSelector={"matchLabels": {"team": "x"}}), ["b1", "bare"], id="our team"),
        pytest.param(term(WEB, namespaceSelector={"matchLabels": {"team": "y"}}), ANYWHERE, id="another team"),
        pytest.param(
            term(WEB, namespaceSelector={"matchExpressions": [{"key": "team", "operator": "NotIn", "values": ["x"]}]}),
            ANYWHERE,
            id="every team but ours",
        ),
    ],
)
def test_pods_that_are_there_keep_others_away(their_term: Json, expected: list[str]) -> None:
    stage = a_stage(NODES, [a_pod(node="a1", labels=DB, affinity=far(their_term))], SPACES)
    assert where(stage, a_pod(labels=WEB)) == expected


def test_terminating_pods_still_attract_and_repel() -> None:
    going = a_pod(node="a1", labels=DB, affinity=far(term(WEB)), terminating=True)
    assert where(a_stage(NODES, [going]), a_pod(labels=WEB)) == ["b1", "bare"]
    assert where(a_stage(NODES, [going]), a_pod(affinity=near(term(DB)))) == ["a1", "a2"]


def test_wishes_never_block() -> None:
    preference = [{"weight": 1, "podAffinityTerm": term(DB)}]
    affinity = {
        "podAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preference},
        "podAntiAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preference},
    }
    shy = a_pod(node="a1", labels=DB, affinity=affinity)
    assert where(a_stage(NODES, [shy]), a_pod(labels=DB, affinity=affinity)) == ANYWHERE


def test_a_pod_that_is_placed_begins_to_keep_others_away() -> None:
    stage = a_stage(NODES)
    plain = a_pod(labels=WEB)
    assert where(stage, plain) == ANYWHERE
    shy = a_pod(labels=DB, affinity=far(term(WEB)))
    stage.place(shy, "a1")
    assert where(stage, plain) == ["b1", "bare"]
    stage.remove(shy.metadata.uid)
    assert where(stage, plain) == ANYWHERE


def test_the_reasons_say_who_and_where() -> None:
    stage = a_stage(NODES, [a_pod(node="a1", labels=DB, affinity=far(term(WEB)))])
    says = {
        why(stage, a_pod(affinity=near(term(DB))), "b1"),
        why(stage, a_pod(affinity=near(term(DB))), "bare"),
        why(stage, a_pod(affinity=far(term(DB))), "a2"),
        why(stage, a_pod(labels=WEB), "a2"),
    }
    assert says == {
        "InterPodAffinity!: needs certain pods near; none of them is at zone=b",
        "InterPodAffinity!: needs certain pods near by zone, a label that the node does not have",
        "InterPodAffinity: must be away from a pod at zone=a",
        "InterPodAffinity: a pod at zone=a keeps such pods away by its own anti-affinity",
    }
