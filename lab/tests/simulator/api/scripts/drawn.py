"""Scripts that chance wrote: short quarrels about a few objects, in all ways that there are to change them."""

import random
from typing import Any

from lab.tests.simulator.api.scripts.concurrency import OTHER_UID, options
from lab.tests.simulator.api.scripts.own_kinds import POOLS, a_pool
from lab.tests.simulator.api.scripts.player import Ask, Script, apply, delete, get, json_patch, merge, post, put, watch
from lab.tests.simulator.api.scripts.reading import MAPS, OURS, PODS, a_map, a_pod
from lab.tests.simulator.api.scripts.watching import FROM_FIRST

# Sentences of these differ in what they print of the objects, not in what they mean.
_WORDS = ("message",)
_FINALIZERS = ("example.org/a", "example.org/b", "plain")
_KEYS = ("x", "y", "z")


def drawn_script(seed: int) -> Script:
    """The script of this seed. The first request makes a map, so that others can name its version."""
    chance = random.Random(seed)  # noqa: S311 - a seed
    asks = [post(MAPS, a_map("one", x="1"), ("fieldManager", "maker"))]
    asks += [_ask(chance) for _ in range(10)]
    return (*asks, get(MAPS, OURS, hides=_WORDS), get(PODS, hides=_WORDS), watch(MAPS, FROM_FIRST, OURS))


def _ask(chance: random.Random) -> Ask:
    draw = chance.choices((_map_ask, _pod_ask, _pool_ask), (6, 3, 2))[0]
    return draw(chance)


def _map_ask(chance: random.Random) -> Ask:
    name = chance.choice(("one", "two"))
    path = f"{MAPS}/{name}"
    match chance.randrange(9):
        case 0:
            return post(MAPS, a_map(name, None, **_data(chance)))
        case 1 | 2:
            return merge(path, _change(chance), hides=_WORDS)
        case 3 | 4:
            operations = [_operation(chance) for _ in range(chance.randint(1, 3))]
            return json_patch(path, *operations, hides=_WORDS)
        case 5 | 6:
            body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name, **_said(chance)}}
            manager, is_forced = chance.choice(("first", "second")), chance.random() < 0.4
            wish = {**body, "data": _data(chance) or {"x": "5"}}
            return apply(path, wish, manager=manager, force=is_forced, hides=(*_WORDS, "causes"))
        case 7:
            return put(path, a_map(name, None, **_data(chance)), hides=_WORDS)
        case _:
            return delete(path, _deletion(chance), hides=_WORDS)


def _data(chance: random.Random) -> dict[str, str]:
    return {key: str(chance.randrange(3)) for key in _KEYS if chance.random() < 0.5}


def _said(chance: random.Random) -> dict[str, Any]:
    return {"labels": {"ours": "yes", "by": str(chance.randrange(2))}} if chance.random() < 0.4 else {}


def _change(chance: random.Random) -> dict[str, Any]:
    meta: dict[str, Any] = {}
    if chance.random() < 0.3:
        meta["finalizers"] = chance.choice((None, [chance.choice(_FINALIZERS)], list(_FINALIZERS[:2])))
    if chance.random() < 0.2:
        meta["resourceVersion"] = "{0:metadata.resourceVersion}"
    if chance.random() < 0.1:
        meta["uid"] = chance.choice((OTHER_UID, "{0:metadata.uid}"))
    if chance.random() < 0.3:
        meta["labels"] = {"ours": "yes", chance.choice(_KEYS): chance.choice(("a", "b c", None))}
    data = {key: chance.choice((None, "1", "2")) for key in _KEYS if chance.random() < 0.5}
    return {"metadata": meta, "data": data}


def _operation(chance: random.Random) -> dict[str, Any]:
    path = f"/data/{chance.choice(_KEYS)}"
    match chance.randrange(5):
        case 0:
            return {"op": "test", "path": path, "value": str(chance.randrange(3))}
        case 1:
            return {"op": "add", "path": path, "value": str(chance.randrange(3))}
        case 2:
            return {"op": "remove", "path": path}
        case 3:
            return {"op": "replace", "path": path, "value": "9"}
        case _:
            return {"op": chance.choice(("copy", "move")), "from": path, "path": "/data/w"}


def _deletion(chance: random.Random) -> dict[str, object] | None:
    match chance.randrange(5):
        case 0:
            return options(preconditions={"resourceVersion": "{0:metadata.resourceVersion}"})
        case 1:
            return options(preconditions={"uid": OTHER_UID})
        case 2:
            return options(propagationPolicy=chance.choice(("Background", "Orphan", "Foreground")))
        case _:
            return None


def _pod_ask(chance: random.Random) -> Ask:
    name = chance.choice(("a", "b"))
    path = f"{PODS}/{name}"
    match chance.randrange(7):
        case 0 | 1:
            spec: dict[str, Any] = {"nodeName": "some-node"} if chance.random() < 0.5 else {}
            if chance.random() < 0.3:
                spec["schedulingGates"] = [{"name": "example.org/wait"}]
            if chance.random() < 0.3:
                spec["terminationGracePeriodSeconds"] = chance.choice((0, 100))
            return post(PODS, a_pod(name, **spec), hides=_WORDS)
        case 2:
            phase = chance.choice(("Pending", "Running", "Succeeded"))
            return merge(f"{path}/status", {"status": {"phase": phase}}, hides=_WORDS)
        case 3:
            spec = chance.choice(
                ({"activeDeadlineSeconds": 5}, {"nodeSelector": {"a": "b"}}, {"schedulingGates": None})
            )
            return merge(path, {"spec": spec}, hides=_WORDS)
        case 4:
            finalizers = chance.choice((None, ["example.org/a"]))
            return merge(path, {"metadata": {"finalizers": finalizers}}, hides=_WORDS)
        case 5:
            body = {"apiVersion": "policy/v1", "kind": "Eviction", "metadata": {"name": name, "namespace": "{ns}"}}
            return post(f"{path}/eviction", body, hides=_WORDS)
        case _:
            grace = chance.choice((None, 0, 50, 200))
            return delete(path, None if grace is None else options(gracePeriodSeconds=grace), hides=_WORDS)


def _pool_ask(chance: random.Random) -> Ask:
    path = f"{POOLS}/one-{{id}}"
    match chance.randrange(5):
        case 0 | 1:
            least, most = chance.randrange(-1, 3), chance.randrange(3)
            return post(POOLS, a_pool({"name": chance.choice(("a", "a/b")), "min": least, "max": most}))
        case 2:
            spec = chance.choice(({"priority": 2000}, {"priority": "x"}, {"labels": {"a": "b"}}, {"wonder": 1}))
            return merge(path, {"spec": spec})
        case 3:
            status = chance.choice(({"costPerHour": "1"}, {"nodes": {"ready": -1}}, {"nodes": {"ready": 1}}))
            return merge(f"{path}/status", {"status": status})
        case _:
            return delete(path)
