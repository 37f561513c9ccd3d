"""``growth plan`` on virtual clusters: what it foretells comes true, and it changes nothing; and how it ends if it
cannot."""

import io
import json
import os
import signal
import socket
import threading
from collections.abc import AsyncGenerator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import msgspec
import pytest
from click.testing import CliRunner, Result
from rich.console import Console

from bench.standin import running
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import NODES, POD_DISRUPTION_BUDGETS, PODS
from growth.api.offering import INSTANCE_TYPE
from growth.api.settings.model import KwokSettings, Settings
from growth.cli.errors import NotDone, UsageError
from growth.cli.main import main
from growth.cli.plan import PlanOptions, compute, show
from growth.cli.plan_inputs import read_world
from growth.cloud.errors import Unavailable
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.kube.transport import Request, Response, Send, Stream
from growth.run.logs import silent_logs
from growth.run.provider_poller import OpenProvider, open_providers
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import CATALOGUE, QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.workloads import DEPLOYMENTS
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence


class OnlyReading:
    """A way to the server on which nothing may be written."""

    def __init__(self, send: Send) -> None:
        self._send = send

    async def send(self, request: Request) -> Response:
        assert not request.writes, f"{request.method} {request.path}"
        return await self._send.send(request)

    @asynccontextmanager
    async def stream(self, request: Request) -> AsyncGenerator[Stream]:
        async with self._send.stream(request) as stream:
            yield stream

    def clock(self) -> float:
        return self._send.clock()

    async def close(self) -> None:
        await self._send.close()


class Person:
    """Somebody who asks for plans, with the settings that Growth has, and the right to look."""

    def __init__(self, play: Play, folder: Path) -> None:
        catalogue = folder / "catalogue.yaml"
        catalogue.write_text(CATALOGUE)
        self._play = play
        self._settings: Settings = msgspec.structs.replace(QUICK, kwok=KwokSettings(catalogue=str(catalogue)))

    async def sees(self, width: int = 100, **options: Any) -> str:  # noqa: ANN401 - the fields of a Wish
        client = Client(OnlyReading(self._play.client.transport))
        openers = open_providers(self._settings, self._play.now, is_looking=True)
        out, aside = io.StringIO(), Console(file=io.StringIO())
        world = await read_world(client, openers, self._play.now, aside)
        report = compute(world, self._settings, PlanOptions(**options), self._play.now(), aside)
        show(report, PlanOptions(**options), Console(file=out, width=width, highlight=False))
        return out.getvalue()


async def an_app(play: Play, name: str, replicas: int, cpu: str) -> None:
    template = {"metadata": {"labels": {"app": name}}, "spec": play.pod_spec(cpu, nodeSelector={})}
    spec = {"replicas": replicas, "selector": {"matchLabels": {"app": name}}, "template": template}
    await play.create(DEPLOYMENTS, {"metadata": {"name": name}, "spec": spec})


async def _all_wait(play: Play, count: int) -> None:
    async def do_they() -> bool:
        return sum(pod.is_refused for pod in (await play.client.list(PODS)).items) == count

    await play.until_found(do_they, f"{count} pods were refused")


async def _types(play: Play) -> list[str]:
    return sorted(node.metadata.labels[INSTANCE_TYPE] for node in (await play.client.list(NODES)).items)


