# pyright: basic, reportOptionalMemberAccess=false, reportArgumentType=false, reportAttributeAccessIssue=false
"""Other clients doing the same work: list everything, keep it by uid and by node, follow the events.

Neither library is typed well enough for strict checking. Each is imported by its own run only, so that its memory
shows in no other.
"""

from collections import defaultdict
from collections.abc import Iterator
from itertools import islice
from typing import Any, Final

from bench.meter import Meter


class _PeerIndex:
    """What a user of a plain client would keep at the least."""

    def __init__(self) -> None:
        self.by_uid: dict[str, Any] = {}
        self._by_node: defaultdict[str, dict[str, Any]] = defaultdict(dict)

    def keep(self, happened: str, uid: str, node: str, pod: object) -> None:
        if happened == "DELETED":
            self.by_uid.pop(uid, None)
            self._by_node[node].pop(uid, None)
        else:
            self.by_uid[uid] = self._by_node[node][uid] = pod


def measure_lightkube(kubeconfig: str, events: int) -> dict[str, Any]:
    from lightkube import Client, KubeConfig  # noqa: PLC0415 - costs memory that only its own run may show
    from lightkube.resources.core_v1 import Node, Pod  # noqa: PLC0415

    client = Client(config=KubeConfig.from_file(kubeconfig))
    meter = Meter()
    nodes = {node.metadata.uid: node for node in client.list(Node, chunk_size=500)}
    index = _PeerIndex()
    for pod in client.list(Pod, namespace="*", chunk_size=500):
        index.keep("ADDED", pod.metadata.uid, pod.spec.nodeName, pod)
    listed = meter.read()
    meter = Meter()
    for happened, pod in islice(client.watch(Pod, namespace="*", resource_version="1000000"), events):
        index.keep(happened, pod.metadata.uid, pod.spec.nodeName, pod)
    return {"nodes": len(nodes), "pods": len(index.by_uid), "list": listed, "watch": meter.read()}


def measure_kubernetes(kubeconfig: str, events: int) -> dict[str, Any]:
    from kubernetes import client, config, watch  # noqa: PLC0415 - as above

    config.load_kube_config(kubeconfig)
    core = client.CoreV1Api()
    meter = Meter()
    nodes = {node.metadata.uid: node for node in _pages(core.list_node)}
    index = _PeerIndex()
    for pod in _pages(core.list_pod_for_all_namespaces):
        index.keep("ADDED", pod.metadata.uid, pod.spec.node_name, pod)
    listed = meter.read()
    meter = Meter()
    stream = watch.Watch().stream(core.list_pod_for_all_namespaces, resource_version="1000000")
    for event in islice(stream, events):
        pod = event["object"]
        index.keep(event["type"], pod.metadata.uid, pod.spec.node_name, pod)
    return {"nodes": len(nodes), "pods": len(index.by_uid), "list": listed, "watch": meter.read()}


def _pages(call: Any) -> Iterator[Any]:  # noqa: ANN401 - untyped library
    token = None
    while True:
        page = call(limit=500, _continue=token)
        yield from page.items
        token = page.metadata._continue  # noqa: SLF001 - the library's name for a keyword
        if not token:
            return


PEERS: Final = {"kubernetes": measure_kubernetes, "lightkube": measure_lightkube}
