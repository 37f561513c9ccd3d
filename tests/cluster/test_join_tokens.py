"""A real API server knows Growth's join tokens, and its garbage collector takes them along with their NodeRequests."""

import secrets
from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from typing import Any

import msgspec
import pytest

from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import SECRETS
from growth.api.machine import MachineRequest
from growth.api.offering import Offering
from growth.cloud.hetzner.join_tokens import JoinTokens
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import Client, connect
from growth.kube.credentials import StaticCredentials, bearer
from growth.kube.errors import Forbidden, Unauthorized
from growth.kube.transport import Method, Request
from growth_lab.local_cluster.cluster import LocalCluster
from tests.cluster.conftest import wait_until
from tests.cluster.test_role import ACCOUNT, NAMESPACE, RBAC, install_kinds

pytestmark = pytest.mark.cluster

CAX11 = Offering("hetzner-cax11-fsn1", "hetzner", "cax11", "fsn1", 0.01, arch="arm64")


@pytest.fixture
def name() -> str:
    return f"join-{secrets.token_hex(4)}"


async def asked_for(admin: Client, name: str) -> MachineRequest:
    spec = {"pool": "join", "targetOffering": CAX11.id}
    made = await admin.create(NODE_REQUESTS, {"metadata": {"name": name}, "spec": spec})
    return MachineRequest(name, CAX11, "join", uid=made.metadata.uid)


@asynccontextmanager
async def joining_with(control_plane: LocalCluster, token: str) -> AsyncGenerator[Client]:
    """Somebody who has nothing but the token."""
    admins = access_from_kubeconfig(control_plane.kubeconfig)
    async with connect(
        msgspec.structs.replace(admins, credentials=StaticCredentials(lambda: bearer(token, "test")))
    ) as client:
        yield client


async def who_is(client: Client) -> dict[str, Any]:
    review = {"apiVersion": "authentication.k8s.io/v1", "kind": "SelfSubjectReview"}
    path = "/apis/authentication.k8s.io/v1/selfsubjectreviews"
    answer = await client.request(Request(Method.POST, path, body=msgspec.json.encode(review)))
    return msgspec.json.decode(answer.body)["status"]["userInfo"]


async def test_the_token_lets_a_machine_in_until_its_request_is_gone(control_plane: LocalCluster, name: str) -> None:
    await control_plane.apply(RBAC)
    await install_kinds(control_plane)
    admin, growth = control_plane.admin, await control_plane.client_as(NAMESPACE, ACCOUNT)
    request = await asked_for(admin, name)
    token = await JoinTokens(growth, lambda: datetime.now(UTC)).token_for(request)
    async with joining_with(control_plane, token) as machine:
        user = await who_is(machine)
        assert user["username"] == f"system:bootstrap:{token[:6]}"
        assert {"system:bootstrappers", "system:bootstrappers:kubeadm:default-node-token"} <= set(user["groups"])
        with pytest.raises(Forbidden):
            await machine.list(SECRETS, "kube-system")
        (secret,) = [
            one for one in (await admin.list(SECRETS, "kube-system")).items if one.metadata.name.endswith(token[:6])
        ]
        assert secret.metadata.owner_references[0].uid == request.uid
        await admin.delete(NODE_REQUESTS, name)

        async def is_collected() -> bool:
            return all(
                one.metadata.uid != secret.metadata.uid for one in (await admin.list(SECRETS, "kube-system")).items
            )

        # The collector looks for new kinds every 30 s, and ours may be new to it.
        await wait_until(is_collected, "the token was collected with its request", 90)

        async def is_shut_out() -> bool:
            try:
                await who_is(machine)
            except Unauthorized:
                return True
            return False

        await wait_until(is_shut_out, "the token let nobody in any more")


async def test_a_token_whose_hour_is_over_lets_nobody_in(control_plane: LocalCluster, name: str) -> None:
    await install_kinds(control_plane)
    request = await asked_for(control_plane.admin, name)
    tokens = JoinTokens(control_plane.admin, lambda: datetime.now(UTC) - timedelta(minutes=61))
    async with joining_with(control_plane, await tokens.token_for(request)) as machine:
        with pytest.raises(Unauthorized):
            await who_is(machine)
    await control_plane.admin.delete(NODE_REQUESTS, name)
