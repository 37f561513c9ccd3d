"""How ``growth status`` looks."""

from collections.abc import Sequence

import msgspec
import pytest
from rich.console import Console

from bench.status_scene import a_night, a_pool, a_report, ago, cluster_of, foreign, unready
from growth.api.growth_status import ClusterStatus
from growth.api.node_pool import NodeCounts, NodePoolStatus, Unhealthy
from growth.cli.status_report import LeaderView, StatusReport
from growth.cli.status_view import view
from growth.decide.facts.cluster_state import NodeState
from growth.decide.registry.status_report import status_of

ONE_POOL = a_pool("default", NodePoolStatus(nodes=NodeCounts(ready=12)))
GONE = LeaderView(
    is_alive=False,
    holder="growth-1",
    renewed_at=ago(hours=3),
    why="its leader growth-1 last gave a sign of life 3h ago",
)


def shown(report: StatusReport, width: int = 200, rows: int | None = None) -> list[str]:
    console = Console(width=width, highlight=False)
    with console.capture() as captured:
        console.print(view(report, width, rows))
    return [line.rstrip() for line in captured.get().splitlines()]


def text(report: StatusReport, width: int = 200) -> str:
    return " ".join(" ".join(shown(report, width)).split())


@pytest.mark.parametrize("width", [60, 80, 100, 140, 200])
@pytest.mark.parametrize("leader", [None, GONE], ids=["a leader", "none"])
def test_it_fits_the_terminal(width: int, leader: LeaderView | None) -> None:
    report = a_report(*a_night(), leader) if leader else a_report(*a_night())
    assert max(map(len, shown(report, width))) <= width


@pytest.mark.parametrize("width", [80, 140])
def test_it_cuts_off_nothing_of_a_bad_night(width: int) -> None:
    assert "…" not in text(a_report(*a_night()), width)


def test_a_healthy_cluster_takes_a_few_lines() -> None:
    status = ClusterStatus(healthy_since=ago(hours=3), ready=15, states={"Ready": 12, "Foreign": 3})
    assert shown(a_report(status, [ONE_POOL])) == [
        " HEALTHY   Growth is at work, for 3h since it was halted",
        "led by growth-7d9c5b6f4-x2x7k, whose last sign of life came 1s ago",
        "",
        "nodes  12 ready, 3 not ours",
        "",
        "POOL     READY  COMING  HEALTH",
        "default     12       0  healthy",
        "",
        "What to do next",
        "  growth request list  how far each request is",
        "  growth top --follow  pools and machines, live",
    ]


def test_an_unhealthy_cluster_says_since_when_because_of_whom_and_what_that_means() -> None:
    words = text(a_report(*a_night()))
    assert words.startswith(
        "UNHEALTHY for 4m12s, since 2026-11-15T02:55:48Z 11 of 19 nodes are unready without reason:"
    )
    for name in ("default-0c81f6e2aa", "gpu-b1946ac924", "storage-1 (not ours)"):
        assert name in words.partition("led by")[0]
    assert "Growth is HALTED." in words
    assert "6 ready, 1 could not be removed, 9 unready" in words
    assert "4 not ours (2 of them unready)" in words


def test_the_troubled_stand_worst_first_with_state_time_and_reason() -> None:
    lines = shown(a_report(*a_night()), 140)
    table = lines[next(at for at, line in enumerate(lines) if line.startswith("NODE")) + 1 :]
    assert table[0].split(None, 2) == [
        "default-93c5d7e118",
        "default",
        "could not be removed  2h31m  its machine is still there after 5 attempts",
    ]
    assert "unready" in table[1]
    assert "4m12s  its Ready condition is Unknown (NodeStatusUnknown); its machine is on" in table[1]
    assert table[2].endswith("the same")
    assert any("failed to start" in line and "9m" in line for line in table)
    assert table[13].startswith("control-2           -        not ours")


def test_foreign_nodes_that_halt_it_are_told_apart() -> None:
    cluster = cluster_of([foreign(f"storage-{number}") for number in range(5)], {("default", "kwok-cx33"): 3})
    words = text(a_report(status_of(cluster), [ONE_POOL]))
    assert "storage-0 (not ours)" in words
    assert "Growth is HALTED." in words
    assert "5 not ours (5 of them unready)" in words


def test_foreign_nodes_that_halt_it_no_more_are_told_as_such() -> None:
    cluster = cluster_of([foreign(f"storage-{number}") for number in range(5)], {("default", "kwok-cx33"): 3})
    status = msgspec.structs.replace(status_of(cluster), is_halted=False)
    words = text(a_report(status, [ONE_POOL]))
    assert words.startswith("UNHEALTHY")
    assert "Growth goes on nevertheless: only nodes of others are unready" in words
    assert "HALTED" not in words


