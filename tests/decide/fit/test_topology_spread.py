"""PodTopologySpread: the skew, the domains, and who counts."""

from typing import Any

import msgspec
import pytest

from growth.api.pod import Pod
from growth.api.taints import closed, key_to
from tests.decide.fit.asking import where, why
from tests.decide.stages import a_node, a_pod, a_stage

Json = dict[str, Any]
WEB = {"app": "web"}


def over(key: str = "zone", skew: int = 1, selector: Json | None = None, **fields: object) -> Json:
    chosen = {"matchLabels": WEB} if selector is None else selector
    return {
        "maxSkew": skew,
        "topologyKey": key,
        "whenUnsatisfiable": "DoNotSchedule",
        "labelSelector": chosen,
        **fields,
    }


def web(*constraints: Json, node: str = "", labels: dict[str, str] | None = None, **spec: Any) -> Pod:  # noqa: ANN401
    return a_pod(node=node, labels=WEB if labels is None else labels, topologySpreadConstraints=constraints, **spec)


ZONES = [a_node("a1", labels={"zone": "a"}), a_node("a2", labels={"zone": "a"}), a_node("b1", labels={"zone": "b"})]
BARE = a_node("bare")


@pytest.mark.parametrize(
    ("there", "constraint", "expected"),
    [
        pytest.param([], over(), ["a1", "a2", "b1"], id="all domains are empty"),
        pytest.param(["a1"], over(), ["b1"], id="one pod is one more than none"),
        pytest.param(["a1"], over(skew=2), ["a1", "a2", "b1"], id="a skew of two allows it"),
        pytest.param(["a1", "b1"], over(), ["a1", "a2", "b1"], id="all have one"),
        pytest.param(["a1", "b1"], over(minDomains=3), [], id="fewer domains than wanted count as an empty one"),
        pytest.param(["a1", "b1"], over(minDomains=2), ["a1", "a2", "b1"], id="enough domains"),
        pytest.param(["a1"], over("kubernetes.io/hostname"), ["a2", "b1", "bare"], id="every node is a domain"),
        pytest.param(["a1"], over(selector={"matchLabels": {"app": "db"}}), ["a1", "a2", "b1"], id="others count"),
        pytest.param(["a1", "a1"], over(selector={}), ["a1", "a2", "b1"], id="an empty selector counts nobody"),
        pytest.param(["bare"], over(), ["a1", "a2", "b1"], id="pods on nodes without the label do not count"),
    ],
)
def test_a_domain_may_have_so_many_more_than_the_emptiest(
    there: list[str], constraint: Json, expected: list[str]
) -> None:
    stage = a_stage([*ZONES, BARE], [a_pod(node=node, labels=WEB) for node in there])
    assert where(stage, web(constraint)) == expected


def test_a_node_without_the_label_is_refused_for_good() -> None:
    expected = "PodTopologySpread!: spreads over zone, a label that the node does not have"
    assert why(a_stage([BARE]), web(over()), "bare") == expected


def test_the_reason_has_the_figures() -> None:
    stage = a_stage(ZONES, [a_pod(node="a1", labels=WEB)])
    says = "PodTopologySpread: zone=a would have 2 pods of its kind; the emptiest of 2 domains has 0 (maxSkew 1)"
    assert why(stage, web(over()), "a2") == says
    few = "zone=a would have 2 pods of its kind; minDomains is 3 and there are only 2 domains (maxSkew 1)"
    assert why(stage, web(over(minDomains=3)), "a2") == f"PodTopologySpread: {few}"


def test_a_pod_that_its_own_selector_does_not_select_adds_nothing() -> None:
    stage = a_stage(ZONES, [a_pod(node="a1", labels=WEB)])
    assert where(stage, web(over(), labels={"app": "db"})) == ["a1", "a2", "b1"]


def test_only_pods_of_the_namespace_count_and_none_that_leave() -> None:
    others = [a_pod(node="a1", labels=WEB, namespace="other"), a_pod(node="a1", labels=WEB, terminating=True)]
    assert where(a_stage(ZONES, others), web(over())) == ["a1", "a2", "b1"]


def test_nodes_that_the_pod_cannot_use_are_no_domains_unless_the_policy_says_so() -> None:
    there = [a_pod(node="a1", labels=WEB)]
    only_a: Json = {"nodeSelector": {"zone": "a"}}
    assert where(a_stage(ZONES, there), web(over(), **only_a)) == ["a1", "a2"]
    assert where(a_stage(ZONES, there), web(over(nodeAffinityPolicy="Ignore"), **only_a)) == []


