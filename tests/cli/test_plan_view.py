"""How ``growth plan`` looks."""

import pytest
from rich.console import Console, RenderableType

from growth.api.settings.model import Settings
from growth.cli import plan_view
from growth.cli.plan_consolidation import optimising_report
from growth.cli.plan_pending import waiting_report
from growth.observe.cache import ClusterCache
from tests.cli.plan_scene import a_crowd, a_shop
from tests.decide import marketplace as market
from tests.decide.consolidation.seen import NOW, a_cloud, a_pod, observed
from tests.repository import ROOT

PAGE = ROOT / "docs" / "optimising.md"
PAGE_WIDTH = 100


def lines_of(picture: RenderableType, width: int) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(picture)
    return [line.rstrip() for line in captured.get().splitlines()]


def waiting(world: ClusterCache, width: int = 120, *, is_all: bool = False) -> list[str]:
    report = waiting_report(world.snapshot(NOW), Settings())
    return lines_of(plan_view.pending_view(report, width, is_all=is_all), width)


def optimising(world: ClusterCache, width: int = 120, *, is_all: bool = False) -> list[str]:
    report = optimising_report(world.snapshot(NOW), Settings())
    return lines_of(plan_view.consolidation_view(report, width, is_all=is_all), width)


@pytest.mark.parametrize("width", [80, 120])
def test_both_fit_the_terminal_and_cut_off_nothing(width: int) -> None:
    for lines in (waiting(a_shop(*a_crowd()), width), optimising(a_shop(), width)):
        assert max(map(len, lines)) <= width
        assert "…" not in "\n".join(lines)


@pytest.mark.parametrize("width", [80, 120])
def test_every_move_has_one_line_and_the_money_stands_below_each_other(width: int) -> None:
    lines = optimising(a_shop(), width)
    begin = next(at for at, line in enumerate(lines) if line.startswith("#"))
    table = lines[begin : lines.index("", begin)]
    assert [line.split()[:2] for line in table[1:-1]] == [["1", "fold"], ["2", "fold"], ["3", "replace"]]
    assert len({len(line) for line in table}) == 1


def test_the_page_shows_what_is_printed() -> None:
    page = PAGE.read_text(encoding="utf-8")
    for lines in (waiting(a_shop(*a_crowd()), PAGE_WIDTH), optimising(a_shop(), PAGE_WIDTH)):
        assert "\n".join(lines) in page


def test_nothing_to_buy_is_one_line() -> None:
    assert waiting(a_shop()) == ["Nobody waits   nothing to buy"]


def test_nothing_to_do_is_said_and_why() -> None:
    pods = [a_pod(f"web-{number}", node="a", requests={"cpu": "900m"}) for number in range(2)]
    lines = optimising(observed(ClusterCache(), market.a_pool(), a_cloud("a"), market.a_node("a"), *pods))
    assert "Nothing to do: no move pays." in lines
    assert "1 node stays, because" in lines


def a_fleet(count: int) -> ClusterCache:
    """So many nodes, all of them empty."""
    names = [f"default-{number:02}" for number in range(count)]
    pool = market.a_pool(disruption={"maxUnavailable": "2"})
    return observed(ClusterCache(), pool, a_cloud(*names), *map(market.a_node, names))


def test_of_many_moves_the_first_are_shown_and_the_rest_is_counted() -> None:
    lines = optimising(a_fleet(25))
    rest = next(line for line in lines if "more: --verbose" in line)
    assert rest.split()[:3] == ["5", "more:", "--verbose"]
    assert rest.split()[-2:] == ["5.0000", "3,650.00"]
    assert any(line.split()[:3] == ["all", "25", "nodes"] for line in lines)
    assert sum(" delete " in line for line in lines) == 20
    assert sum(" delete " in line for line in optimising(a_fleet(25), is_all=True)) == 25


def test_names_are_few_unless_all_are_wanted() -> None:
    sick = [market.a_node(f"cordoned-{number}", pool="") for number in range(5)]
    world = a_shop(*sick)
    assert any(line.strip() == "cordoned-0, cordoned-1, cordoned-2 and 2 more" for line in optimising(world))
    assert any(line.strip().endswith("cordoned-3, cordoned-4") for line in optimising(world, is_all=True))


def test_each_machine_is_shown_by_itself_if_all_are_wanted() -> None:
    assert any("2 x cx43" in line for line in waiting(a_shop(*a_crowd())))
    assert sum("1 x cx43" in line for line in waiting(a_shop(*a_crowd()), is_all=True)) == 2