def test_what_it_foretells_is_what_growth_buys_and_then_what_would_be_cheaper(tmp_path: Path) -> None:
    told: dict[str, str] = {}
    launched: list[str] = []

    async def tell(play: Play) -> None:
        person = Person(play, tmp_path)
        await a_pool(play, disruption={"minNodeAge": "0s"})
        await an_app(play, "web", 4, "1500m")
        await play.pod("huge", cpu="64", nodeSelector={})
        await _all_wait(play, 5)
        told["waiting"] = await person.sees()
        told["json"] = await person.sees(is_json=True)
        async with growing(play):

            async def do_they_run() -> bool:
                pods = (await play.client.list(PODS)).items
                return sum(pod.status.phase == "Running" for pod in pods) == 4

            await play.until_found(do_they_run, "they run")
            launched.extend(await _types(play))
            await play.delete(PODS, "huge")
            await play.change(DEPLOYMENTS, "web", {"spec": {"replicas": 1}})

            async def is_one_left() -> bool:
                return len((await play.client.list(PODS)).items) == 1

            await play.until_found(is_one_left, "one is left")
            budget = {"selector": {"matchLabels": {"app": "web"}}, "maxUnavailable": 1}
            await play.create(POD_DISRUPTION_BUDGETS, {"metadata": {"name": "web"}, "spec": budget})

            async def is_counted() -> bool:
                budgets = (await play.client.list(POD_DISRUPTION_BUDGETS)).items
                return all(one.status.disruptions_allowed == 1 for one in budgets)

            await play.until_found(is_counted, "the budget is counted")
            told["optimise"] = await person.sees(optimise=True)
            told["moves"] = await person.sees(optimise=True, is_json=True, pool="default")
        assert len(play.trace.objects[NODE_REQUESTS]) == len(launched)

    with silent_logs():
        play_virtually(tell, alone=True)

    lines = told["waiting"].splitlines()
    assert lines[0] == "5 pods wait   1 machine to buy   0.0370 an hour, 27.01 a month"
    assert "1 x large fsn1" in told["waiting"]
    assert "! Growth has not taken up default yet: this is what it will do once it runs" in told["waiting"]
    known = json.loads(told["json"])
    assert [one["server_type"] for one in known["machines"]] == launched == ["large"]
    assert len(known["machines"][0]["pods"]) == 4
    (huge,) = known["homeless"]
    assert huge == {"pod": "story/huge", "why": "needs 64 CPU; largest offering in pool default has 7.9"}
    (step,) = json.loads(told["moves"])["steps"]
    assert (step["form"], [one["server_type"] for one in step["buying"]]) == ("replace", ["small"])
    assert len(step["moving"]) == 1
    assert step["saves_per_hour"] == pytest.approx(0.027)
    assert step["risks"][0] == "disruption budget story/web allows 1 now, and the move needs 1"
    assert "after 1 move" in told["optimise"]
    assert "replace" in told["optimise"]
    assert "made for the pods that are there now" in told["optimise"]


# How it ends


def told_by(openers: Mapping[str, OpenProvider]) -> None:
    async def tell(play: Play) -> None:
        await read_world(play.client, openers, play.now, Console(file=io.StringIO()))

    play_virtually(tell)


def test_without_a_provider_nobody_knows_a_price() -> None:
    with pytest.raises(UsageError, match=r"providers.enabled names no provider.*--settings FILE"):
        told_by({})


def test_if_no_provider_answers_that_is_said() -> None:
    @asynccontextmanager
    async def silent(_: Client) -> AsyncGenerator[Provider]:
        raise Unavailable("no route to host", may_have_acted=False)
        yield

    with pytest.raises(NotDone, match=r"what machines cost: far does not answer \(no route to host\)"):
        told_by({"far": silent})


def run(*arguments: str) -> Result:
    return CliRunner().invoke(main, ["plan", *arguments])


def test_a_provider_that_is_not_installed_is_refused(tmp_path: Path) -> None:
    assert is_one_sentence(run("--providers-enabled", "kwokk"), "providers.enabled 'kwokk'", "the closest is kwok")
    result = run("--providers-enabled", "kwok", "--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port()))
    assert is_one_sentence(result, "unreachable", "Connection refused")


def test_the_command_prints_what_programs_read_and_refuses_a_pool_that_is_not_there() -> None:
    with running(nodes=3, pods=30) as kubeconfig:
        given = ("--kubeconfig", kubeconfig, "--providers-enabled", "kwok")
        result = run(*given, "--optimise", "--json")
        assert result.exit_code == 0, result.output
        report = json.loads(result.stdout)
        assert report["steps"] == []
        assert {one["why"] for one in report["staying"]} == {"its pool default does not exist"}
        refused = run(*given, "--pool", "batch")
        assert is_one_sentence(refused, "--pool batch: there is no such NodePool; there are no pools at all")


def test_whoever_interrupts_it_hears_nothing_more(tmp_path: Path) -> None:
    """A server that takes the call and says nothing; then Ctrl-C."""
    with socket.create_server(("127.0.0.1", 0)) as server:

        def interrupt() -> None:
            connection, _ = server.accept()
            with connection:
                connection.recv(1)
                os.kill(os.getpid(), signal.SIGINT)

        threading.Thread(target=interrupt, daemon=True).start()
        config = a_kubeconfig(tmp_path / "shop", server.getsockname()[1])
        result = run("--providers-enabled", "kwok", "--kubeconfig", config)
    assert (result.exit_code, result.output) == (130, "")
