"""The same scripts of requests on a real and on a virtual API server: the same codes, reasons, words and objects."""

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

import pytest
import pytest_asyncio
import yaml

from growth.api.crd import definitions
from growth.kube.client import Client
from growth.kube.transport import Method, Request, Send
from growth_lab.local_cluster.cluster import LocalCluster
from growth_lab.simulator.api.rbac import service_account
from lab.tests.simulator.api.scripts import SCRIPTS
from lab.tests.simulator.api.scripts.drawn import drawn_script
from lab.tests.simulator.api.scripts.player import Json
from lab.tests.simulator.api.scripts.stages import REAL_CONTROLLERS, play_for_real, play_virtually
from lab.tests.simulator.api.worlds import World, in_a_world
from tests.repository import ROOT

pytestmark = pytest.mark.cluster

RBAC = ROOT / "charts" / "growth" / "rbac.yaml"
# Drawn scripts are played so many at a time; each watches for a second at its end.
SEEDS, AT_A_TIME = range(48), 8
# What the chart's role lacks, in each way in which something can be asked for.
REFUSED = (
    Request(Method.GET, "/api/v1/configmaps"),
    Request(Method.GET, "/api/v1/namespaces/default/secrets/one"),
    Request(Method.DELETE, "/api/v1/namespaces/default"),
    Request(Method.POST, "/apis/apps/v1/namespaces/default/deployments", body=b"{}"),
    Request(Method.PATCH, "/apis/apps/v1/namespaces/default/daemonsets/one/status", body=b"{}"),
    Request(Method.PUT, "/apis/scheduling.k8s.io/v1/priorityclasses/one", body=b"{}"),
    Request(Method.DELETE, "/api/v1/namespaces/default/pods"),
    Request(Method.POST, "/api/v1/namespaces/default/pods/one/binding", body=b"{}"),
)


@pytest_asyncio.fixture(scope="module", loop_scope="session")
async def quiet_server() -> AsyncGenerator[LocalCluster]:
    """An API server on which nobody but the script writes, with our definitions."""
    flags = {"kube-controller-manager": (f"--controllers={REAL_CONTROLLERS}",)}
    async with LocalCluster(flags=flags) as cluster:
        await cluster.apply(definitions())
        names = [definition["metadata"]["name"] for definition in definitions()]
        await cluster.kubectl("wait", "crd", "--for=condition=Established", "--timeout=30s", *names)
        yield cluster


@pytest.mark.parametrize("name", SCRIPTS)
async def test_both_servers_answer_alike(quiet_server: LocalCluster, name: str) -> None:
    real = await play_for_real(quiet_server.admin, SCRIPTS[name])
    assert await asyncio.to_thread(play_virtually, SCRIPTS[name]) == real  # it brings a loop of its own


@pytest.mark.parametrize("first", range(SEEDS.start, SEEDS.stop, AT_A_TIME))
async def test_both_servers_answer_alike_whatever_is_asked(quiet_server: LocalCluster, first: int) -> None:
    seeds = range(first, first + AT_A_TIME)
    real = await asyncio.gather(*(play_for_real(quiet_server.admin, drawn_script(seed)) for seed in seeds))
    for seed, answers in zip(seeds, real, strict=True):
        assert await asyncio.to_thread(play_virtually, drawn_script(seed)) == answers, f"seed {seed}"


async def test_both_servers_refuse_in_the_same_words_what_the_role_lacks(quiet_server: LocalCluster) -> None:
    await quiet_server.apply(RBAC)
    client: Client = await quiet_server.client_as("growth-system", "growth")
    documents: list[Any] = list(yaml.safe_load_all(RBAC.read_text()))

    async def on(world: World) -> list[Json]:
        return await answers_of(world.server.connect(service_account("growth-system", "growth")))

    virtual = await asyncio.to_thread(in_a_world, on, 1, documents)
    assert [answer["status"] for answer in virtual] == [403] * len(REFUSED)
    assert virtual == await answers_of(client.transport)


async def answers_of(send: Send) -> list[Json]:
    found = [await send.send(request) for request in REFUSED]
    return [{"status": answer.status, "body": yaml.safe_load(answer.body)} for answer in found]
