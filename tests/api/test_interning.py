"""Memory is bounded by what differs among the objects that live."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from growth.api.decoding import Reader
from growth.api.interning import InternTables
from growth.api.kinds import PODS
from growth.api.meta import OwnerReference
from growth.api.pod import Pod
from tests.builders import Json, a_pod
from tests.strategies import labels


def read(sharing: InternTables, *pods: Json) -> list[Pod]:
    reader = Reader(PODS, sharing)
    return [reader.object(json.dumps(pod, separators=(",", ":")).encode()) for pod in pods]  # as Go writes it


def test_pods_of_one_template_share_all_they_have_in_common() -> None:
    one, other = read(InternTables(), a_pod("web-1", node="node-1"), a_pod("web-2", node="node-2"))
    assert one.metadata.name != other.metadata.name
    assert one.node_name != other.node_name
    assert one.spec is other.spec
    assert one.metadata.labels is other.metadata.labels
    assert one.metadata.owner_references[0] is other.metadata.owner_references[0]


def test_the_access_volume_that_every_pod_has_under_its_own_name_does_not_hinder_sharing() -> None:
    first, second = a_pod("web-1"), a_pod("web-2")
    assert first["spec"]["volumes"] != second["spec"]["volumes"]
    one, other = read(InternTables(), first, second)
    assert one.spec is other.spec


ACCESS: Json = {"name": "kube-api-access-00000", "projected": {"defaultMode": 420}}


@pytest.mark.parametrize(
    "volume",
    [
        pytest.param('{"name":"data","persistentVolumeClaim":{"claimName":"kube-api-access-?????"}}', id="claim"),
        pytest.param('{"name":"kube-api-access-?????","ephemeral":{}}', id="ephemeral volume"),
    ],
)
@pytest.mark.parametrize(
    ("before", "after"), [([], []), ([ACCESS], []), ([], [ACCESS])], ids=["alone", "last", "first"]
)
def test_storage_that_is_named_like_the_access_volume_stays_the_pods_own(
    volume: str, before: list[Json], after: list[Json]
) -> None:
    aaaaa, bbbbb = (
        a_pod(spec={"volumes": [*before, json.loads(volume.replace("?????", name)), *after]})
        for name in ("aaaaa", "bbbbb")
    )
    one, other = read(InternTables(), aaaaa, bbbbb)
    assert "aaaaa" in repr(one.spec)
    assert "bbbbb" in repr(other.spec)


def test_a_node_name_inside_of_a_value_is_not_taken_for_the_pods_place() -> None:
    arguments = ['{"nodeName":"node-1"}', "kube-api-access-xxxxx"]
    one, other = read(
        InternTables(),
        a_pod(node="node-1", spec={"containers": [{"name": "a", "args": arguments}]}),
        a_pod(node="node-2", spec={"containers": [{"name": "a", "args": arguments}]}),
    )
    assert (one.node_name, other.node_name) == ("node-1", "node-2")
    assert one.spec is other.spec


def test_pods_that_differ_in_what_the_scheduler_reads_do_not_share() -> None:
    one, other = read(InternTables(), a_pod(), a_pod(spec={"nodeSelector": {"disk": "ssd"}}))
    assert one.spec != other.spec
    assert other.spec.node_selector == {"disk": "ssd"}


def test_the_table_does_not_grow_with_the_number_of_pods() -> None:
    sharing = InternTables()
    few = read(sharing, *(a_pod(f"web-{number}") for number in range(2)))
    before = len(sharing)
    many = read(sharing, *(a_pod(f"web-{number}") for number in range(200)))
    assert len(sharing) == before
    assert len({id(pod.spec) for pod in few + many}) == 1


def test_the_table_shrinks_when_the_last_pod_of_a_template_goes() -> None:
    sharing = InternTables()
    web = read(sharing, a_pod("web-1"), a_pod("web-2"))
    before = len(sharing)
    shop = read(sharing, a_pod("shop-1", template="shop", requests={"cpu": "2"}))
    assert len(sharing) > before
    shop.clear()
    gc.collect()
    assert len(sharing) == before
    web.pop()
    gc.collect()
    assert len(sharing) == before
    web.clear()
    gc.collect()
    assert len(sharing) == 0


def test_what_is_shared_is_one_empty_mapping_for_all_without_labels() -> None:
    sharing = InternTables()
    assert sharing.mapping({}) is sharing.mapping({})
    assert len(sharing) == 0


# A server in Go writes the keys of a map in their order.
sorted_labels = labels.map(lambda one: dict(sorted(one.items())))


@given(st.lists(sorted_labels, max_size=8))
def test_shared_labels_equal_those_that_were_sent_and_equal_ones_are_one(sent: list[dict[str, str]]) -> None:
    sharing = InternTables()
    shared = [sharing.mapping(one) for one in sent]
    assert shared == sent
    for one, copy in zip(sent, shared, strict=True):
        for another, other_copy in zip(sent, shared, strict=True):
            assert (copy is other_copy) == (one == another)


@given(st.lists(st.builds(OwnerReference, *[st.sampled_from(("a", "b", ""))] * 4, st.booleans()), max_size=8))
def test_shared_structs_equal_those_that_were_sent_and_equal_ones_are_one(sent: list[OwnerReference]) -> None:
    sharing = InternTables()
    shared = [sharing.value(one) for one in sent]
    assert shared == sent
    assert len({id(copy) for copy in shared}) == len(set(sent)) == len(sharing)
