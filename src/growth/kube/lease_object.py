"""The Lease object on the API server: read it, make it, change it if nobody else did.

Each call is one request and no retries: those of the client could outlive a leader's deadline. Each carries its own
patience, and every change carries the resource version on which it was decided.
"""

from growth.api.core import Lease
from growth.api.kinds import LEASES
from growth.kube.client import Client
from growth.kube.lease_record import Spec
from growth.kube.patches import Json, MergePatch
from growth.kube.retrying import send_once
from growth.kube.transport import Method, Request


class LeaseObject:
    """One lease by its name."""

    def __init__(self, client: Client, name: str, namespace: str) -> None:
        self._client = client
        self._name = name
        self._namespace = namespace
        self._path = LEASES.path(name, namespace)

    async def read(self, patience: float) -> Lease:
        """As it is now; raises NotFound."""
        return await self._send(Request(Method.GET, self._path, timeout_seconds=patience))

    async def create(self, spec: Spec, patience: float) -> Lease:
        """Make it; raises AlreadyExists."""
        body: Json = {
            "apiVersion": LEASES.api_version,
            "kind": LEASES.name,
            "metadata": {"name": self._name, "namespace": self._namespace},
            "spec": spec,
        }
        content = MergePatch(body).encode()
        return await self._send(
            Request(Method.POST, LEASES.collection(self._namespace), body=content, timeout_seconds=patience)
        )

    async def change(self, seen: Lease, spec: Spec, patience: float) -> Lease:
        """Set fields, if it is still as we saw it; raises Conflict, NotFound."""
        patch = MergePatch({"metadata": {"resourceVersion": str(seen.metadata.resource_version)}, "spec": spec})
        return await self._send(
            Request(
                Method.PATCH,
                self._path,
                body=patch.encode(),
                content_type=patch.content_type,
                timeout_seconds=patience,
            )
        )

    async def _send(self, request: Request) -> Lease:
        return self._client.reader(LEASES).object((await send_once(self._client.transport, request)).body)

    def __str__(self) -> str:
        return f"lease {self._namespace}/{self._name}"
