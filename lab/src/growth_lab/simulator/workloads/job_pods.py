"""The pods of a Job and what they count for: each is counted once, and held by a finalizer until it was."""

from typing import Final, NamedTuple

from growth_lab.simulator.json_parts import parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import JOBS, PODS
from growth_lab.simulator.store import Store
from growth_lab.simulator.workloads.owned_pods import Family
from growth_lab.simulator.workloads.pod_from_template import pod_from_template
from growth_lab.simulator.workloads.pod_state import state_of

TRACKING: Final = "batch.kubernetes.io/job-tracking"


class Tally(NamedTuple):
    """The pods of a Job, sorted."""

    active: list[Json]
    terminating: int
    ready: int
    succeeded: list[Json]
    """Ended well, and not counted yet."""
    failed: list[Json]
    """Lost, and not counted yet."""


def tally_of(job: Json, family: Family) -> Tally:
    """Sort the pods. One that was deleted counts as lost at once, unless only pods that ended are replaced."""
    tally = Tally([], family.terminating, family.ready, [], [])
    for pod in family.pods.values():
        state = state_of(pod)
        if state.is_active:
            tally.active.append(pod)
        elif not is_tracked(pod):
            continue
        elif state.phase == "Succeeded":
            tally.succeeded.append(pod)
        elif state.phase == "Failed" or not replaces_only_failed(job):
            tally.failed.append(pod)
    return tally


def replaces_only_failed(job: Json) -> bool:
    """Whether a pod must have ended before another one comes."""
    return job["spec"].get("podReplacementPolicy") == "Failed"


def restarts(pods: list[Json]) -> int:
    """How often containers of these pods were started again in place."""
    lists = [
        *(parts(pod, "status", "initContainerStatuses") for pod in pods),
        *(parts(pod, "status", "containerStatuses") for pod in pods),
    ]
    return sum(status.get("restartCount", 0) for statuses in lists for status in statuses)


def make_pod(store: Store, job: Json) -> None:
    """One more pod. The API server puts these labels into the template, but not every test goes through it."""
    meta = job["metadata"]
    labels = {
        f"{prefix}{name}": value
        for prefix in ("batch.kubernetes.io/", "")
        for name, value in (("controller-uid", meta["uid"]), ("job-name", meta["name"]))
    }
    store.create(PODS, pod_from_template(job["spec"]["template"], job, JOBS, labels=labels, finalizers=(TRACKING,)))


def is_tracked(pod: Json) -> bool:
    """Whether it still waits to be counted."""
    return TRACKING in (pod["metadata"].get("finalizers") or ())


def release(store: Store, pod: Json) -> None:
    """Let it go: it was counted, or nobody will count it any more."""
    known = store.get(PODS, pod["metadata"]["name"], pod["metadata"]["namespace"])
    if known is None or known["metadata"]["uid"] != pod["metadata"]["uid"] or not is_tracked(known):
        return
    others = [name for name in known["metadata"]["finalizers"] if name != TRACKING]
    store.patch(
        PODS, known["metadata"]["name"], known["metadata"]["namespace"], {"metadata": {"finalizers": others or None}}
    )
