"""Scenes of workloads that are played on a real and on a virtual cluster, and what is compared after each step.

A scene only sends requests. What is compared is what controllers decide: counts, conditions, phases and who owns what;
names that are drawn, hashes and times are not.
"""

import json
from collections.abc import Sequence
from typing import Any, Final

from growth.kube.transport import Method, Request, Send
from growth_lab.simulator.json_parts import part, parts

Json = dict[str, Any]

APPS: Final = "/apis/apps/v1"
BATCH: Final = "/apis/batch/v1"
POLICY: Final = "/apis/policy/v1"
SCENE: Final = "scene"
"""The label of the nodes of one scene; its value is the namespace."""
_COMPARED: Final = (
    (APPS, "deployments"),
    (APPS, "replicasets"),
    (APPS, "statefulsets"),
    (APPS, "daemonsets"),
    (BATCH, "jobs"),
    (POLICY, "poddisruptionbudgets"),
    ("/api/v1", "persistentvolumeclaims"),
)
# Times, hashes, and in how many steps something was reached.
_HIDDEN: Final = ("startTime", "completionTime", "currentRevision", "updateRevision", "observedGeneration")
STORAGE: Final = "/apis/storage.k8s.io/v1"
_SAID: Final = ("type", "status", "reason")


class World:
    """One namespace and two nodes of one cluster, on either side."""

    def __init__(self, send: Send, namespace: str, nodes: Sequence[str]) -> None:
        self._send, self.namespace, self._nodes = send, namespace, nodes

    def template(self, app: str, **spec: Any) -> Json:  # noqa: ANN401
        """A template of pods that go to this world's nodes."""
        return {
            "metadata": {"labels": {"app": app}},
            "spec": {
                "containers": [{"name": "app", "image": "shop/app:1"}],
                "terminationGracePeriodSeconds": 1,
                "nodeSelector": {SCENE: self.namespace},
                **spec,
            },
        }

    def workload(self, name: str, **spec: Any) -> Json:  # noqa: ANN401
        """A Deployment, StatefulSet or DaemonSet."""
        body = {"selector": {"matchLabels": {"app": name}}, "template": self.template(name), **spec}
        return {"metadata": {"name": name}, "spec": body}

    async def post(self, root: str, plural: str, body: Json) -> None:
        await self._ask(Method.POST, f"{root}/namespaces/{self.namespace}/{plural}", body)

    async def post_for_all(self, root: str, plural: str, body: Json) -> None:
        """Something that lives in no namespace: its name begins with this one's."""
        await self._ask(Method.POST, f"{root}/{plural}", body)

    async def delete_for_all(self, root: str, path: str) -> None:
        await self._ask(Method.DELETE, f"{root}/{path}", {})

    async def patch(self, root: str, path: str, body: Json) -> None:
        await self._ask(Method.PATCH, f"{root}/namespaces/{self.namespace}/{path}", body)

    async def delete(self, root: str, path: str, **options: object) -> None:
        await self._ask(Method.DELETE, f"{root}/namespaces/{self.namespace}/{path}", {**options})

    async def label_nodes(self, **labels: str | None) -> None:
        for name in self._nodes:
            await self._ask(Method.PATCH, f"/api/v1/nodes/{name}", {"metadata": {"labels": labels}})

    async def pods(self, app: str) -> list[Json]:
        """The pods of a workload that are not on their way out, by name."""
        found = [pod for pod in await self._own("/api/v1", "pods") if pod["metadata"]["labels"].get("app") == app]
        return sorted(
            (pod for pod in found if "deletionTimestamp" not in pod["metadata"]),
            key=lambda pod: pod["metadata"]["name"],
        )

    async def end_a_pod(self, app: str, phase: str) -> None:
        """Let a running pod end."""
        running = [pod for pod in await self.pods(app) if part(pod, "status").get("phase") == "Running"]
        name = running[0]["metadata"]["name"]
        await self.patch("/api/v1", f"pods/{name}/status", {"status": {"phase": phase}})

    async def view(self) -> Json:
        """What is compared."""
        sets = await self._own(APPS, "replicasets")
        names = {known["metadata"]["name"]: _revised(known) for known in sets}
        view: Json = {}
        for root, plural in _COMPARED:
            shown = [_shown(known, names) for known in await self._own(root, plural)]
            view[plural] = sorted(shown, key=lambda entry: entry["name"])
        volumes = await self._list("/api/v1/persistentvolumes")
        own = [volume for volume in volumes if volume["metadata"]["name"].startswith(self.namespace)]
        view["volumes"] = sorted(_volume(volume) for volume in own)
        view["pods"] = sorted(_pod(pod, names) for pod in await self._own("/api/v1", "pods"))
        return view

    async def _own(self, root: str, plural: str) -> list[Json]:
        return await self._list(f"{root}/namespaces/{self.namespace}/{plural}")

    async def _list(self, path: str) -> list[Json]:
        return (await self._ask(Method.GET, path))["items"]

    async def _ask(self, method: Method, path: str, body: Json | None = None) -> Json:
        kind = "application/merge-patch+json" if method is Method.PATCH else "application/json"
        text = json.dumps(body).encode() if body is not None else b""
        answer = await self._send.send(Request(method, path, body=text, content_type=kind))
        assert answer.status < 300, f"{method} {path}: {answer.body.decode()}"
        return json.loads(answer.body)


def _revised(replica_set: Json) -> str:
    owner = part(replica_set, "metadata")["ownerReferences"][0]["name"]
    return f"{owner} #{replica_set['metadata']['annotations']['deployment.kubernetes.io/revision']}"


def _shown(thing: Json, names: dict[str, str]) -> Json:
    status = {key: value for key, value in part(thing, "status").items() if key not in _HIDDEN}
    if "conditions" in status:
        said = [tuple(condition[field] for field in _SAID) for condition in status["conditions"]]
        status["conditions"] = sorted(said)
    name = thing["metadata"]["name"]
    return {"name": names.get(name, name), "replicas": part(thing, "spec").get("replicas"), **status}


def _volume(volume: Json) -> tuple[str, str, str, bool]:
    meta, owner = volume["metadata"], part(volume, "spec", "claimRef")
    phase = part(volume, "status").get("phase", "")
    return meta["name"], phase, owner.get("name", ""), "deletionTimestamp" in meta


def _pod(pod: Json, names: dict[str, str]) -> tuple[str, str, bool]:
    owners = parts(pod["metadata"], "ownerReferences")
    owner = owners[0]["name"] if owners else "nobody"
    conditions = parts(pod, "status", "conditions")
    is_ready = any(known["type"] == "Ready" and known["status"] == "True" for known in conditions)
    return names.get(owner, owner), part(pod, "status")["phase"], is_ready


def a_budget(name: str, app: str, **spec: Any) -> Json:  # noqa: ANN401
    return {"metadata": {"name": name}, "spec": {"selector": {"matchLabels": {"app": app}}, **spec}}