def test_what_is_closed_is_told_with_its_time() -> None:
    words = text(a_report(*a_night()))
    assert (
        "! pool batch: kwok-cx53-fsn1 is not bought, for 1m: OutOfStock: cx53 is sold out in fsn1; one is tried again "
        "in 3m12s"
    ) in words
    assert "! pool batch: kwok-cx53-nbg1 is not bought, for 4m12s: 2 of 3 machines of kwok-cx53-nbg1 are" in words
    assert "it is bought again when that is over" in words


def test_a_pool_that_is_closed_as_a_whole_does_not_list_its_parts() -> None:
    lines = shown(a_report(*a_night()), 300)
    (note,) = [line for line in lines if line.startswith("! pool default")]
    assert note.startswith(
        "! pool default: nothing more is bought, for 4m12s: 8 of 12 machines of the pool are unready"
    )
    assert note.endswith("; machines are bought again when that is over")
    assert any(line.startswith("default") and line.endswith("closed") for line in lines)


def test_many_closed_offerings_are_counted() -> None:
    closed = tuple(Unhealthy(f"kwok-cx{number}", ago(minutes=1), "amiss") for number in range(11))
    lines = shown(a_report(ClusterStatus(), [a_pool("default", NodePoolStatus(unhealthy=closed))]))
    assert sum(line.startswith("! pool default") for line in lines) == 8
    assert "! and 3 more: --output json shows all" in lines
    assert any(line.endswith("11 offerings closed") for line in lines)


def test_a_leader_that_is_gone_is_the_first_thing_to_hear_of() -> None:
    lines = shown(a_report(*a_night(), GONE))
    assert lines[:3] == [
        " UNKNOWN",
        "Growth is not running: its leader growth-1 last gave a sign of life 3h ago.",
        "What it last wrote: the cluster was unhealthy, and Growth halted:",
    ]
    assert "  kubectl -n growth-system logs deploy/growth  why did it end?" in lines


def test_where_growth_never_was_there_is_little_to_show() -> None:
    leader = LeaderView(is_alive=False, why="there is no Lease growth-system/growth")
    assert shown(a_report(None, leader=leader)) == [
        " UNKNOWN",
        "Growth is not running: there is no Lease growth-system/growth.",
        "",
        "What to do next",
        "  kubectl -n growth-system get pods            is Growth there?",
        "  kubectl -n growth-system logs deploy/growth  why did it end?",
        "  growth status --namespace NAME               if it is in another one",
        "  growth manifests --help                      if it is to be installed",
    ]


def test_an_empty_cluster_is_healthy_and_says_what_is_missing() -> None:
    lines = shown(a_report(ClusterStatus()))
    assert lines[0] == " HEALTHY   Growth is at work"
    assert "nodes  there are none" in lines
    assert "There is no NodePool, so Growth buys nothing. docs/kinds.md shows how to write one." in lines


def a_disaster() -> StatusReport:
    """Five hundred nodes fell silent."""
    units = [unready(f"default-{number:03}", "default", "kwok-cx33") for number in range(500)]
    return a_report(status_of(cluster_of(units, {("default", "kwok-cx33"): 100})), [ONE_POOL])


@pytest.mark.parametrize(("rows", "more"), [(5, 495), (0, 500), (None, 300)])
def test_five_hundred_troubled_nodes_are_shortened(rows: int | None, more: int) -> None:
    lines = shown(a_disaster(), 140, rows)
    assert sum(line.startswith("default-") for line in _table(lines)) == 500 - more
    assert f"and {more} more: {more} unready" in lines


def _table(lines: Sequence[str]) -> Sequence[str]:
    at = next((at for at, line in enumerate(lines) if line.startswith("NODE ")), len(lines))
    return lines[at:]


def test_a_state_of_a_later_version_speaks_for_itself() -> None:
    assert "nodes  1 ready, 2 Frozen" in shown(a_report(ClusterStatus(states={"Frozen": 2, "Ready": 1})))


@pytest.mark.parametrize("state", NodeState)
def test_every_state_has_words(state: NodeState) -> None:
    assert state.value not in text(a_report(ClusterStatus(states={state.value: 1})))


def test_a_long_name_gives_way() -> None:
    name = "a-pool-with-a-name-of-fifty-two-characters-in-total1"
    status = status_of(cluster_of([unready(f"{name}-0123456789", name, "kwok-cx33")], {}))
    lines = shown(a_report(status, [a_pool(name)]), 80)
    assert max(map(len, lines)) <= 80
    assert any("…" in line and "unready" in line for line in lines)
