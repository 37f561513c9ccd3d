"""User data: what is put in, what is refused, and that nothing breaks out."""

import json
import shlex

import msgspec
import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from growth.api.labels import is_label_value
from growth.api.machine import MachineRequest
from growth.api.offering import Offering
from growth.api.tolerations import NO_EXECUTE, NO_SCHEDULE, Taint
from growth.cloud.errors import Invalid
from growth.cloud.hetzner.user_data import MOST_BYTES, PLACEHOLDERS, MachineStart, placeholders_in, rendered, start_of

WHERE = "Secret growth-system/growth-user-data, key kubeadm"
CAX11 = Offering("hetzner-cax11-fsn1", "hetzner", "cax11", "fsn1", 0.01, arch="arm64")
REQUEST = MachineRequest(
    "web-1",
    CAX11,
    "web",
    labels={"disk": "ssd"},
    taints=(Taint("dedicated", "shop", NO_EXECUTE), Taint("x", "", NO_SCHEDULE)),
)
START = MachineStart(
    name="web-1",
    pool="web",
    cluster="shop",
    labels={"disk": "ssd", "team": ""},
    taints=(Taint("dedicated", "shop", NO_EXECUTE), Taint("growth.dev/starting", "web-1", NO_SCHEDULE)),
    join_token="abcdef.0123456789abcdef",
)


@pytest.mark.parametrize(
    ("placeholder", "told"),
    [
        ("__GROWTH_NODE_NAME__", "web-1"),
        ("__GROWTH_POOL__", "web"),
        ("__GROWTH_CLUSTER__", "shop"),
        ("__GROWTH_LABELS__", "disk=ssd,team="),
        ("__GROWTH_LABELS_LIST__", '["disk=ssd", "team="]'),
        ("__GROWTH_LABELS_MAP__", '{"disk": "ssd", "team": ""}'),
        ("__GROWTH_TAINTS__", "dedicated=shop:NoExecute,growth.dev/starting=web-1:NoSchedule"),
        ("__GROWTH_TAINTS_LIST__", '["dedicated=shop:NoExecute", "growth.dev/starting=web-1:NoSchedule"]'),
        ("__GROWTH_TAINTS_MAP__", '{"dedicated": "shop:NoExecute", "growth.dev/starting": "web-1:NoSchedule"}'),
        ("__GROWTH_JOIN_TOKEN__", "abcdef.0123456789abcdef"),
    ],
)
def test_each_placeholder_becomes_its_value(placeholder: str, told: str) -> None:
    assert rendered(f"a {placeholder}b\n{placeholder}{placeholder}", START, WHERE) == f"a {told}b\n{told}{told}"


def test_every_placeholder_is_in_the_table_above() -> None:
    marks = test_each_placeholder_becomes_its_value.pytestmark  # type: ignore[attr-defined]
    assert {row[0] for row in marks[0].args[1]} == set(PLACEHOLDERS)


def test_a_text_without_placeholders_stays_as_it_is() -> None:
    text = "#!/bin/sh\r\necho growth __ $__GROW 'ü'\n"
    assert rendered(text, START, WHERE) == text


def test_a_taint_without_a_value_is_written_as_kubelets_read_it() -> None:
    start = msgspec.structs.replace(START, taints=(Taint("x", "", NO_SCHEDULE),))
    text = "__GROWTH_TAINTS__ __GROWTH_TAINTS_MAP__"
    assert rendered(text, start, WHERE) == 'x:NoSchedule {"x": "NoSchedule"}'


def test_a_label_that_looks_like_a_placeholder_is_only_a_label() -> None:
    start = msgspec.structs.replace(START, labels={"a": "b__GROWTH_JOIN_TOKEN__c"})
    assert is_label_value(start.labels["a"])
    assert rendered("__GROWTH_LABELS__", start, WHERE) == "a=b__GROWTH_JOIN_TOKEN__c"


def test_the_node_is_told_all_that_a_kubelet_may_be_told() -> None:
    labels = {"disk": "ssd", "node-role.kubernetes.io/worker": "", "app.k8s.io/x": "y", "kubelet.kubernetes.io/a": "b"}
    start = start_of(msgspec.structs.replace(REQUEST, labels=labels), "shop")
    assert start.labels == {
        "disk": "ssd",
        "growth.dev/capacity-type": "on-demand",
        "growth.dev/offering": "hetzner-cax11-fsn1",
        "growth.dev/pool": "web",
        "kubelet.kubernetes.io/a": "b",
        "node.kubernetes.io/instance-type": "cax11",
        "topology.kubernetes.io/region": "fsn1",
        "topology.kubernetes.io/zone": "fsn1",
    }
    assert start.taints[-1] == Taint("growth.dev/starting", "web-1", NO_SCHEDULE)
    assert start.taints[:-1] == REQUEST.taints


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("__GROWTH_LABEL__", "line 1: there is no placeholder __GROWTH_LABEL__: the closest is __GROWTH_LABELS__"),
        ("\n\na __growth_pool__", "line 3: there is no placeholder __growth_pool__: the closest is __GROWTH_POOL__"),
        (
            "__GROWTH_QQQQQQQQQQQQQQ__",
            "there is no placeholder __GROWTH_QQQQQQQQQQQQQQ__: expected one of __GROWTH_NODE",
        ),
        ("\n__GROWTH_LABELS_ hush", "line 2: __GROWTH_ begins a placeholder that has no end: expected one of"),
        ("__GROWTH___", "__GROWTH_ begins a placeholder that has no end"),
    ],
)
def test_what_is_misspelled_never_reaches_a_server(text: str, words: str) -> None:
    with pytest.raises(Invalid) as refused:
        rendered(f"{text} secret", START, WHERE)
    assert str(refused.value).startswith(WHERE)
    assert words in str(refused.value)
    assert "hush" not in str(refused.value)
    assert "secret" not in str(refused.value).removeprefix(WHERE)


