"""Servers become nodes: registered closed, ready, silent without power, back with it, and left behind when deleted."""

import asyncio
from collections.abc import Awaitable, Callable

import msgspec

from growth.api.quantity import value
from growth_lab.hetzner_sandbox.faults import CutOff, PowerCut, Vanish
from growth_lab.hetzner_sandbox.kwok_nodes import KwokNodes
from growth_lab.hetzner_sandbox.messages import request_from
from growth_lab.hetzner_sandbox.node_manifest import node_manifest
from growth_lab.hetzner_sandbox.sandbox import TOKEN, Sandbox
from growth_lab.simulator.cluster import VirtualCluster
from growth_lab.simulator.served_kinds import CSI_NODES, NODES
from growth_lab.simulator.virtual_loop import run_virtually
from lab.tests.hetzner_sandbox.box import Box, Json, wanted
from tests.virtual_time import wait_until

ARGUMENTS = "--node-labels=growth.dev/pool=default --register-with-taints=growth.dev/starting=Web-1:NoSchedule"


class Scene:
    """A virtual cluster and a sandbox on one clock."""

    def __init__(self) -> None:
        self.cluster = VirtualCluster(1)
        self.sandbox = Sandbox(self.cluster.clock.now)

    def ask(self, method: str, path: str, body: Json = None) -> Json:
        content = b"" if body is None else msgspec.json.encode(body)
        answer = self.sandbox.answer(request_from(method, f"/v1{path}", f"Bearer {TOKEN}", content))
        assert answer.status < 300, answer
        return answer.body

    def node(self, name: str = "web-1") -> Json:
        return self.cluster.store.get(NODES, name)

    def is_ready(self, name: str = "web-1") -> bool:
        node = self.node(name)
        conditions: list[Json] = node["status"].get("conditions", []) if node else []
        return any(one["type"] == "Ready" and one["status"] == "True" for one in conditions)

    def boot_id(self) -> str:
        return self.node()["status"]["nodeInfo"]["bootID"]

    async def booted(self) -> int:
        server = self.ask("POST", "/servers", wanted("Web-1", user_data=ARGUMENTS))["server"]["id"]
        await wait_until(self.is_ready)
        return server


def on_scene(play: Callable[[Scene], Awaitable[None]]) -> None:
    async def stage() -> None:
        scene = Scene()
        nodes = asyncio.create_task(KwokNodes(scene.cluster.admin(), scene.sandbox).run())
        try:
            await play(scene)
            assert not nodes.done(), "it ended by itself"
        finally:
            nodes.cancel()
            await asyncio.gather(nodes, return_exceptions=True)

    run_virtually(stage())


def test_a_server_that_runs_is_a_node_as_its_user_data_says() -> None:
    async def play(scene: Scene) -> None:
        asked_at = scene.cluster.clock.seconds()
        server = await scene.booted()
        assert 5 <= scene.cluster.clock.seconds() - asked_at <= 8
        node = scene.node()
        assert node["spec"]["providerID"] == f"hcloud://{server}"
        assert node["metadata"]["labels"]["growth.dev/pool"] == "default"
        assert node["metadata"]["labels"]["kubernetes.io/arch"] == "arm64"
        assert [(one["key"], one["value"]) for one in node["spec"]["taints"]] == [("growth.dev/starting", "Web-1")]
        assert scene.cluster.store.get(CSI_NODES, "web-1")

    on_scene(play)


def test_without_power_it_falls_silent_and_with_power_it_returns_as_another_boot() -> None:
    async def play(scene: Scene) -> None:
        server = await scene.booted()
        first = scene.boot_id()
        scene.ask("POST", f"/servers/{server}/actions/poweroff")
        await wait_until(lambda: not scene.is_ready())
        scene.ask("POST", f"/servers/{server}/actions/poweron")
        await wait_until(scene.is_ready)
        assert scene.boot_id() != first

    on_scene(play)


def test_a_power_cut_is_noticed_and_a_short_reset_shows_in_the_boot_alone() -> None:
    async def play(scene: Scene) -> None:
        server = await scene.booted()
        first = scene.boot_id()
        scene.ask("POST", f"/servers/{server}/actions/reset")
        await wait_until(lambda: scene.boot_id() != first)
        assert scene.is_ready()
        scene.sandbox.order(PowerCut(server="Web-1"))
        await wait_until(lambda: not scene.is_ready())

    on_scene(play)


def test_a_node_whose_server_is_gone_stays_and_is_silent() -> None:
    async def play(scene: Scene) -> None:
        await scene.booted()
        scene.sandbox.order(Vanish(server="Web-1"))
        await wait_until(lambda: not scene.is_ready())
        await asyncio.sleep(3600)
        assert scene.node() is not None

    on_scene(play)


def test_a_server_that_is_cut_off_runs_unseen_until_it_is_connected_again() -> None:
    async def play(scene: Scene) -> None:
        server = await scene.booted()
        first = scene.boot_id()
        scene.sandbox.order(CutOff(server="web-*"))
        await wait_until(lambda: not scene.is_ready())
        assert scene.ask("GET", f"/servers/{server}")["server"]["status"] == "running"
        scene.sandbox.clear_faults()
        await wait_until(scene.is_ready)
        assert scene.boot_id() == first

    on_scene(play)


def test_a_server_that_boots_cut_off_never_becomes_a_node_and_one_elsewhere_does() -> None:
    async def play(scene: Scene) -> None:
        scene.sandbox.order(CutOff(location="fsn1"))
        scene.ask("POST", "/servers", wanted("web-1", location="fsn1"))
        scene.ask("POST", "/servers", wanted("web-2", location="hel1"))
        await wait_until(lambda: scene.is_ready("web-2"))
        await asyncio.sleep(3600)
        assert scene.node("web-1") is None

    on_scene(play)


def test_a_node_that_somebody_deleted_registers_again_while_its_server_runs() -> None:
    async def play(scene: Scene) -> None:
        await scene.booted()
        uid = scene.node()["metadata"]["uid"]
        scene.cluster.store.delete(NODES, "web-1")
        await wait_until(scene.is_ready)
        assert scene.node()["metadata"]["uid"] != uid

    on_scene(play)


def test_nodes_of_others_are_left_alone() -> None:
    async def play(scene: Scene) -> None:
        labels = {"kwok.x-k8s.io/node": "fake"}
        foreign = {"metadata": {"name": "foreign", "labels": labels}, "spec": {"providerID": "kwok://a/b"}}
        scene.cluster.store.create(NODES, foreign)
        await wait_until(lambda: scene.is_ready("foreign"))
        await scene.booted()
        await asyncio.sleep(60)
        assert scene.is_ready("foreign")

    on_scene(play)


def test_a_node_is_a_little_smaller_than_its_server_and_keeps_what_it_is_told() -> None:
    box = Box()
    box.running("plain")
    box.running("told", user_data="--kube-reserved=cpu=100m,memory=1Gi")
    plain, told = (node_manifest(server)["status"] for server in box.sandbox.servers())
    assert plain["capacity"] == {"cpu": "2", "memory": "3932Mi", "ephemeral-storage": "35858Mi", "pods": "110"}
    assert (plain["allocatable"]["cpu"], value(plain["allocatable"]["memory"])) == ("2", 3832 * 1024**2)
    assert (told["allocatable"]["cpu"], value(told["allocatable"]["memory"])) == ("1900m", 2808 * 1024**2)
