"""Keys are the pod's own, and leave the spec that it shares with its siblings."""

import json
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import PODS
from growth.api.pod import Pod
from growth.api.pod_decoding import lift_from_text
from growth.api.tolerations import Toleration
from tests.builders import Json, a_pod

GPU: Json = {"key": "gpu", "operator": "Exists"}
SPOT: Json = {"key": "spot", "operator": "Equal", "value": "yes", "effect": "NoSchedule"}
EVERYWHERE: Json = {"key": "growth.dev/starting", "operator": "Exists"}


def key(node: str) -> Json:
    """As the API server writes it."""
    return {"key": "growth.dev/starting", "operator": "Equal", "value": node, "effect": "NoSchedule"}


def compact(value: object) -> bytes:
    return json.dumps(value, separators=(",", ":")).encode()


def read(*specs: Json) -> list[Pod]:
    reader = Reader(PODS, InternTables())
    return [reader.object(compact(a_pod(f"web-{at}", node="", spec=spec))) for at, spec in enumerate(specs)]


def tolerating(*tolerations: Json) -> Json:
    return {"tolerations": list(tolerations)}


@pytest.mark.parametrize(
    ("tolerations", "left", "keys"),
    [
        pytest.param([], [], (), id="nothing at all"),
        pytest.param([GPU, SPOT], [GPU, SPOT], (), id="no key"),
        pytest.param([key("a")], [], ("a",), id="nothing but a key"),
        pytest.param([key("a"), GPU], [GPU], ("a",), id="first"),
        pytest.param([GPU, key("a"), SPOT], [GPU, SPOT], ("a",), id="in the middle"),
        pytest.param([GPU, key("a")], [GPU], ("a",), id="last"),
        pytest.param([key("b"), key("a")], [], ("b", "a"), id="nothing but two keys"),
        pytest.param([key("b"), key("a"), GPU], [GPU], ("b", "a"), id="the first two"),
        pytest.param([GPU, key("b"), key("a"), SPOT], [GPU, SPOT], ("b", "a"), id="two in the middle"),
        pytest.param([GPU, key("b"), SPOT, key("a")], [GPU, SPOT], ("b", "a"), id="two apart"),
        pytest.param([key("b"), GPU, key("a")], [GPU], ("b", "a"), id="first and last"),
    ],
)
def test_keys_are_cut_out_of_the_text_wherever_they_stand(
    tolerations: list[Json], left: list[Json], keys: tuple[str, ...]
) -> None:
    assert lift_from_text(compact(tolerating(*tolerations))) == (compact(tolerating(*left)), keys)


LOOKALIKES = {
    "somebody who goes everywhere": EVERYWHERE,
    "any value": {"key": "growth.dev/starting", "operator": "Exists", "effect": "NoSchedule"},
    "another effect": {**key("a"), "effect": "NoExecute"},
    "any effect": {"key": "growth.dev/starting", "operator": "Equal", "value": "a"},
    "no value": {"key": "growth.dev/starting", "operator": "Equal", "value": "", "effect": "NoSchedule"},
    "value left out": {"key": "growth.dev/starting", "operator": "Equal", "effect": "NoSchedule"},
    "another operator": {**key("1"), "operator": "Lt"},
    "another taint": {**key("a"), "key": "growth.dev/starting-soon"},
    "a taint that ends like ours": {**key("a"), "key": "not.growth.dev/starting"},
}


@pytest.mark.parametrize("other", LOOKALIKES.values(), ids=LOOKALIKES)
@pytest.mark.parametrize("beside", [[], [key("b")], [GPU, key("b"), key("c")]], ids=["alone", "a key", "two keys"])
def test_tolerations_that_only_look_like_keys_stay_in_the_spec(other: Json, beside: list[Json]) -> None:
    expected_keys = tuple(known["value"] for known in beside if known is not GPU)
    for order in permutations([*beside, other]):
        (pod,) = read(tolerating(*order))
        expected = [known for known in order if known is GPU or known is other]
        assert pod.spec.tolerations == tuple(Toleration(**known) for known in expected)
        assert sorted(pod.keys) == list(expected_keys)


@pytest.mark.parametrize(
    "odd",
    [
        pytest.param({"effect": "NoSchedule", "value": "a", "key": "growth.dev/starting"}, id="no operator"),
        pytest.param(dict(reversed(key("a").items())), id="another order of fields"),
        pytest.param({**key("a"), "tolerationSeconds": None}, id="more fields"),
    ],
)
def test_keys_in_other_words_are_keys_all_the_same_and_stay_in_order(odd: Json) -> None:
    one, other, plain = read(tolerating(key("b"), odd, GPU, key("c")), tolerating(odd, GPU), tolerating(GPU))
    assert (one.keys, other.keys, plain.keys) == (("b", "a", "c"), ("a",), ())
    assert one.spec is other.spec is plain.spec


def test_siblings_with_different_keys_share_their_spec_and_its_text() -> None:
    first, second, older, plain = [GPU, key("a")], [GPU, key("b")], [GPU, key("a"), key("b")], [GPU]
    pods = read(*(tolerating(*known) for known in (first, second, older, plain)))
    assert [pod.keys for pod in pods] == [("a",), ("b",), ("a", "b"), ()]
    assert len({id(pod.spec) for pod in pods}) == 1
    assert pods[0].spec.tolerations == (Toleration("gpu", "Exists"),)
    texts = {lift_from_text(compact(tolerating(*known)))[0] for known in (first, second, older, plain)}
    assert len(texts) == 1


def test_pods_of_one_template_share_their_spec_before_and_after_each_got_a_key_and_a_node() -> None:
    reader = Reader(PODS, InternTables())
    waiting = reader.object(compact(a_pod("web-1", node="")))
    keyed = reader.object(compact(a_pod("web-1", node="", tolerations=[key("node-1")])))
    bound = reader.object(compact(a_pod("web-1", node="node-1", tolerations=[key("node-1")])))
    sibling = reader.object(compact(a_pod("web-2", node="node-1", tolerations=[key("node-1")])))
    assert waiting.spec is keyed.spec is bound.spec is sibling.spec
    assert bound.keys is sibling.keys
    assert (waiting.keys, keyed.keys, bound.keys) == ((), ("node-1",), ("node-1",))


def test_a_key_that_is_only_spoken_of_is_none() -> None:
    words = [compact(key("a")).decode(), '"}],"tolerations":[' + compact(key("b")).decode()]
    spec = {"containers": [{"name": "talker", "args": words}], "tolerations": [GPU]}
    (silent,) = read({**spec, "tolerations": [GPU, key("c")]})
    (talker,) = read(spec)
    assert (silent.keys, talker.keys) == (("c",), ())
    assert talker.spec.tolerations == silent.spec.tolerations == (Toleration("gpu", "Exists"),)


names = st.from_regex(r"[a-z0-9]([a-z0-9.-]{0,20}[a-z0-9])?", fullmatch=True)
kinds_of_toleration = st.one_of(names.map(key), st.sampled_from([GPU, SPOT, *LOOKALIKES.values()]))


@given(st.lists(kinds_of_toleration, max_size=6))
def test_nothing_else_is_lost_and_no_key_is_kept(tolerations: list[Json]) -> None:
    (pod,) = read(tolerating(*tolerations))
    is_key = [set(known) == set(key("")) and known == key(known["value"]) and known["value"] for known in tolerations]
    assert pod.keys == tuple(known["value"] for known, yes in zip(tolerations, is_key, strict=True) if yes)
    others = [known for known, yes in zip(tolerations, is_key, strict=True) if not yes]
    assert pod.spec.tolerations == tuple(Toleration(**known) for known in others)
