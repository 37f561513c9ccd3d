"""``growth explain node``: a story that Growth wrote, what is so now, and how both look."""

import asyncio
import json
from datetime import UTC, datetime, timedelta
from pathlib import Path

import msgspec
import pytest
from click.testing import CliRunner
from rich.console import Console

from growth.api.growth_status import GROWTH_STATUS, Timeline, TimelineStep, key_of
from growth.api.kinds import CONFIG_MAPS, NODES, VOLUME_ATTACHMENTS
from growth.api.machine import Power
from growth.api.out_of_service import Proof
from growth.cli.errors import UsageError
from growth.cli.explain import read_report
from growth.cli.explain_failover import HAPPENED, FailoverPhase, NodeReport, TimelineEntry, report_of
from growth.cli.explain_view import MARKS, view
from growth.cli.main import main
from growth.kube.patches import MergePatch
from tests.cli.node_scene import DEAD, Desk, at_a_desk
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence

NOON = datetime(2026, 3, 1, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)


async def explained(desk: Desk, name: str = DEAD) -> NodeReport:
    return await read_report(desk.client, desk.settings, name, desk.now)


async def write(desk: Desk, *steps: tuple[str, str], name: str = DEAD, uid: str = "") -> None:
    """Growth wrote this down, a step in each second."""
    uid = uid or (await desk.node(name)).metadata.uid
    began = desk.now()
    entries = tuple(TimelineStep(began + number * SECOND, *step) for number, step in enumerate(steps))
    data = {key_of(name): msgspec.json.encode(Timeline(name, uid, entries)).decode()}
    body = {"metadata": {"name": GROWTH_STATUS}, "data": data}
    await desk.client.create(CONFIG_MAPS, body, desk.settings.namespace)


def shown(report: NodeReport, width: int = 100) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(report, width))
    return [line.rstrip() for line in captured.get().splitlines()]


def test_a_node_without_a_story_says_so_kindly() -> None:
    async def tell(desk: Desk) -> None:
        report = await explained(desk)
        assert (report.standing, report.is_ready, report.steps, report.held) == (FailoverPhase.IN_SERVICE, True, (), ())
        words = shown(report)
        assert words[0] == f"{DEAD}   IN SERVICE"
        assert any(line.startswith("There is no story about it: nothing happened to it") for line in words)

    at_a_desk(tell)


def test_a_node_that_has_just_lost_its_power_is_silent_though_kubernetes_calls_it_ready() -> None:
    async def tell(desk: Desk) -> None:
        await desk.silence()
        await asyncio.sleep(30)
        await write(desk, ("Silent", "it is silent"), ("Observing", "with failover.mode act it would be taken out"))
        report = await explained(desk)
        assert (report.standing, report.is_ready) == (FailoverPhase.SILENT, True)
        assert report.held == ("with failover.mode act it would be taken out",)

    at_a_desk(tell)


def test_what_happened_by_hand_while_growth_did_not_run_is_told_by_the_proof() -> None:
    async def tell(desk: Desk) -> None:
        await desk.attach()
        await desk.silence_for_long()
        await desk.take_out()
        await desk.client.delete(VOLUME_ATTACHMENTS, "csi-pvc-1")
        report = await explained(desk)
        assert (report.standing, report.taken_out_by) == (FailoverPhase.LEAVING, "anna@desk")
        assert report.volumes == ("pvc-1",)
        assert report.stuck == ("volume pvc-1: the driver disk.example.org does not confirm",)
        assert [step.what for step in report.steps] == ["LastSign", "Dead", "Tainted"]
        assert report.steps[0].seconds == 0
        assert report.steps[-1].words == "anna@desk takes it out of service"
        assert report.was_graceful is False
        await desk.detach()
        assert (await explained(desk)).standing is FailoverPhase.FREE
        await desk.wake()
        assert (await explained(desk)).standing is FailoverPhase.BACK

    at_a_desk(tell)


def test_what_was_forced_is_told_in_red_words() -> None:
    async def tell(desk: Desk) -> None:
        await desk.take_out(force=True, alone=True)
        report = await explained(desk)
        assert report.was_graceful is None
        assert "none: it was forced, and data may have been lost" in "\n".join(shown(report))

    at_a_desk(tell)


def test_a_taint_of_kubectl_is_somebodys_and_growth_noticed_when() -> None:
    async def tell(desk: Desk) -> None:
        await desk.taint()
        await write(desk, ("TaintedByHand", "a person took it out of service"))
        report = await explained(desk)
        assert report.taken_out_by == "somebody without Growth, such as with kubectl taint"
        assert report.taken_out_at == report.steps[0].at

    at_a_desk(tell)


def test_a_node_that_is_gone_keeps_its_story_for_a_day() -> None:
    async def tell(desk: Desk) -> None:
        await write(desk, ("Dead", "its machine is gone"), ("NodeDeleted", "nothing is left on it"))
        await desk.client.delete(NODES, DEAD)
        report = await explained(desk)
        assert (report.standing, len(report.steps)) == (FailoverPhase.GONE, 2)
        assert shown(report)[0] == f"{DEAD}   GONE"

    at_a_desk(tell)