def test_tainted_nodes_are_domains_unless_the_policy_says_otherwise() -> None:
    tainted = a_node("b1", labels={"zone": "b"}, taints=[{"key": "x", "effect": "NoSchedule"}])
    stage = a_stage([*ZONES[:2], tainted], [a_pod(node="a1", labels=WEB)])
    assert where(stage, web(over())) == []
    assert where(stage, web(over(nodeTaintsPolicy="Honor"))) == ["a1", "a2"]


def test_a_closed_node_is_a_domain_for_who_holds_its_key_even_if_taints_are_honoured() -> None:
    starting = a_node("b1", labels={"zone": "b"}, taints=[msgspec.to_builtins(closed("b1"))])
    stage = a_stage([*ZONES[:2], starting], [a_pod(node="a1", labels=WEB)])
    honouring, key = over(nodeTaintsPolicy="Honor"), msgspec.to_builtins(key_to("b1"))
    assert where(stage, web(honouring)) == ["a1", "a2"]
    assert where(stage, web(honouring, tolerations=[key])) == ["b1"]


def test_a_node_counts_only_if_it_has_the_keys_of_all_constraints() -> None:
    nodes = [
        a_node("a1", labels={"zone": "a", "rack": "1"}),
        a_node("b1", labels={"zone": "b", "rack": "2"}),
        a_node("c1", labels={"zone": "c"}),
    ]
    stage = a_stage(nodes, [a_pod(node="a1", labels=WEB), a_pod(node="b1", labels=WEB)])
    # Were c1 a domain of zone, the emptiest would have no pod and all others one too many.
    assert where(stage, web(over("zone"), over("rack"))) == ["a1", "b1"]


def test_match_label_keys_narrow_the_selector_to_the_pods_own_values() -> None:
    there = [a_pod(node="a1", labels={**WEB, "version": "1"})]
    constraint = over(matchLabelKeys=["version", "no-such-label"])
    assert where(a_stage(ZONES, there), web(constraint, labels={**WEB, "version": "2"})) == ["a1", "a2", "b1"]
    assert where(a_stage(ZONES, there), web(constraint, labels={**WEB, "version": "1"})) == ["b1"]


def test_match_label_keys_that_contradict_the_selector_select_nobody() -> None:
    there = [a_pod(node="a1", labels=WEB)]
    constraint = over(matchLabelKeys=["app"])
    assert where(a_stage(ZONES, there), web(constraint, labels={"app": "db"})) == ["a1", "a2", "b1"]


def test_schedule_anyway_never_blocks() -> None:
    stage = a_stage(ZONES, [a_pod(node="a1", labels=WEB)])
    assert where(stage, web(over(whenUnsatisfiable="ScheduleAnyway"))) == ["a1", "a2", "b1"]


def test_counts_follow_every_change_of_the_stage() -> None:
    stage = a_stage(ZONES)
    first, second = web(over()), web(over())
    assert where(stage, second) == ["a1", "a2", "b1"]
    stage.place(first, "a1")
    assert where(stage, second) == ["b1"]
    mark = stage.mark()
    stage.place(second, "b1")
    third = web(over())
    assert where(stage, third) == ["a1", "a2", "b1"]
    stage.add_node(a_node("c1", labels={"zone": "c"}))
    assert where(stage, third) == ["c1"]
    stage.back_to(mark)
    assert where(stage, third) == ["b1"]
    stage.remove_node("b1")
    assert where(stage, third) == ["a1", "a2"]


@pytest.mark.parametrize(
    ("zones", "namespace", "fits"),
    [
        pytest.param(("a", "b"), "default", False, id="there it counts, although whoever is there does not"),
        pytest.param(("a",), "default", True, id="in the only domain it raises the minimum, too"),
        pytest.param(("a", "b"), "other", True, id="in another namespace it does not count"),
    ],
)
def test_a_selector_that_asks_for_nothing_counts_only_who_is_nominated(
    zones: tuple[str, ...], namespace: str, *, fits: bool
) -> None:
    nodes = [a_node(f"node-{zone}", labels={"zone": zone}) for zone in zones]
    there = [a_pod(node="node-a", labels={"app": "there"}) for _ in range(3)]
    nominated = a_pod(namespace=namespace, status={"nominatedNodeName": "node-a"})
    pod = web(over(selector={}))
    stage = a_stage(nodes, [*there, nominated, pod])
    assert (why(stage, pod, "node-a") == "") is fits
