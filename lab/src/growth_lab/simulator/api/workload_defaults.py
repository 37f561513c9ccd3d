"""What new workloads get that their authors did not write, in their specs and in the templates of their pods."""

from collections.abc import Callable, Mapping
from typing import Final

from growth_lab.simulator.api.pod_defaults import template_spec
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import DAEMON_SETS, DEPLOYMENTS, JOBS, REPLICA_SETS, STATEFUL_SETS, Resource
from growth_lab.simulator.store import Store

_HISTORY: Final[Json] = {"revisionHistoryLimit": 10}
_SPECS: Final[Mapping[Resource, Json]] = {
    DEPLOYMENTS: {
        **_HISTORY,
        "replicas": 1,
        "progressDeadlineSeconds": 600,
        "strategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": "25%", "maxSurge": "25%"}},
    },
    REPLICA_SETS: {"replicas": 1},
    STATEFUL_SETS: {
        **_HISTORY,
        "replicas": 1,
        "podManagementPolicy": "OrderedReady",
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"partition": 0}},
        "persistentVolumeClaimRetentionPolicy": {"whenDeleted": "Retain", "whenScaled": "Retain"},
    },
    DAEMON_SETS: {
        **_HISTORY,
        "updateStrategy": {"type": "RollingUpdate", "rollingUpdate": {"maxUnavailable": 1, "maxSurge": 0}},
    },
    JOBS: {
        "backoffLimit": 6,
        "completionMode": "NonIndexed",
        "manualSelector": False,
        "podReplacementPolicy": "TerminatingOrFailed",
        "suspend": False,
    },
}
_STATUSES: Final[Mapping[Resource, Json]] = {
    REPLICA_SETS: {"replicas": 0},
    STATEFUL_SETS: {"replicas": 0, "availableReplicas": 0},
    DAEMON_SETS: {
        "currentNumberScheduled": 0,
        "numberMisscheduled": 0,
        "desiredNumberScheduled": 0,
        "numberReady": 0,
    },
}
_JOB_LABELS: Final = ("batch.kubernetes.io/", "")
"""The prefixes under which a Job's pods are labelled: the new one and the one of old."""


def install(store: Store) -> None:
    """Let the store fill them in, whoever creates them."""
    for resource in _SPECS:
        store.defaulting[resource] = _filler(resource)


def _filler(resource: Resource) -> Callable[[Json], Json]:
    def fill(workload: Json) -> Json:
        spec = {**_SPECS[resource], **part(workload, "spec")}
        if "template" in spec:
            template = spec["template"]
            spec["template"] = {**template, "spec": template_spec(part(template, "spec"))}
        status = {**_STATUSES.get(resource, {}), **part(workload, "status")}
        full = {**workload, "spec": spec, "status": status}
        return _job(full) if resource is JOBS else full

    return fill


def _job(job: Json) -> Json:
    """A Job counts once unless it says otherwise, and finds its pods by a label with its own uid."""
    spec, meta = job["spec"], job["metadata"]
    if "completions" not in spec and "parallelism" not in spec:
        spec = {**spec, "completions": 1}
    spec = {"parallelism": 1, **spec}
    if "uid" in meta and not spec["manualSelector"]:
        labels = {
            f"{prefix}{name}": value
            for prefix in _JOB_LABELS
            for name, value in (("controller-uid", meta["uid"]), ("job-name", meta["name"]))
        }
        template = part(spec, "template")
        about = part(template, "metadata")
        spec["template"] = {**template, "metadata": {**about, "labels": {**part(about, "labels"), **labels}}}
        spec["selector"] = {"matchLabels": {"batch.kubernetes.io/controller-uid": meta["uid"]}}
        if "labels" not in meta:
            job = {**job, "metadata": {**meta, "labels": labels}}
    return {**job, "spec": spec}
