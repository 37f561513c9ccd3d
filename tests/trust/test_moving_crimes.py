"""What never may happen to nodes of a move is done on purpose, and found out."""

from collections.abc import Awaitable, Callable

import pytest

from growth.api.growth_kinds import NODE_MOVES
from growth.api.kinds import NODES
from growth.kube.patches import MergePatch
from tests.trust.crimes import Criminal, found_out

Crime = Callable[[Criminal], Awaitable[None]]
MARK = MergePatch(
    {
        "metadata": {"annotations": {"growth.dev/scale-down-at": "now"}},
        "spec": {"taints": [{"key": "growth.dev/scale-down", "effect": "NoSchedule"}]},
    }
)


async def at_work(criminal: Criminal, *nodes: str, max_unavailable: int = 1) -> None:
    """Nodes of a pool, and a pod on the first."""
    await criminal.pool([{"name": "small"}], disruption={"maxUnavailable": max_unavailable})
    for name in nodes:
        await criminal.request(name)
        await criminal.machine(name)
        await criminal.node(name)
        if name == nodes[0]:
            await criminal.play.pod("app", nodeSelector={})
            await criminal.play.until(criminal.play.pod_is("app", node=name), "the pod runs")


async def move(criminal: Criminal, name: str, *nodes: str, buys: str = "", phase: str = "Buying") -> None:
    """A move, brought into a phase."""
    launched = [{"name": buys, "pool": "default", "offering": "kwok-small-fsn1"}] if buys else []
    body = {"metadata": {"name": name}, "spec": {"reason": "Cheaper", "nodes": nodes, "buys": launched}}
    await criminal.client.create(NODE_MOVES, body)
    if phase != "Buying":
        await into(criminal, name, phase)


async def into(criminal: Criminal, name: str, phase: str) -> None:
    await criminal.client.patch(NODE_MOVES, name, MergePatch({"status": {"phase": phase}}), subresource="status")


async def emptied_before_the_other_is_there(criminal: Criminal) -> None:
    await at_work(criminal, "one")
    await move(criminal, "first", "one", buys="two", phase="Draining")


async def emptied_without_a_move(criminal: Criminal) -> None:
    await at_work(criminal, "one")
    for number in range(11):  # so long ago that everybody has heard of it
        await criminal.play.client.patch(NODES, "one", MergePatch({"metadata": {"annotations": {"at": str(number)}}}))
    await criminal.client.patch(NODES, "one", MARK)


async def emptied_while_the_other_comes(criminal: Criminal) -> None:
    await at_work(criminal, "one")
    await move(criminal, "first", "one", buys="two")
    await criminal.client.evict("app", criminal.play.namespace)


async def two_at_once(criminal: Criminal) -> None:
    await at_work(criminal, "one", "two", "three")
    await move(criminal, "first", "one")
    await move(criminal, "second", "two")


async def left_half_way(criminal: Criminal) -> None:
    await at_work(criminal, "one")
    await move(criminal, "first", "one")


async def left_marked(criminal: Criminal) -> None:
    await at_work(criminal, "one")
    await move(criminal, "first", "one", phase="Draining")
    await criminal.client.patch(NODES, "one", MARK)
    await into(criminal, "first", "Undoing")
    await into(criminal, "first", "Undone")


@pytest.mark.parametrize(
    ("crime", "number", "words"),
    [
        (emptied_before_the_other_is_there, "I24", "one are to be emptied, and two does not work"),
        (emptied_without_a_move, "I24", "one was marked, and no move is at it, while app worked on it"),
        (emptied_while_the_other_comes, "I4", "app was ended by Growth (evict pods)"),
        (two_at_once, "I25", "one, two of default are part of moves, and 1 may be"),
        (left_half_way, "I26", "the NodeMove first is still Buying"),
        (left_marked, "I26", "the move first is Undone, and one bears its mark"),
    ],
    ids=lambda cell: getattr(cell, "__name__", cell),
)
def test_a_crime_is_found_out(crime: Crime, number: str, words: str) -> None:
    found = found_out(crime)
    assert [one for one in found if one.startswith(f"{number} ") and words in one], found


async def moved_in_order(criminal: Criminal) -> None:
    await at_work(criminal, "one", "two", "three", max_unavailable=2)
    await move(criminal, "first", "one", buys="two", phase="Draining")
    await move(criminal, "second", "three")
    await criminal.client.patch(NODES, "one", MARK)
    await criminal.client.evict("app", criminal.play.namespace)


def test_what_is_done_in_order_is_no_crime() -> None:
    assert [one for one in found_out(moved_in_order) if one.startswith(("I4", "I24", "I25"))] == []
