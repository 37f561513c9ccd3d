"""How ``growth queue`` looks, at any width and with any number of workloads."""

from datetime import timedelta

import msgspec
import pytest
from rich.console import Console

from bench.queue_scene import NOW, SETTINGS, an_afternoon, world_of
from growth.api.settings.model import Settings
from growth.cli.formatting import amounts, clock, due, figure, times
from growth.cli.queue_entry import WorkloadPhase, WorkloadRow
from growth.cli.queue_messages import told
from growth.cli.queue_reader import see
from growth.cli.queue_report import Queue, QueueReport, report_of
from growth.cli.queue_shares import CohortView, QuotaShare
from growth.cli.queue_view import view

GIB = 1 << 30


def shown(report: QueueReport, width: int = 120, rows: int | None = None) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(report, width, rows))
    return [line.rstrip() for line in captured.get().splitlines()]


def afternoon(settings: Settings = SETTINGS) -> QueueReport:
    return report_of(see(world_of(an_afternoon()).snapshot(NOW), settings))


def an_entry(number: int, phase: WorkloadPhase = WorkloadPhase.QUEUED) -> WorkloadRow:
    place = number if phase is WorkloadPhase.QUEUED else 0
    return WorkloadRow(
        "shop", f"job-{number}", f"Job sum-{number}", "jobs", "team", phase, 0, place, NOW, why="no quota"
    )


def a_queue(*, admitted: int = 0, waiting: int = 0) -> Queue:
    held = tuple(an_entry(number, WorkloadPhase.READY) for number in range(admitted))
    return Queue(
        name="team",
        strategy="BestEffortFIFO",
        cohort="",
        path=(),
        is_active=True,
        why="",
        is_reported=True,
        admitted=held,
        pending=tuple(an_entry(number) for number in range(1, waiting + 1)),
    )


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_it_fits_the_terminal_and_loses_nothing(width: int) -> None:
    lines = shown(afternoon(), width)
    assert max(map(len, lines)) <= width
    words = " ".join(" ".join(lines).split())
    for said in ("ml/train-llm", "64 cpu, 256Gi, 8 gpu", "320Gi of 384Gi", "tried twice, again at 14:05 UTC (in 3m)"):
        assert said in words
    for job in ("sweep-7", "distill", "label-images", "old-cuda", "year-end", "mails-5"):
        assert any(job in line for line in lines)


def test_on_a_wide_screen_each_stands_in_one_line_with_its_place() -> None:
    lines = shown(afternoon(), 200)
    assert any(line.split()[:5] == ["1", "ml/distill", "train", "100", "48"] for line in lines)
    assert any(line.split()[:2] == ["2", "ml/sweep-8"] for line in lines)
    assert any("behind shop/year-end: the queue is StrictFIFO" in line for line in lines)
    assert lines[0].split("   ") == [
        "2 queues",
        *("● 4 ready", "◐ 1 starting", "≡ 8 queued", "↻ 1 backing off", "✕ 1 deactivated"),
    ]


def test_the_command_that_lets_one_in_again_stands_below() -> None:
    lines = shown(afternoon())
    at = lines.index("To let in again what was deactivated:")
    assert lines[at + 1].strip().startswith("kubectl -n ml patch workloads.kueue.x-k8s.io job-old-cuda-5f1c2 ")


def test_of_hundreds_the_first_are_shown_and_the_rest_counted() -> None:
    report = QueueReport(NOW, (a_queue(admitted=40, waiting=500),))
    lines = shown(report, 120, 10)
    assert sum(" jobs " in line for line in lines) == 20
    assert any(line.strip() == "and 30 more (30 ready): --all shows them" for line in lines)
    assert any(line.strip() == "and 490 more (490 queued): --all shows them" for line in lines)
    assert sum(" jobs " in line for line in shown(report, 120)) == 540


def test_without_any_queue_it_says_how_to_begin() -> None:
    lines = shown(QueueReport(NOW), 100)
    assert lines[0].startswith("There is no ClusterQueue")
    assert {"kind: ResourceFlavor", "kind: ClusterQueue", "kind: LocalQueue"} <= set(lines)


def test_a_namespace_without_a_queue_is_told_so() -> None:
    assert shown(QueueReport(NOW, narrowed_to="shop")) == [
        "No queue is open to namespace shop: no LocalQueue in it, and no workload."
    ]


def test_an_empty_queue_says_that_nobody_is_in_it() -> None:
    lines = shown(QueueReport(NOW, (a_queue(),)))
    assert lines[0] == "1 queue   nobody waits"
    assert "  nobody is in it" in lines


def test_a_queue_that_admits_nobody_says_why() -> None:
    stopped = msgspec.structs.replace(a_queue(), is_active=False, why="its stopPolicy is Hold")
    assert "team  BestEffortFIFO  ✕ admits nobody: its stopPolicy is Hold" in shown(QueueReport(NOW, (stopped,)))


def test_where_nobody_runs_the_queue_it_asks_for_growth() -> None:
    unattended = msgspec.structs.replace(a_queue(), is_reported=False)
    lines = shown(QueueReport(NOW, (unattended,), unmade=("shop/a", "shop/b")))
    assert any(line.startswith("Nobody has looked at a queue yet: does growth run") for line in lines)
    assert any(line.startswith("2 jobs name a queue and have no Workload yet (shop/a, shop/b)") for line in lines)


def test_without_settings_it_says_where_deadlines_are() -> None:
    hint = "By when pods must be ready is in Growth's settings: growth queue --settings FILE"
    assert hint in shown(afternoon(Settings()))
    assert hint not in shown(afternoon())


def test_what_is_borrowed_stands_beside_the_bar() -> None:
    share = QuotaShare("any", "memory", 12 * GIB, 8 * GIB, 4 * GIB, 32 * GIB)
    queue = msgspec.structs.replace(a_queue(), path=("all",), shares=(share,))
    lines = shown(QueueReport(NOW, (queue,), (CohortView("all", ("all",)),)))
    assert "    any   memory █████████████▓▓▓▓▓▓▓ 12Gi of 8Gi, 4Gi borrowed" in lines
    assert lines[2:5] == ["▾ cohort all", "", "  team  BestEffortFIFO  ● at work"]


def test_who_is_over_its_time_and_still_there_shows_that_nobody_acts() -> None:
    late = msgspec.structs.replace(an_entry(1, WorkloadPhase.STARTING), until=NOW - timedelta(minutes=2), since=NOW)
    assert told(late, NOW) == "starting for 0s: no quota; its time was over at 14:00 UTC"


def test_words_are_those_of_people() -> None:
    assert figure("cpu", 2500) == "2.5"
    assert figure("memory", 3 << 29) == "1.5Gi"
    assert figure("nvidia.com/gpu", 1200) == "1,200"
    assert amounts({"nvidia.com/gpu": 2, "memory": 32 * GIB, "cpu": 8000}) == "8 cpu, 32Gi, 2 gpu"
    assert amounts({}) == "nothing"
    assert clock(NOW + timedelta(days=1), NOW) == "17 Nov 14:02 UTC"
    assert due(NOW + timedelta(minutes=3), NOW) == "14:05 UTC (in 3m)"
    assert due(NOW - timedelta(minutes=3), NOW) == "13:59 UTC (due for 3m)"
    assert [times(count) for count in (1, 2, 3)] == ["once", "twice", "3 times"]
