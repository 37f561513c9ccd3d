"""How ``growth top`` looks."""

from datetime import timedelta

import pytest
from rich.console import Console

from bench.fleet_scene import NOW, a_node, a_pool, afternoon, world_of
from growth.api.growth_kinds import NODE_POOLS
from growth.api.kinds import NODES
from growth.cli.formatting import span
from growth.cli.reports.machines import Fleet, MachinePhase, MachineRow, fleet_of
from growth.cli.top import state, view


def shown(fleet: Fleet, width: int, rows: int | None = None) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(fleet, width, rows))
    return captured.get().splitlines()


def an_afternoon() -> Fleet:
    return fleet_of(world_of(afternoon()).snapshot(NOW))


@pytest.mark.parametrize("width", [60, 80, 100, 120, 200])
def test_it_fits_the_terminal_and_shows_every_machine_on_one_line(width: int) -> None:
    lines = shown(an_afternoon(), width)
    assert max(map(len, lines)) <= width
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("NODE")) + 1 :]
    assert len(table) == 11
    assert all(any(sign in line for sign in ("default-", "gpu-")) for line in table)


@pytest.mark.parametrize("width", [80, 120])
def test_it_cuts_off_nothing_of_an_ordinary_afternoon(width: int) -> None:
    lines = shown(an_afternoon(), width)
    text = "\n".join(lines)
    assert "…" not in text
    assert lines[0] == "2 pools, 10 machines   6 pods wait   0.4417 an hour, 322.44 a month"
    for words in (
        *("nodes 9 of 10", "cost 0.1148 of 0.25", "0.3269", "52%", "1 failed", "2 coming"),
        *("RemovalFailed for 12m", "unready for 7m", "Unmet for 48s: OutOfStock", "leaving for 3m: attempt 2"),
        *("Provisioning for 41s", "Pending for 4s: RateLimited", "starting for 9s", "empty: goes in 4m12s"),
    ):
        assert words in text


def test_it_says_what_is_wrong_and_what_to_do() -> None:
    text = " ".join(shown(an_afternoon(), 200))
    assert "(Invalid: the server is protected). It still costs; mend it at its provider" in text
    assert "growth request retry default-93c5d7e118" in text
    assert "pool default: kwok-cx53-nbg1: OutOfStock, cx53 is sold out in nbg1; one is tried again in 3m12s" in text
    assert "pool gpu: its limit of nodes is used up: 1 of 1" in text


def test_a_thousand_nodes_show_the_interesting_ones_and_count_the_rest() -> None:
    nodes = [a_node(f"a-{number:04}", "cx33", ready=number != 700) for number in range(1000)]
    lines = shown(fleet_of(world_of({NODES: nodes}).snapshot(NOW)), 80, rows=5)
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("NODE")) + 1 :]
    assert [line.split()[0] for line in table[:5]] == ["a-0700", "a-0000", "a-0001", "a-0002", "a-0003"]
    assert table[5:] == ["and 995 more: 995 ready"]


def test_many_problems_are_counted() -> None:
    pools = [a_pool(f"pool-{number}", "cx33", status={"conditions": []}) for number in range(9)]
    lines = shown(fleet_of(world_of({NODE_POOLS: pools}).snapshot(NOW)), 80)
    assert sum(line.startswith("! pool pool-") for line in lines) == 6
    assert "! and 3 more: --output json shows all" in lines


def test_without_pools_it_says_what_that_means() -> None:
    assert "There is no NodePool, so Growth buys nothing." in " ".join(shown(fleet_of(world_of({}).snapshot(NOW)), 80))


def test_a_long_name_gives_way_before_the_figures_do() -> None:
    name = "a-pool-with-a-name-of-fifty-two-characters-in-total1"
    objects = {NODE_POOLS: [a_pool(name, "cx33", status={"costPerHour": "0.01"})], NODES: [a_node(f"{name}-0", "cx33")]}
    lines = shown(fleet_of(world_of(objects).snapshot(NOW)), 80)
    assert max(map(len, lines)) <= 80
    assert any("a-pool" in line and "…" in line and "0.0100" in line for line in lines)


@pytest.mark.parametrize("width", [60, 80, 120])
def test_costs_are_shown_with_their_currency_if_it_is_known(width: int) -> None:
    objects = afternoon()
    for pool in objects[NODE_POOLS]:
        pool["status"]["currency"] = "EUR"
    lines = shown(fleet_of(world_of(objects).snapshot(NOW)), width)
    assert max(map(len, lines)) <= width
    assert "0.4417 EUR an hour" in lines[0]
    assert sum("0.1148 EUR" in line or "0.3269 EUR" in line for line in lines) == 2


@pytest.mark.parametrize(
    ("machine", "words"),
    [
        (MachineRow("a", "p", MachinePhase.EMPTY, goes_at=NOW - timedelta(seconds=3)), "empty: due for 3s"),
        (MachineRow("a", "p", MachinePhase.EMPTY, goes_at=NOW + timedelta(hours=3)), "empty: goes in 3h"),
        (
            MachineRow("a", "p", MachinePhase.UNREADY, NOW, goes_at=NOW + timedelta(minutes=9)),
            "unready for 0s: goes in 9m",
        ),
        (MachineRow("a", "p", MachinePhase.READY, is_cordoned=True), "ready, cordoned"),
        (MachineRow("a", "p", MachinePhase.LEAVING, NOW - timedelta(seconds=5)), "draining for 5s"),
        (MachineRow("a", "p", MachinePhase.LEAVING, NOW - timedelta(seconds=5), "Pending"), "leaving for 5s"),
        (MachineRow("a", "p", MachinePhase.COMING, phase="Pending"), "Pending"),
        (MachineRow("a", "p", MachinePhase.FAILED, NOW, is_to_be_retried=True), "RemovalFailed for 0s, to be retried"),
    ],
)
def test_a_machine_is_told_in_a_few_words(machine: MachineRow, words: str) -> None:
    assert str(state(machine, NOW)) == words


@pytest.mark.parametrize(
    ("length", "text"),
    [
        (timedelta(seconds=-4), "0s"),
        (timedelta(milliseconds=900), "0s"),
        (timedelta(minutes=4, seconds=12.7), "4m12s"),
        (timedelta(hours=3, minutes=5, seconds=59), "3h5m"),
        (timedelta(hours=47), "47h"),
        (timedelta(days=12, hours=5), "12d"),
    ],
)
def test_a_span_has_two_units_at_most(length: timedelta, text: str) -> None:
    assert span(length) == text
