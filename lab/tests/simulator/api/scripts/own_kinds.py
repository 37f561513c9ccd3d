"""Our own kinds: defaults, pruning, and every sentence of refusal."""

from typing import Any

from lab.tests.simulator.api.scripts.player import Script, delete, get, merge, post, put

ROOT = "/apis/growth.dev/v1alpha1"
POOLS, REQUESTS, REMOVALS = f"{ROOT}/nodepools", f"{ROOT}/noderequests", f"{ROOT}/noderemovalrequests"
ONE = "/one-{id}"


def a_pool(*types: object, name: str = "one-{id}", **spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodePool",
        "metadata": {"name": name},
        "spec": {"serverTypes": list(types) or [{"name": "CAX11"}], **spec},
    }


def a_request(**spec: object) -> dict[str, Any]:
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodeRequest",
        "metadata": {"name": "one-{id}"},
        "spec": {"pool": "default", "targetOffering": "hetzner-cax11", **spec},
    }


def a_removal(**fields: object) -> dict[str, Any]:
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodeRemovalRequest",
        "metadata": {"name": "one-{id}"},
        **fields,
    }


OWNER = {
    "apiVersion": "growth.dev/v1alpha1",
    "kind": "NodePool",
    "name": "pool-{id}",
    "uid": "{0:metadata.uid}",
}
FULL_OWNER = {**OWNER, "uid": "11111111-2222-3333-4444-555555555555"}


def owned(*owners: dict[str, str]) -> dict[str, Any]:
    """A request that names its pool nowhere but in its owners."""
    return {
        "apiVersion": "growth.dev/v1alpha1",
        "kind": "NodeRequest",
        "metadata": {"name": "one-{id}", "ownerReferences": list(owners)},
        "spec": {"targetOffering": "hetzner-cax11"},
    }


REFUSED_POOLS: dict[str, dict[str, Any]] = {
    "more at least than at most": a_pool({"name": "CAX11", "min": 3, "max": 1}),
    "no server types": {**a_pool(), "spec": {"serverTypes": []}},
    "an empty spec": {**a_pool(), "spec": {}},
    "no spec": {key: value for key, value in a_pool().items() if key != "spec"},
    "one type twice": a_pool({"name": "CAX11"}, {"name": "cax11"}),
    "a type that is none": a_pool({"name": "a/b"}),
    "a type without a name": a_pool({"min": 1}),
    "a negative bound": a_pool({"name": "CAX11", "min": -1}),
    "a bound beyond all reason": a_pool({"name": "CAX11", "max": 100_001}),
    "a number as text": a_pool({"name": "CAX11", "max": "5"}),
    "a text as number": a_pool({"name": 5}),
    "a negative limit": a_pool(limits={"cpu": -1, "memory": "-1Gi", "nodes": -1, "costPerHour": "-0.5"}),
    "a limit that is no quantity": a_pool(limits={"memory": "1 Gi"}),
    "a limit that is a list": a_pool(limits={"memory": [1]}),
    "a reserve below nothing": a_pool(machine={"reserved": {"cpu": "-1"}}),
    "a duration that is none": a_pool(scaleDown={"emptyAfter": "ten minutes"}),
    "a share beyond all": a_pool(disruption={"maxUnavailable": "110%"}),
    "labels of ours": a_pool(labels={"growth.dev/pool": "other"}),
    "labels that are none": a_pool(labels={"-": "x"}),
    "values that are none": a_pool(labels={"team": "a b"}),
    "a taint without effect": a_pool(taints=[{"key": "gpu"}]),
    "a policy that nobody knows": a_pool(deletionPolicy="Forget"),
    "a name that is too long": a_pool(name="p" * 53),
    "a place name that is too long": a_pool(locations=["p" * 64]),
    "more types than allowed": a_pool(*({"name": f"t{number}"} for number in range(65))),
    "a switch that is a word": a_pool(scaleDown={"enabled": "yes"}),
    "a spec that is a word": {**a_pool(), "spec": "wonder"},
    "labels that are a list": a_pool(labels=["a"]),
    "several at once": a_pool({"name": "a/b", "min": 3, "max": 1}, scaleDown={"emptyAfter": "x", "unreadyAfter": "y"}),
}

