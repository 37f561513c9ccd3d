"""The pods of a StatefulSet: each has an ordinal, a name made of it, and claims of its own."""

from collections.abc import Mapping
from typing import Any

from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json
from growth_lab.simulator.served_kinds import CLAIMS, PODS, STATEFUL_SETS
from growth_lab.simulator.store import Store
from growth_lab.simulator.workloads.pod_from_template import pod_from_template

REVISION = "controller-revision-hash"


def ordinal_of(pod: Json) -> int:
    """The number at the end of its name."""
    return int(pod["metadata"]["name"].rpartition("-")[2])


def make_pod(store: Store, stateful_set: Json, ordinal: int, template: Mapping[str, Any], revision: str) -> bool:
    """Make the claims, then the pod. False if a claim of that name is still on its way out."""
    name = f"{stateful_set['metadata']['name']}-{ordinal}"
    spec = stateful_set["spec"]
    claims = {
        claim["metadata"]["name"]: f"{claim['metadata']['name']}-{name}"
        for claim in parts(spec, "volumeClaimTemplates")
    }
    if not _make_claims(store, stateful_set, claims):
        return False
    others = [volume for volume in parts(template["spec"], "volumes") if volume["name"] not in claims]
    own = [{"name": volume, "persistentVolumeClaim": {"claimName": claim}} for volume, claim in claims.items()]
    identity: Json = {"hostname": name}
    if spec.get("serviceName"):
        identity["subdomain"] = spec["serviceName"]
    if own or others:
        identity["volumes"] = [*own, *others]
    labels = {
        "apps.kubernetes.io/pod-index": str(ordinal),
        REVISION: revision,
        "statefulset.kubernetes.io/pod-name": name,
    }
    pod = pod_from_template(template, stateful_set, STATEFUL_SETS, name=name, labels=labels, spec=identity)
    store.create(PODS, pod)
    return True


def _make_claims(store: Store, stateful_set: Json, claims: Mapping[str, str]) -> bool:
    namespace = stateful_set["metadata"]["namespace"]
    selected = part(stateful_set["spec"]["selector"], "matchLabels")
    for written in parts(stateful_set["spec"], "volumeClaimTemplates"):
        name = claims[written["metadata"]["name"]]
        known = store.get(CLAIMS, name, namespace)
        if known is not None:
            if "deletionTimestamp" in known["metadata"]:
                return False
            continue
        meta = {
            **written["metadata"],
            "name": name,
            "namespace": namespace,
            "labels": {**part(written["metadata"], "labels"), **selected},
            # Admission adds it to every claim; the volume controllers take it off.
            "finalizers": ["kubernetes.io/pvc-protection"],
        }
        body = {"metadata": meta, "spec": {"volumeMode": "Filesystem", **written["spec"]}}
        store.create(CLAIMS, {**body, "status": {"phase": "Pending"}})
    return True