def test_the_story_of_an_earlier_node_of_this_name_is_told_as_such() -> None:
    async def tell(desk: Desk) -> None:
        await write(desk, ("Silent", "it is silent"), ("TooMany", "2 may be at once"), uid="another")
        report = await explained(desk)
        assert (report.is_of_earlier_node, report.held) == (True, ())
        assert "This happened to an earlier node of this name." in shown(report)

    at_a_desk(tell)


def test_an_unknown_node_is_answered_with_close_names_of_nodes_and_stories() -> None:
    async def tell(desk: Desk) -> None:
        await write(desk, ("NodeDeleted", "gone"), name="default-17", uid="gone")
        with pytest.raises(UsageError, match=r"there is no node 'default-71'; close to it are .*default-17"):
            await explained(desk, "default-71")

    at_a_desk(tell)


def test_what_somebody_else_wrote_into_the_status_is_passed_over() -> None:
    async def tell(desk: Desk) -> None:
        await write(desk, ("Silent", "it is silent"))
        patch = MergePatch({"data": {key_of("default-9"): "no story", key_of(DEAD): "neither"}})
        await desk.client.patch(CONFIG_MAPS, GROWTH_STATUS, patch, desk.settings.namespace)
        assert (await explained(desk)).steps == ()

    at_a_desk(tell)


def a_story() -> NodeReport:
    """A power cut, failed over by Growth, whose volume is stuck."""
    proof = Proof(
        NOON + 34 * SECOND,
        "hcloud://4711",
        NOON,
        Power.OFF,
        NOON + 22 * SECOND,
        NOON + 33 * SECOND,
        3,
        was_graceful=True,
    )
    told = [
        (0, "LastSign", "its last sign of life"),
        (20.5, "Silent", "it is silent: its provider is asked about its machine"),
        (22, "Off", "its provider says that its machine does not run; that must be proven"),
        (
            33,
            "Dead",
            "it is silent since 12:00:00, and its provider says that its machine is off: 3 answers",
        ),
        (34, "Tainted", "it is taken out of service"),
        (34.2, "Releasing", "left of its old life: a pod, a volume"),
        (96, "DriverSilent", "volume pvc-1: the driver csi.hetzner.cloud does not confirm"),
    ]
    steps = [TimelineEntry(NOON + seconds * SECOND, seconds, what, words, 0) for seconds, what, words in told]
    return NodeReport(
        node="default-93c5d7e118",
        at=NOON + 100 * SECOND,
        standing=FailoverPhase.LEAVING,
        provider_id="hcloud://4711",
        taken_out_by="Growth",
        taken_out_at=proof.tainted_at,
        taint="node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
        proof=proof,
        was_graceful=True,
        volumes=("pvc-1",),
        stuck=("volume pvc-1: the driver csi.hetzner.cloud does not confirm",),
        steps=tuple(steps),
    )


@pytest.mark.parametrize("width", [80, 120])
def test_the_timeline_fits_the_terminal(width: int) -> None:
    lines = shown(a_story(), width)
    assert max(map(len, lines)) <= width
    assert any(line.split()[:3] == ["12:00:20", "+20.5s", "●"] for line in lines)
    assert any(line.split()[:3] == ["12:00:34", "+34.0s", "◆"] for line in lines)
    assert any(line.strip() == "│" for line in lines)
    whole = " ".join(" ".join(lines).split())
    assert "OUT OF SERVICE, AND NOT FREE YET for 1m6s, since 2026-03-01T12:00:34Z, by Growth" in whole
    assert "proof off in 3 answers from 12:00:22 to 12:00:33, none to the contrary" in whole
    assert "shutdown in good order" in whole
    assert "stuck volume pvc-1: the driver csi.hetzner.cloud does not confirm" in whole


def test_colours_are_for_terminals() -> None:
    assert "\x1b" not in "".join(shown(a_story()))


def test_every_step_that_happened_has_its_mark() -> None:
    assert set(MARKS) == HAPPENED


def test_stories_of_different_days_count_each_from_its_own_beginning() -> None:
    entries = [
        TimelineStep(NOON - timedelta(hours=20), "Silent", "first"),
        TimelineStep(NOON - timedelta(hours=20) + 9 * SECOND, "InService", "over"),
        TimelineStep(NOON, "Silent", "second"),
        TimelineStep(NOON + 5 * SECOND, "Off", "second"),
    ]
    steps = report_of("n", None, Timeline("n", "u", tuple(entries)), None, NOON).steps
    assert [(step.story, step.seconds) for step in steps] == [(0, 0), (0, 9), (1, 0), (1, 5)]


def test_json_prints_the_same_value() -> None:
    told = json.loads(msgspec.json.encode(a_story()))
    assert told["standing"] == "out of service, and not free yet"
    assert told["proof"]["readings"] == 3
    assert told["steps"][1] == {
        "at": "2026-03-01T12:00:20.500000Z",
        "seconds": 20.5,
        "what": "Silent",
        "words": "it is silent: its provider is asked about its machine",
        "story": 0,
    }


def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path) -> None:
    kubeconfig = a_kubeconfig(tmp_path / "shop", free_port())
    result = CliRunner().invoke(main, ["explain", "node", DEAD, "--kubeconfig", kubeconfig])
    assert is_one_sentence(result, "unreachable", "Connection refused")