SCRIPTS: dict[str, Script] = {
    "a pool gets its defaults": (post(POOLS, a_pool()), get(POOLS + ONE), delete(POOLS + ONE)),
    "what a pool does not know is left out": (
        post(POOLS, {**a_pool({"name": "CAX11", "wonder": 1}, wonder=True), "wonder": {}}),
        merge(POOLS + ONE, {"spec": {"more": 1}}),
        delete(POOLS + ONE),
    ),
    "a null is not a value": (
        post(POOLS, a_pool(priority=None, provider=None, limits={"nodes": None})),
        delete(POOLS + ONE),
    ),
    **{f"a pool with {words}": (post(POOLS, pool),) for words, pool in REFUSED_POOLS.items()},
    "a pool is changed": (
        post(POOLS, a_pool()),
        merge(POOLS + ONE, {"spec": {"priority": 5}}),
        merge(POOLS + ONE, {"spec": {"priority": 5000}}),
        merge(POOLS + ONE, {"metadata": {"labels": {"a": "b"}}}),
        merge(POOLS + ONE, {"spec": {"scaleDown": None}}),
        put(POOLS + ONE, a_pool(priority=7)),
        delete(POOLS + ONE),
    ),
    "a pool is replaced": (
        post(POOLS, a_pool()),
        put(
            POOLS + ONE,
            {
                **a_pool(priority=7),
                "metadata": {"name": "one-{id}", "resourceVersion": "{0:metadata.resourceVersion}"},
                "status": {"costPerHour": "1"},
            },
        ),
        delete(POOLS + ONE),
    ),
    "a pool's status is apart": (
        post(POOLS, {**a_pool(), "status": {"costPerHour": "1"}}),
        merge(POOLS + ONE, {"status": {"costPerHour": "1"}}),
        merge(POOLS + ONE + "/status", {"status": {"costPerHour": "1", "wonder": 1}, "spec": {"priority": 9}}),
        merge(POOLS + ONE + "/status", {"status": {"nodes": {"ready": -1}}}),
        merge(POOLS + ONE + "/status", {"status": {"conditions": [{"type": "Healthy"}]}}),
        get(POOLS + ONE + "/status"),
        delete(POOLS + ONE),
    ),
    "a request without an offering": (post(REQUESTS, a_request(targetOffering="")),),
    "a request that names its pool by its owner, or not at all": (
        post(POOLS, a_pool(name="pool-{id}")),
        post(REQUESTS, owned(OWNER)),
        get(REQUESTS + ONE),
        put(REQUESTS + ONE, {**owned(OWNER), "spec": {"pool": "pool-{id}", "targetOffering": "hetzner-cax11"}}),
        merge(REQUESTS + ONE, {"spec": {"pool": "pool-{id}"}}),
        delete(REQUESTS + ONE),
        post(REQUESTS, owned()),
        delete(REQUESTS + ONE),
        post(REQUESTS, a_request(pool="")),
        delete(REQUESTS + ONE),
        delete(POOLS + "/pool-{id}"),
    ),
    "owners that lack something": (
        *(post(REQUESTS, owned({**FULL_OWNER, field: ""})) for field in FULL_OWNER),
        *(post(REQUESTS, owned({key: FULL_OWNER[key] for key in FULL_OWNER if key != field})) for field in FULL_OWNER),
        post(REQUESTS, owned({**FULL_OWNER, "apiVersion": "a/b/c"})),
        post(REQUESTS, owned({})),
    ),
    "a request moves through its phases": (
        post(REQUESTS, a_request()),
        get(REQUESTS + ONE),
        merge(REQUESTS + ONE + "/status", {"status": {"phase": "Ready"}}),
        merge(REQUESTS + ONE + "/status", {"status": {"phase": "Wonder"}}),
        merge(REQUESTS + ONE + "/status", {"status": {"phase": "Provisioning", "phaseSince": "2026-03-02T09:00:00Z"}}),
        merge(REQUESTS + ONE + "/status", {"status": {"phase": "Ready", "phaseSince": "yesterday"}}),
        merge(REQUESTS + ONE + "/status", {"status": {"phase": "Ready"}}),
        merge(REQUESTS + ONE + "/status", {"status": {"phase": "Pending"}}),
        merge(REQUESTS + ONE, {"spec": {"location": "fsn1"}}),
        delete(REQUESTS + ONE),
    ),
    "a removal needs no spec and never gets one": (
        post(REMOVALS, a_removal()),
        merge(REMOVALS + ONE, {"spec": {"nodeName": "x"}}),
        merge(REMOVALS + ONE + "/status", {"status": {"phase": "Deprovisioning", "removalAttempt": 1}}),
        merge(REMOVALS + ONE + "/status", {"status": {"removalAttempt": -1}}),
        merge(REMOVALS + ONE + "/status", {"status": {"phase": "Pending"}}),
        delete(REMOVALS + ONE),
    ),
    "a removal keeps its spec": (
        post(REMOVALS, a_removal(spec={"nodeName": "x"})),
        merge(REMOVALS + ONE, {"spec": {"nodeName": "y"}}),
        merge(REMOVALS + ONE, {"spec": None}),
        delete(REMOVALS + ONE),
    ),
}
