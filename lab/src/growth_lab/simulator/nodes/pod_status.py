"""What a kubelet says about a pod, in the words of the kwok stages that ``growth cluster`` plays.

What is the same for many pods is made once and shared: nobody edits stored objects.
"""

from functools import lru_cache
from typing import Final

from growth_lab.simulator.json_parts import parts
from growth_lab.simulator.merge_patch import Json

READY_AFTER: Final = "growth.dev/ready-after"
FINISH_AFTER: Final = "growth.dev/finish-after"

_RUNNING: Final = ("PodReadyToStartContainers", "Initialized", "ContainersReady", "Ready")
_Containers = tuple[tuple[str, str], ...]


def running(pod: Json, stamp: str) -> Json:
    """The status of a pod whose containers run and are ready."""
    gates = tuple(gate["conditionType"] for gate in parts(pod, "spec", "readinessGates"))
    new = _all_true((*_RUNNING, *gates), stamp)
    said = {known["type"] for known in new}
    status: Json = {
        "phase": "Running",
        "startTime": stamp,
        # What was said before comes last: so does a strategic merge patch put it.
        "conditions": [*new, *(known for known in parts(pod, "status", "conditions") if known["type"] not in said)],
        "containerStatuses": _started(_containers(pod, "containers"), stamp),
    }
    first = _containers(pod, "initContainers")
    if first:
        always = tuple(each.get("restartPolicy") == "Always" for each in parts(pod, "spec", "initContainers"))
        status["initContainerStatuses"] = _initialized(first, always, stamp)
    return status


def succeeded(pod: Json, stamp: str) -> Json:
    """The status of a pod whose containers have done their work."""
    started = pod.get("status", {}).get("startTime", stamp)
    ended = [
        {
            "type": kind,
            "status": "False",
            "reason": "PodCompleted",
            "lastProbeTime": None,
            "lastTransitionTime": stamp,
        }
        for kind in ("ContainersReady", "Ready")
    ]
    return {
        "phase": "Succeeded",
        "conditions": _last_of_each([*parts(pod, "status", "conditions"), *ended]),
        "containerStatuses": _ended(_containers(pod, "containers"), started, stamp),
    }


def ready_again(pod: Json, stamp: str) -> Json | None:
    """The status of a running pod that was called unready while its node was silent; None if it was not."""
    conditions = parts(pod, "status", "conditions")
    if all(known["status"] == "True" for known in conditions if known["type"] == "Ready"):
        return None
    return {"conditions": _last_of_each([*conditions, *_all_true(("Ready",), stamp)])}


def _containers(pod: Json, which: str) -> _Containers:
    return tuple((each["name"], each.get("image", "")) for each in parts(pod, "spec", which))


def _last_of_each(conditions: list[Json]) -> list[Json]:
    """Of each type the last one, where the first one stood."""
    return list({known["type"]: known for known in conditions}.values())


@lru_cache(64)
def _all_true(kinds: tuple[str, ...], stamp: str) -> tuple[Json, ...]:
    return tuple({"type": kind, "status": "True", "lastProbeTime": None, "lastTransitionTime": stamp} for kind in kinds)


@lru_cache(512)
def _started(containers: _Containers, stamp: str) -> list[Json]:
    return [
        {
            "name": name,
            "image": image,
            "imageID": "",
            "ready": True,
            "started": True,
            "restartCount": 0,
            "state": {"running": {"startedAt": stamp}},
        }
        for name, image in containers
    ]


@lru_cache(512)
def _ended(containers: _Containers, started: str, stamp: str) -> list[Json]:
    state = {"exitCode": 0, "reason": "Completed", "startedAt": started, "finishedAt": stamp}
    return [
        {
            "name": name,
            "image": image,
            "imageID": "",
            "ready": False,
            "started": False,
            "restartCount": 0,
            "state": {"terminated": state},
        }
        for name, image in containers
    ]


@lru_cache(512)
def _initialized(containers: _Containers, always: tuple[bool, ...], stamp: str) -> list[Json]:
    done = {"exitCode": 0, "reason": "Completed", "startedAt": stamp, "finishedAt": stamp}
    return [
        {
            "name": name,
            "image": image,
            "imageID": "",
            "ready": True,
            "restartCount": 0,
            "started": goes_on,
            "state": {"running": {"startedAt": stamp}} if goes_on else {"terminated": done},
        }
        for (name, image), goes_on in zip(containers, always, strict=True)
    ]
