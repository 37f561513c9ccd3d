"""``growth demo``: it ends by itself with a bill, looks good at any width, and refuses what makes no sense."""

import logging
from datetime import UTC, datetime, timedelta

import pytest
from click.testing import CliRunner
from rich.console import Console, RenderableType

from growth.api.offering import Offering
from growth.cli.main import main
from growth.cli.reports.cluster_summary import ResourceUse
from growth_lab.cli.demo_frame import Row, Scene, Stand
from growth_lab.cli.demo_view import frame, last_words
from growth_lab.scenarios.cost_report import Bill, Item
from growth_lab.scenarios.trace import Seen

NOON = datetime(2026, 11, 15, 12, 0, tzinfo=UTC)
GIB = 1 << 30


def run(*arguments: str) -> str:
    result = CliRunner().invoke(main, ["demo", *arguments])
    assert result.exit_code == 0, result.output
    return result.output


def shown(what: RenderableType, width: int) -> list[str]:
    with (console := Console(width=width)).capture() as captured:
        console.print(what)
    return [line.rstrip() for line in captured.get().splitlines()]


def a_scene(seconds: float = 0.0, *, waiting: int = 7, given_up: tuple[str, ...] = ()) -> Scene:
    """A sale at its height: some machines work, one boots, two could not be had."""
    ready = Row("kwok-cx33-fsn1", (Stand.READY,), None, ResourceUse(3600, 4000), ResourceUse(6 * GIB, 8 * GIB))
    stands = (Stand.PROVISIONING, *[Stand.READY] * 3, *[Stand.UNMET] * 2)
    asked = NOON - timedelta(seconds=14)
    mixed = Row("kwok-cx53-fsn1", stands, asked, ResourceUse(47_000, 48_000), ResourceUse(86 * GIB, 96 * GIB))
    coming = Row("kwok-cx53-nbg1", (Stand.PENDING, Stand.STARTING), NOON, ResourceUse(0, 0), ResourceUse(0, 0))
    return Scene(NOON + timedelta(seconds=seconds), (ready, mixed, coming), given_up, 92, waiting, 0.3062)


SEEN = [
    *[Seen(1.0, "Pod checkout-*", f"uid-{number}", "refused") for number in range(30)],
    Seen(1.1, "NodeRequest default-*", "uid", "asks for kwok-cx53-fsn1"),
    Seen(1.2, "Node default-*", "uid", "tainted node.kubernetes.io/not-ready:NoSchedule"),
    *[Seen(1.3, "Pod checkout-*", f"uid-{number}", what) for number in range(3) for what in ("Running", "ready")],
]


def a_bill() -> Bill:
    def item(server_type: str, price: float, count: int) -> Item:
        return Item(Offering(f"kwok-{server_type}-fsn1", "kwok", server_type, "fsn1", price), count)

    return Bill(
        currency="EUR",
        items=(item("cx33", 0.0136, 2), item("cx53", 0.0473, 5)),
        given_up=(item("cx53", 0.0473, 1),),
        bound_per_hour=0.25,
        waited=(0.5, 3.0, 17.5),
    )


def test_the_demo_ends_by_itself_with_a_bill() -> None:
    output = run("--speed", "1000")
    assert "a sale begins" in output
    assert "evening: everybody runs" in output
    assert "The bill of the day" in output
    assert "EUR an hour" in output


def test_a_stock_out_and_a_node_that_never_comes_are_part_of_the_bill() -> None:
    bill = run("--speed", "1000").partition("The bill of the day")[2]
    assert "cx53 nbg1" in bill
    assert "never came, and was given back" in bill


@pytest.mark.long
def test_the_same_seed_tells_the_same_demo() -> None:
    assert run("--speed", "1000", "--seed", "7") == run("--speed", "1000", "--seed", "7")


@pytest.mark.long
def test_every_seed_comes_to_a_good_end() -> None:
    assert all("everybody runs" in run("--speed", "1000", "--seed", str(seed)) for seed in range(1, 4))


def test_what_growth_logs_does_not_tear_the_frames(caplog: pytest.LogCaptureFixture) -> None:
    result = CliRunner().invoke(main, ["demo", "--speed", "1000"])
    assert (result.stderr, caplog.records) == ("", [])
    assert logging.getLogger("growth").handlers == []


@pytest.mark.parametrize("width", [80, 120])
def test_a_frame_fits_the_terminal(width: int) -> None:
    past = [a_scene(second, waiting=second) for second in range(20)]
    lines = shown(frame(a_scene(20.0, given_up=("no node came",)), past, ["a sale begins"], SEEN, width), width)
    assert max(map(len, lines)) <= width
    assert len(lines) <= 23
    assert "20.0 s" in lines[0]
    assert "a sale begins" in lines[1]
    rows = [line.split() for line in lines[4:7]]
    assert rows[0][:4] == ["cx33-fsn1", "●", "1", "Ready"]
    assert rows[1][:8] == ["cx53-fsn1", "◔●●●✗✗", "1", "Provisioning", "34", "s,", "2", "Unmet"]
    assert rows[2] == ["cx53-nbg1", "○◑", "1", "Pending", "20", "s,", "1", "starting", "20", "s"]
    assert {"90%", "75%"} <= set(rows[0])
    assert "✗ given up: no node came" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_the_curves_grow_with_time_and_show_the_present_value(width: int) -> None:
    past = [a_scene(second / 2, waiting=second) for second in range(9)]
    lines = shown(frame(a_scene(4.5, waiting=0), past, [], [], width), width)
    assert "pods wait  ▁▂▃▄▅▅▆▇█▁  0" in lines
    assert "pods run   ██████████  92" in lines


@pytest.mark.parametrize("width", [80, 120])
def test_of_a_long_day_the_curves_show_the_end(width: int) -> None:
    past = [a_scene(second / 2, waiting=0) for second in range(200)]
    lines = shown(frame(a_scene(100.0), past, [], [], width), width)
    assert f"pods wait  {'▁' * (width - 29)}█  7" in lines
    assert f"cost       {'█' * (width - 28)}  0.3062 an hour" in lines


def test_what_happens_to_many_at_once_is_one_line_and_no_news_is_none() -> None:
    lines = shown(frame(a_scene(), [], [], SEEN, 80), 80)
    assert [line.strip() for line in lines if " default-* " in line or "checkout-*" in line] == [
        "Pod checkout-* refused (30 times)",
        "NodeRequest default-* asks for kwok-cx53-fsn1",
        "Pod checkout-* Running (3 times)",
    ]


@pytest.mark.parametrize("width", [80, 120])
def test_the_bill_says_what_was_bought_and_what_it_could_have_cost(width: int) -> None:
    lines = shown(last_words(a_bill(), width, 26.2, real=False, seed=3), width)
    assert max(map(len, lines)) <= width
    assert "The bill of the day: 26 s on the virtual cluster, seed 3" in lines[0]
    rows = [" ".join(line.strip("│ ").split()) for line in lines[1:7]]
    assert rows == [
        "2 cx33 fsn1 0.0272",
        "5 cx53 fsn1 0.2365",
        "7 machines 0.2637 EUR an hour",
        "bound 0.2500 at least; the machines are 5.5% above it",
        "1 cx53 fsn1 0.0473 never came, and was given back",
        "3 pods waited for 3.0 s (median), 17.5 s (worst)",
    ]


def test_a_real_cluster_has_the_speed_that_it_has() -> None:
    result = CliRunner().invoke(main, ["demo", "--real", "--speed", "3"])
    assert (result.exit_code, result.output) == (
        2,
        "Error: --speed 3 needs the virtual cluster: a real one has the speed that it has\n",
    )
