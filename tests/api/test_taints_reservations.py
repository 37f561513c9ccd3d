"""A closed node, and the keys to it."""

import msgspec
import pytest

from growth.api.taints import closed, kept_for, key_to, tolerations_of, without_keys
from growth.api.tolerations import Toleration, untolerated
from tests.decide.stages import a_pod


def test_a_key_opens_its_own_node_and_no_other() -> None:
    assert untolerated([closed("node-1")], [key_to("node-1")]) is None
    assert untolerated([closed("node-1")], [key_to("node-2")]) == closed("node-1")


@pytest.mark.parametrize(
    ("tolerations", "node"),
    [
        pytest.param([], "", id="no key"),
        pytest.param([key_to("node-1")], "node-1", id="one key"),
        pytest.param([key_to("node-1"), key_to("node-2")], "node-2", id="the newest key counts"),
        pytest.param([Toleration("growth.dev/starting", "Exists")], "", id="going everywhere is no key"),
        pytest.param([Toleration("team", "Equal", "node-1", "NoSchedule")], "", id="somebody else's toleration"),
    ],
)
def test_the_newest_key_says_where_a_place_is_kept(tolerations: list[Toleration], node: str) -> None:
    assert kept_for(a_pod(tolerations=[msgspec.to_builtins(one) for one in tolerations])) == node


def test_a_pod_tolerates_what_its_spec_says_and_what_its_keys_open() -> None:
    team = Toleration("team", "Exists")
    one, other = (
        a_pod("one", tolerations=[msgspec.to_builtins(each) for each in (team, *keys)])
        for keys in ([key_to("node-1"), key_to("node-2")], [])
    )
    assert tolerations_of(one) == (team, key_to("node-1"), key_to("node-2"))
    assert tolerations_of(other) == (team,)
    assert without_keys(one) == without_keys(other) == other
