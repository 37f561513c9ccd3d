"""A virtual cluster under the shipped role, with a NodeRequest and the Secret that its machine is started with."""

import base64
from collections.abc import Mapping
from typing import Any, Final

import yaml

from growth.api.kinds import SECRETS
from growth.api.machine import MachineRequest
from growth.api.node_pool import UserDataSecret
from growth.api.offering import Offering
from growth.cloud.hetzner.user_data import Renderer
from growth.kube.client import Client
from growth_lab.simulator import served_kinds
from growth_lab.simulator.api.rbac import service_account
from growth_lab.simulator.cluster import VirtualCluster
from tests.repository import ROOT

ROLES: Final[list[dict[str, Any]]] = list(yaml.safe_load_all((ROOT / "charts" / "growth" / "rbac.yaml").read_text()))
NAMESPACE: Final = "growth-system"
SECRET: Final = "growth-user-data"
CAX11: Final = Offering("hetzner-cax11-fsn1", "hetzner", "cax11", "fsn1", 0.01, arch="arm64")
NODE_REQUESTS: Final = next(one for one in served_kinds.OURS if one.kind == "NodeRequest")


class VirtualStart:
    """Everything that rendering needs, for one test on virtual time."""

    def __init__(self, texts: Mapping[str, str | bytes] | None = None, *, name: str = SECRET) -> None:
        self.cluster = VirtualCluster(1, roles=ROLES)
        self.store, self.clock = self.cluster.store, self.cluster.clock
        self.store.create(served_kinds.NAMESPACES, {"metadata": {"name": NAMESPACE}})
        if texts is not None:
            raw = {key: text.encode() if isinstance(text, str) else text for key, text in texts.items()}
            data = {key: base64.b64encode(value).decode() for key, value in raw.items()}
            self.store.create(served_kinds.SECRETS, {"metadata": {"name": name, "namespace": NAMESPACE}, "data": data})

    def client(self) -> Client:
        return self.cluster.client(service_account(NAMESPACE, "growth"))

    def renderer(self) -> Renderer:
        """A new one: what the last one knew, it does not know."""
        return Renderer(self.client(), NAMESPACE, "shop", self.clock.now)

    def ask(self, name: str = "web-1", key: str = "user-data", secret: str = SECRET) -> MachineRequest:
        """A machine of a NodeRequest that is there."""
        spec = {"pool": "web", "targetOffering": CAX11.id}
        made = self.store.create(NODE_REQUESTS, {"metadata": {"name": name}, "spec": spec})
        return MachineRequest(
            name, CAX11, "web", user_data_secret=UserDataSecret(secret, key), uid=made["metadata"]["uid"]
        )

    async def tokens(self) -> list[dict[str, str]]:
        """What is written about each join token."""
        found = (await self.cluster.admin().list(SECRETS, "kube-system")).items
        return [{key: value.decode() for key, value in secret.data.items()} for secret in found]
