"""What may be changed in a pod after it was made."""

from lab.tests.simulator.api.scripts.player import Script, json_patch, merge, post
from lab.tests.simulator.api.scripts.reading import PODS, a_pod

MORE = {"key": "a", "operator": "Exists", "effect": "NoSchedule"}


def changed(**spec: object) -> Script:
    return (post(PODS, a_pod("one")), merge(f"{PODS}/one", {"spec": spec}, hides=("message",)))


SCRIPTS: dict[str, Script] = {
    "a pod's image may be changed": (
        post(PODS, a_pod("one")),
        json_patch(f"{PODS}/one", {"op": "replace", "path": "/spec/containers/0/image", "value": "example/app:2"}),
    ),
    "a pod's labels may be changed": (
        post(PODS, a_pod("one")),
        merge(f"{PODS}/one", {"metadata": {"labels": {"a": "b"}}}),
    ),
    "a pod's node cannot be set": changed(nodeName="some-node"),
    "a pod's priority cannot be changed": changed(priority=7),
    "a pod's selector cannot be changed": changed(nodeSelector={"a": "b"}),
    "a pod's deadline may be set": changed(activeDeadlineSeconds=60),
    "a pod may tolerate more": (
        post(PODS, a_pod("one")),
        json_patch(f"{PODS}/one", {"op": "add", "path": "/spec/tolerations/-", "value": MORE}),
        merge(f"{PODS}/one", {"spec": {"tolerations": []}}, hides=("message",)),
    ),
    "a pod's requests cannot be changed": (
        post(PODS, a_pod("one")),
        json_patch(
            f"{PODS}/one",
            {"op": "replace", "path": "/spec/containers/0/resources", "value": {"requests": {"cpu": "1"}}},
            hides=("message",),
        ),
    ),
    "a pod's containers cannot become more": (
        post(PODS, a_pod("one")),
        json_patch(
            f"{PODS}/one",
            {"op": "add", "path": "/spec/containers/-", "value": {"name": "b", "image": "b"}},
            hides=("message", "causes"),
        ),
    ),
}
