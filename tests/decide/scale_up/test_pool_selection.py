"""Step 2 of "Handle New Demand": which pool a pod gets machines from, and what is said if there is none."""

from typing import Any

import pytest

from growth.api.node_pool import NodePool
from growth.decide.scale_up.pool_selection import NoMatchingPool, PoolSelection
from tests.decide.marketplace import NOW, a_pool
from tests.decide.scale_up.town import a_pod, for_pool

POOL = "growth.dev/pool"
ZONE = "topology.kubernetes.io/zone"


def one_of(operator: str, *pools: str, key: str = POOL) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(pools)} if pools else {})}


def affine(*terms: list[dict[str, Any]]) -> dict[str, Any]:
    """A required node affinity: the terms are alternatives, each holds if all of its expressions do."""
    required = {"nodeSelectorTerms": [{"matchExpressions": term} for term in terms]}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


def matched(pools: list[NodePool], usable: list[str] | None = None, **spec: Any) -> NoMatchingPool | None:  # noqa: ANN401
    chosen = [pool for pool in pools if usable is None or pool.metadata.name in usable]
    return PoolSelection(pools, chosen).of(a_pod("web", **spec))


DEFAULT, GPU, GOING = a_pool(), a_pool("gpu"), a_pool("gpu", deleted_at=NOW)
NO_POOL_AT_ALL = NoMatchingPool(
    "NoPool", "it asks for no pool, and there is none named 'default'; there is no NodePool at all"
)
NO_GPU = NoMatchingPool("NoSuchPool", "it asks for pool 'gpu', and there is no such pool; there is default")


@pytest.mark.parametrize(
    ("pools", "spec", "expected"),
    [
        pytest.param([DEFAULT, GPU], for_pool("gpu"), None, id="2.1: it asks for a pool that exists"),
        pytest.param([DEFAULT, GPU], {}, None, id="2.2: it asks for none, and there is a default"),
        pytest.param([], {}, NO_POOL_AT_ALL, id="2.3: it asks for none, and there is no pool at all"),
        pytest.param(
            [GPU],
            {},
            NoMatchingPool("NoPool", "it asks for no pool, and there is none named 'default'; there is gpu"),
            id="2.3: it asks for none, and there is no default",
        ),
        pytest.param([DEFAULT], for_pool("gpu"), NO_GPU, id="2.4: it asks for one that does not exist"),
        pytest.param([DEFAULT, GOING], for_pool("gpu"), NO_GPU, id="a pool that is being deleted is none to ask for"),
        pytest.param([DEFAULT, GPU], affine([one_of("In", "gpu")]), None, id="affinity In asks"),
        pytest.param(
            [DEFAULT],
            affine([one_of("In", "gpu")]),
            NoMatchingPool(
                "NoSuchPool", "it asks by its node affinity for a pool, and there is no such pool; there is default"
            ),
            id="affinity In asks for one that does not exist",
        ),
        pytest.param([GPU], affine([one_of("NotIn", "default")]), None, id="affinity NotIn leaves another"),
        pytest.param(
            [DEFAULT],
            affine([one_of("NotIn", "default")]),
            NoMatchingPool(
                "NoSuchPool", "it asks by its node affinity for a pool, and there is no such pool; there is default"
            ),
            id="affinity NotIn leaves none",
        ),
        pytest.param([GPU], affine([one_of("Exists")]), None, id="affinity Exists asks for any"),
        pytest.param(
            [DEFAULT],
            affine([one_of("DoesNotExist")]),
            NoMatchingPool(
                "NoSuchPool", "it asks by its node affinity for a pool, and there is no such pool; there is default"
            ),
            id="affinity DoesNotExist wants no machine of ours",
        ),
        pytest.param(
            [GPU], affine([one_of("In", "cpu")], [one_of("In", "gpu")]), None, id="one of several terms is enough"
        ),
        pytest.param(
            [DEFAULT, GPU],
            affine([one_of("In", "gpu", "default"), one_of("NotIn", "gpu")]),
            None,
            id="all expressions of a term hold at once",
        ),
        pytest.param(
            [GPU],
            affine([one_of("In", "gpu", "default"), one_of("NotIn", "gpu")]),
            NoMatchingPool(
                "NoSuchPool", "it asks by its node affinity for a pool, and there is no such pool; there is gpu"
            ),
            id="expressions of a term that contradict the pool",
        ),
        pytest.param(
            [GPU],
            {**for_pool("gpu"), **affine([one_of("In", "default")])},
            NoMatchingPool("NoSuchPool", "it asks for pool 'gpu', and there is no such pool; there is gpu"),
            id="selector and affinity contradict each other",
        ),
        pytest.param(
            [DEFAULT], affine([one_of("In", "fsn1", key=ZONE)]), None, id="an affinity to zones asks for none"
        ),
    ],
)
def test_the_four_rules_of_the_seed(
    pools: list[NodePool], spec: dict[str, Any], expected: NoMatchingPool | None
) -> None:
    assert matched(pools, **spec) == expected


@pytest.mark.parametrize(
    ("usable", "spec", "expected"),
    [
        pytest.param(
            ["gpu"],
            {},
            NoMatchingPool(
                "PoolUnusable", "nothing can be bought for pool default now: its conditions Valid and Healthy say why"
            ),
            id="the default is unusable: it is waited for, and no other pool helps out",
        ),
        pytest.param(
            ["default"],
            for_pool("gpu"),
            NoMatchingPool(
                "PoolUnusable", "nothing can be bought for pool gpu now: its conditions Valid and Healthy say why"
            ),
            id="the pool that is asked for is unusable",
        ),
        pytest.param(["gpu"], affine([one_of("Exists")]), None, id="one usable pool among those that serve is enough"),
        pytest.param(
            [],
            affine([one_of("Exists")]),
            NoMatchingPool(
                "PoolUnusable",
                "nothing can be bought for pool default, gpu now: its conditions Valid and Healthy say why",
            ),
            id="none of those that serve is usable",
        ),
    ],
)
def test_a_pool_that_cannot_buy_now_is_waited_for(
    usable: list[str], spec: dict[str, Any], expected: NoMatchingPool | None
) -> None:
    assert matched([DEFAULT, GPU], usable, **spec) == expected