def test_user_data_over_the_limit_is_refused_with_its_size_and_without_its_text() -> None:
    fits = "x" * (MOST_BYTES - len("web-1")) + "__GROWTH_NODE_NAME__"
    assert len(rendered(fits, START, WHERE)) == MOST_BYTES
    with pytest.raises(Invalid) as refused:
        rendered(f"ü{fits[1:]}", START, WHERE)
    assert str(refused.value) == (
        f"{WHERE}: the user data of web-1 has 32769 bytes when everything is put in: "
        "expected at most 32768, because Hetzner takes no more"
    )


def test_a_map_cannot_hold_two_taints_of_one_key() -> None:
    start = msgspec.structs.replace(START, taints=(Taint("x", "a", NO_SCHEDULE), Taint("x", "a", NO_EXECUTE)))
    assert rendered("__GROWTH_TAINTS__", start, WHERE) == "x=a:NoSchedule,x=a:NoExecute"
    with pytest.raises(
        Invalid, match=r"key kubeadm: __GROWTH_TAINTS_MAP__ cannot .* name x twice, expected each key once"
    ):
        rendered("__GROWTH_TAINTS_MAP__", start, WHERE)


@pytest.mark.parametrize(
    ("change", "words"),
    [
        ({"name": "web_1"}, "the node's name cannot stand in user data: it is 'web_1', expected up to 63 small"),
        ({"pool": "web; rm"}, "the pool's name cannot stand in user data: it is 'web; rm'"),
        ({"labels": {"a": 'b"c'}}, "the value of the label a of web-1 cannot stand in user data: it is 'b\"c'"),
        ({"labels": {"a\n": "b"}}, r"the key of a label of web-1 cannot stand in user data: it is 'a\n'"),
        ({"labels": {"a": "b\n"}}, r"the value of the label a of web-1 cannot stand in user data: it is 'b\n'"),
        ({"taints": (Taint("a", "$(b)", NO_SCHEDULE),)}, "the value of the taint a of web-1 cannot stand in user data"),
        ({"taints": (Taint("a,b", "c", NO_SCHEDULE),)}, "the key of a taint of web-1 cannot stand in user data"),
        (
            {"taints": (Taint("a", "b", "No\nSchedule"),)},
            "the effect of the taint a of web-1 cannot stand in user data",
        ),
    ],
)
def test_what_could_break_out_is_refused_by_name(change: dict[str, object], words: str) -> None:
    with pytest.raises(Invalid) as refused:
        start_of(msgspec.structs.replace(REQUEST, **change), "shop")
    assert words in str(refused.value)


def test_a_cluster_has_a_name_that_can_stand_in_a_text() -> None:
    with pytest.raises(Invalid, match="the cluster's name cannot stand in user data: it is 'my shop', expected"):
        start_of(REQUEST, "my shop")


WORDS = st.text(st.characters(codec="utf-8"), max_size=8) | st.from_regex(r"\A[-A-Za-z0-9_.]{0,8}\Z")


@given(st.dictionaries(WORDS, WORDS, max_size=3), st.lists(st.tuples(WORDS, WORDS), max_size=2))
def test_whatever_a_pool_says_nothing_leaves_the_text_in_which_it_stands(
    labels: dict[str, str], taints: list[tuple[str, str]]
) -> None:
    request = msgspec.structs.replace(
        REQUEST, labels=labels, taints=tuple(Taint(key, value, NO_SCHEDULE) for key, value in taints)
    )
    try:
        start = start_of(request, "shop")
    except Invalid:
        return
    text = '{a: __GROWTH_LABELS_MAP__, b: __GROWTH_LABELS_LIST__, c: "__GROWTH_LABELS__", d: __GROWTH_TAINTS_LIST__}'
    told = yaml.safe_load(rendered(text, start, WHERE))
    pairs = [f"{key}={value}" for key, value in start.labels.items()]
    assert told == {"a": start.labels, "b": pairs, "c": ",".join(pairs), "d": [str(taint) for taint in start.taints]}
    assert shlex.split(rendered("x __GROWTH_LABELS__ __GROWTH_TAINTS__", start, WHERE)) == [
        "x",
        ",".join(pairs),
        ",".join(map(str, start.taints)),
    ]
    assert json.loads(rendered("__GROWTH_LABELS_MAP__", start, WHERE)) == start.labels


def test_a_start_shows_no_token() -> None:
    assert "0123456789abcdef" not in repr(START)
    assert placeholders_in("__GROWTH_POOL__ __GROWTH_POOL__", WHERE) == {"__GROWTH_POOL__"}
