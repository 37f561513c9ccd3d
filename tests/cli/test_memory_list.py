"""``growth memory list``: who is remembered, what waits, and how it looks."""

from datetime import timedelta
from pathlib import Path

import pytest
from click.testing import CliRunner
from rich.console import Console

from bench.memory_scene import a_memento, a_memory, a_morning, a_node, book_of
from growth.api.kinds import NODES
from growth.api.node_memory import MEMORIES
from growth.cli.main import main
from growth.cli.memory_list import MemoryList, listed, view
from growth.cli.memory_reader import read_book
from tests.cli.memory_desk import Desk, at_a_desk
from tests.cli.test_snapshot import a_kubeconfig, free_port, is_one_sentence


def shown(found: MemoryList, width: int) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(found, width))
    return [line.rstrip() for line in captured.get().splitlines()]


def a_list(*, only_gone: bool = False) -> MemoryList:
    return listed(book_of(a_morning()), "growth-memory", only_gone=only_gone)


def test_those_come_first_at_which_somebody_should_look() -> None:
    assert [(line.node, str(line.standing), line.marker, len(line.waiting)) for line in a_list().lines] == [
        ("worker-4", "unreadable", "0", 0),
        ("worker-3", "waits", "", 1),
        ("worker-5", "gone", "", 0),
        ("worker-6", "went over", "", 0),
        ("worker-1", "there", "8123", 0),
        ("worker-2", "there", "8123", 0),
    ]


def test_only_those_that_are_gone() -> None:
    assert [line.node for line in a_list(only_gone=True).lines] == ["worker-5", "worker-6"]


@pytest.mark.parametrize("width", [80, 120])
def test_it_fits_the_terminal_and_cuts_off_nothing(width: int) -> None:
    lines = shown(a_list(), width)
    assert max(map(len, lines)) <= width
    assert "…" not in "\n".join(lines)
    assert lines[0] == "6 names   ● 2 there   → 1 went over   ○ 1 gone   ◐ 1 unmarked   ! 1 unreadable"
    assert lines[1] == "1 transaction waits, the oldest for 1s"
    table = {line.split()[0]: " ".join(line.split()[1:]) for line in lines if line.startswith("worker")}
    assert table["worker-3"] == "◐ there, no marker yet 5 8340 - 41m 1 for 1s"
    assert table["worker-6"] == "→ went to worker-9 5 7112 - 12d"
    assert table["worker-4"] == "! unreadable - - 0 -"


def test_a_long_name_gives_way_before_the_figures_do() -> None:
    morning = a_morning()
    name = "ip-10-0-0-1.eu-central-1.compute.internal-with-much-more-to-say.example.com"
    memento = a_memory(name, a_memento("x", 123456789, {}, timedelta(0)))
    found = listed(book_of({**morning, MEMORIES: [*morning[MEMORIES], memento]}), "growth-memory")
    lines = shown(found, 80)
    assert max(map(len, lines)) <= 80
    assert any("ip-10-0" in line and "…" in line and "123456789" in line for line in lines)


def test_an_empty_list_says_what_that_means() -> None:
    assert shown(listed(book_of({}), "growth-memory"), 80) == ["Nothing is remembered in the namespace growth-memory."]
    words = " ".join(shown(listed(book_of({NODES: [a_node("worker-1", "a1", {})]}), "growth-memory"), 80))
    assert "1 node would be: does growth run, with memory.mode other than off?" in words


def test_a_config_map_that_every_namespace_has_is_no_memory() -> None:
    async def tell(desk: Desk) -> None:
        await desk.write("kube-root-ca.crt", {"ca.crt": "-----BEGIN CERTIFICATE-----"})
        await desk.node("worker-1")
        await desk.write("worker-1", {"note": "somebody else's"})
        book = await read_book(desk.client, desk.settings.memory, desk.now)
        assert [(line.node, bool(line.problem)) for line in listed(book, "growth-memory").lines] == [("worker-1", True)]

    at_a_desk(tell)


@pytest.mark.parametrize(
    "arguments", [("list",), ("show", "worker-1"), ("forget", "worker-1", "--yes"), ("policy", "worker-1"), ("export",)]
)
def test_a_server_that_is_not_there_is_told_in_words(tmp_path: Path, arguments: tuple[str, ...]) -> None:
    command = ["memory", *arguments, "--kubeconfig", a_kubeconfig(tmp_path / "shop", free_port())]
    assert is_one_sentence(CliRunner().invoke(main, command), "unreachable", "Connection refused")
