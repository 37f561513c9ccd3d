"""The plainer kinds: what they are filled in with, and what their deletion answers."""

from typing import Any

from lab.tests.simulator.api.scripts.player import Script, delete, get, merge, post, put
from lab.tests.simulator.api.scripts.writing import LEASES

SPACE = "/api/v1/namespaces/{ns}"
STORAGE, APPS = "/apis/storage.k8s.io/v1", "/apis/apps/v1/namespaces/{ns}"
CONTAINERS = [{"name": "a", "image": "a:1"}]
TEMPLATE = {"metadata": {"labels": {"app": "x"}}, "spec": {"containers": CONTAINERS}}
SELECTED = {"selector": {"matchLabels": {"app": "x"}}, "template": TEMPLATE}
DISK = {"accessModes": ["ReadWriteOnce"], "storageClassName": "x", "resources": {"requests": {"storage": "1Gi"}}}
VOLUME = {"accessModes": ["ReadWriteOnce"], "capacity": {"storage": "1Gi"}, "csi": {"driver": "d", "volumeHandle": "h"}}
HAPPENING = {
    "eventTime": "2026-03-02T09:00:00.000001Z",
    "reportingController": "example.org/a",
    "reportingInstance": "a-0",
    "action": "Testing",
    "reason": "Tested",
    "regarding": {"namespace": "{ns}", "kind": "Pod", "name": "x"},
    "type": "Normal",
}


def life(path: str, **fields: Any) -> Script:  # noqa: ANN401 - any JSON
    """Made, changed, deleted, looked for."""
    hides = ("lastPhaseTransitionTime", "annotations")
    one = f"{path}/one-{{id}}"
    return (
        post(path, {"metadata": {"name": "one-{id}"}, **fields}, hides=hides),
        merge(one, {"metadata": {"labels": {"a": "b"}}}, hides=hides),
        delete(one, hides=hides),
        get(one, hides=hides),
    )


SCRIPTS: dict[str, Script] = {
    "the life of a claim": life(f"{SPACE}/persistentvolumeclaims", spec=DISK),
    "the life of a volume": life("/api/v1/persistentvolumes", spec=VOLUME),
    "the life of a storage class": life(f"{STORAGE}/storageclasses", provisioner="x"),
    "the life of a CSI node": life(f"{STORAGE}/csinodes", spec={"drivers": []}),
    "the life of a CSI driver": life(f"{STORAGE}/csidrivers", spec={}),
    "the life of a storage capacity": life(STORAGE + "/namespaces/{ns}/csistoragecapacities", storageClassName="x"),
    "the life of an attachment": life(
        f"{STORAGE}/volumeattachments",
        spec={"attacher": "x", "nodeName": "n", "source": {"persistentVolumeName": "pv"}},
    ),
    "the life of a secret": life(f"{SPACE}/secrets", data={"a": "YQ=="}),
    "the life of a priority class": life("/apis/scheduling.k8s.io/v1/priorityclasses", value=5),
    "the life of a Deployment": life(f"{APPS}/deployments", spec=SELECTED),
    "the life of a ReplicaSet": life(f"{APPS}/replicasets", spec=SELECTED),
    "the life of a StatefulSet": life(f"{APPS}/statefulsets", spec={**SELECTED, "serviceName": "x"}),
    "the life of a DaemonSet": life(f"{APPS}/daemonsets", spec=SELECTED),
    "the life of a Job": life(
        "/apis/batch/v1/namespaces/{ns}/jobs",
        spec={"template": {"spec": {"restartPolicy": "Never", "containers": CONTAINERS}}},
    ),
    "the life of an event": life("/apis/events.k8s.io/v1/namespaces/{ns}/events", **HAPPENING),
    "a lease is replaced by those who saw it": (
        post(LEASES, {"metadata": {"name": "one"}}),
        put(f"{LEASES}/one", {"metadata": {"name": "one"}}),
    ),
    "a namespace is looked at and labelled": (
        get(SPACE),
        get(f"{SPACE}/status"),
        merge(SPACE, {"metadata": {"labels": {"x": "y"}}}),
    ),
}
