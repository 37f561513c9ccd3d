"""To which pool a request belongs: its spec and its owners say it, together or alone."""

import pytest

from growth.api.meta import ObjectMeta, OwnerReference
from growth.api.node_request import NodeRequest, NodeRequestSpec
from tests.repository import SOURCES

FILES = sorted(SOURCES.rglob("*.py"))


def owner(name: str, *, kind: str = "NodePool", api_version: str = "growth.dev/v1alpha1") -> OwnerReference:
    return OwnerReference(kind, name, f"uid-{name}", api_version)


def request(pool: str, *owners: OwnerReference) -> NodeRequest:
    return NodeRequest(ObjectMeta("one", owner_references=owners), NodeRequestSpec(pool, "hetzner-cax11"))


@pytest.mark.parametrize(
    ("one", "pool"),
    [
        pytest.param(request("web"), "web", id="its spec alone"),
        pytest.param(request("", owner("web")), "web", id="its owner alone"),
        pytest.param(request("web", owner("web")), "web", id="both"),
        pytest.param(request("", owner("m", kind="NodeMove"), owner("web")), "web", id="an owner of another kind"),
        pytest.param(
            request("", owner("x", api_version="karpenter.sh/v1"), owner("web", api_version="growth.dev/v1")),
            "web",
            id="an owner of another group",
        ),
    ],
)
def test_request_belongs_to_the_pool_of_its_spec_or_owner(one: NodeRequest, pool: str) -> None:
    assert (one.pool, one.pool_problem) == (pool, "")


@pytest.mark.parametrize(
    ("one", "pool", "words"),
    [
        pytest.param(request(""), "", ["spec.pool is empty", "names no NodePool"], id="neither"),
        pytest.param(request("", owner("x", kind="Pod")), "", ["names no NodePool"], id="no pool among its owners"),
        pytest.param(request("", owner("a"), owner("b")), "", ["several NodePools, 'a', 'b'"], id="two owners"),
        pytest.param(request("a", owner("b")), "a", ["spec.pool is 'a'", "names NodePool 'b'"], id="they disagree"),
        pytest.param(request("a", owner("a"), owner("b")), "a", ["spec.pool is 'a'", "'a', 'b'"], id="one disagrees"),
    ],
)
def test_request_names_fields_and_values_when_its_pool_is_unclear(
    one: NodeRequest, pool: str, words: list[str]
) -> None:
    assert one.pool == pool
    for word in [*words, "expected"]:
        assert word in one.pool_problem


def test_readers_ask_the_request_for_its_pool() -> None:
    assert FILES
    assert [path.name for path in FILES if "request.spec.pool" in path.read_text(encoding="utf-8")] == []
