"""``growth memory forget``: what is lost is said first, and only what was shown is dropped."""

from datetime import timedelta

import pytest
from click.testing import CliRunner

from bench.memory_scene import a_memento
from growth.api.node_memory import TRANSACTIONS, NodeContents, transaction_body, transaction_name
from growth.cli.errors import NotDone, UsageError
from growth.cli.main import main
from growth.cli.memory_forget import ForgetOptions
from growth_lab.simulator.faults import Fault
from tests.cli.memory_desk import Desk, at_a_desk


async def two(desk: Desk) -> None:
    """Two nodes are gone, one of them for a month."""
    now = desk.now()
    for name, days in (("worker-1", 30), ("worker-2", 1)):
        memento = NodeContents(uid=name, version=5, labels={"team": "blue"}, at=now - timedelta(days=days))
        await desk.remember(name, memento)


def test_it_says_what_is_lost_and_drops_it() -> None:
    async def tell(desk: Desk) -> None:
        await two(desk)
        assert await desk.forget(ForgetOptions(("worker-1",))) == ["forgot worker-1"]
        assert "worker-1: 1 label, gone for 30d" in desk.questions[0]
        assert desk.questions[0].endswith("Forget 1 memory? Nobody can bring it back")
        assert await desk.memory("worker-1") is None
        assert await desk.memory("worker-2") is not None

    at_a_desk(tell)


def test_who_says_no_loses_nothing() -> None:
    async def tell(desk: Desk) -> None:
        await two(desk)
        desk.answer = False
        with pytest.raises(NotDone, match="nothing is forgotten"):
            await desk.forget(ForgetOptions(("worker-1", "worker-2")))
        assert await desk.memory("worker-1") is not None

    at_a_desk(tell)


def test_a_memory_that_changes_after_it_was_shown_stays() -> None:
    async def tell(desk: Desk) -> None:
        await two(desk)
        desk.cluster.faults.order(Fault.CONFLICT, verb="delete", name="worker-1")
        with pytest.raises(NotDone, match="worker-1 changed just now, and stays; 1 are forgotten"):
            await desk.forget(ForgetOptions(("worker-1", "worker-2")))
        assert await desk.memory("worker-1") is not None
        assert await desk.memory("worker-2") is None

    at_a_desk(tell)


def test_all_that_have_been_gone_for_so_long() -> None:
    async def tell(desk: Desk) -> None:
        await two(desk)
        await desk.node("worker-3", marker="0")
        await desk.remember("worker-3", a_memento("x", 5, {}, timedelta(days=900)))
        assert await desk.forget(ForgetOptions(gone_for=timedelta(days=7))) == ["forgot worker-1"]
        words = ["nobody has been gone for so long: nothing is forgotten"]
        assert await desk.forget(ForgetOptions(gone_for=timedelta(days=7))) == words

    at_a_desk(tell)


def test_what_is_remembered_again_all_the_same_is_told() -> None:
    async def tell(desk: Desk) -> None:
        await two(desk)
        await desk.node("worker-2", marker="0")
        memento = NodeContents(uid="x", version=7, labels={"a": "b"})
        name = transaction_name("worker-1", 7)
        body = {"metadata": {"name": name}, **transaction_body("deleted", "worker-1", memento)}
        await desk.client.create(TRANSACTIONS, body, "growth-transactions")
        assert await desk.forget(ForgetOptions(("worker-1", "worker-2"))) == [
            "forgot worker-1, worker-2",
            "there, and remembered again by the next checkpoint, without what was removed before: worker-2",
            "transactions wait, and what they say is remembered again: worker-1",
        ]

    at_a_desk(tell)


def test_one_that_nobody_can_read_can_be_dropped() -> None:
    async def tell(desk: Desk) -> None:
        await desk.write("worker-1", {"memory": "{oops"})
        assert await desk.forget(ForgetOptions(("worker-1",))) == ["forgot worker-1"]
        assert "worker-1: unreadable" in desk.questions[0]

    at_a_desk(tell)


def test_an_unknown_name_is_refused_and_nothing_is_dropped() -> None:
    async def tell(desk: Desk) -> None:
        await two(desk)
        with pytest.raises(UsageError, match="nothing is remembered of 'workr-1'; the closest is 'worker-1'"):
            await desk.forget(ForgetOptions(("worker-2", "workr-1")))
        assert await desk.memory("worker-2") is not None

    at_a_desk(tell)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ((), "whom to forget? Give names of nodes, or --gone-for DURATION, and not both"),
        (("worker-1", "--gone-for", "7h"), "and not both"),
        (("worker-1",), "nobody can answer here: add --yes"),
        (("--gone-for", "30d", "--yes"), "--gone-for '30d' is not a duration"),
    ],
)
def test_a_wish_that_is_none_is_refused(arguments: tuple[str, ...], words: str) -> None:
    result = CliRunner().invoke(main, ["memory", "forget", *arguments])
    assert result.exit_code == 2
    assert words in result.stderr
