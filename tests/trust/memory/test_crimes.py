"""The checker is checked: what memory never may do is done on purpose, and found out."""

import json
from collections.abc import Awaitable, Callable
from contextlib import suppress
from typing import Any

import pytest

from growth.act.effect_hooks import EffectPoint
from growth.api.growth_kinds import NODE_REQUESTS
from growth.api.kinds import CONFIG_MAPS, NAMESPACES, NODES
from growth.api.node_memory import FINALIZER
from growth.api.settings.model import MemorySettings
from growth.kube.errors import AlreadyExists
from growth.kube.patches import MergePatch
from tests.trust.crimes import Criminal, found_out
from tests.trust.memoirs import MARKER

SPACE = MemorySettings().namespace
NAME, TEAM, RACK = "story-own", "example.com/team", "example.com/rack"


async def register(criminal: Criminal, **labels: str) -> None:
    with suppress(AlreadyExists):
        await criminal.play.client.create(NAMESPACES, {"metadata": {"name": SPACE}})
    await criminal.play.node("own", labels={f"example.com/{key}": value for key, value in labels.items()})


async def patch_node(criminal: Criminal, labels: dict[str, str | None]) -> None:
    body = MergePatch({"metadata": {"labels": labels}})
    await criminal.through(EffectPoint.PATCH_OBJECT, NAME, lambda: criminal.client.patch(NODES, NAME, body))


async def label(criminal: Criminal, labels: dict[str, str | None]) -> None:
    await criminal.play.client.patch(NODES, NAME, MergePatch({"metadata": {"labels": labels}}))


async def memento(criminal: Criminal, **changes: Any) -> dict[str, Any]:  # noqa: ANN401
    meta = (await criminal.play.client.get(NODES, NAME)).metadata
    return {"uid": meta.uid, "version": meta.resource_version, "labels": meta.labels, **changes}


async def keep(criminal: Criminal, memento: dict[str, Any], *, is_final: bool = True) -> None:
    text = json.dumps(memento)
    data = {"memory": text if is_final else None, "checkpoint": None if is_final else text}
    made = {key: value for key, value in data.items() if value is not None}
    try:
        await criminal.client.create(CONFIG_MAPS, {"metadata": {"name": NAME}, "data": made}, SPACE)
    except AlreadyExists:
        await criminal.client.patch(CONFIG_MAPS, NAME, MergePatch({"data": data}), SPACE)


async def leave(criminal: Criminal) -> None:
    await criminal.play.client.delete(NODES, NAME)


async def a_node_that_left(criminal: Criminal) -> str:
    """Blue, in rack r1, given back nothing, because it was the first; it had lost its spare."""
    await register(criminal, team="blue", rack="r1", spare="yes")
    await patch_node(criminal, {MARKER: "0"})
    await keep(criminal, await memento(criminal), is_final=False)
    await label(criminal, {"example.com/spare": None})
    left = await memento(criminal)
    await keep(criminal, left)
    await leave(criminal)
    return str(left["version"])


async def nothing_is_given_back(criminal: Criminal) -> None:
    await a_node_that_left(criminal)
    await register(criminal)
    await patch_node(criminal, {MARKER: "0"})


async def half_of_it_is_given_back(criminal: Criminal) -> None:
    left = await a_node_that_left(criminal)
    await register(criminal)
    await patch_node(criminal, {MARKER: left, TEAM: "blue"})


async def something_is_made_up(criminal: Criminal) -> None:
    left = await a_node_that_left(criminal)
    await register(criminal)
    await patch_node(criminal, {MARKER: left, TEAM: "blue", RACK: "r1", "example.com/extra": "1"})


async def what_was_removed_stays(criminal: Criminal) -> None:
    left = await a_node_that_left(criminal)
    await register(criminal, spare="yes")
    await patch_node(criminal, {MARKER: left, TEAM: "blue", RACK: "r1"})


async def what_it_brought_is_taken_away(criminal: Criminal) -> None:
    left = await a_node_that_left(criminal)
    await register(criminal, disk="ssd")
    await patch_node(criminal, {MARKER: left, TEAM: "blue", RACK: "r1", "example.com/disk": None})


async def it_is_given_back_twice(criminal: Criminal) -> None:
    left = await a_node_that_left(criminal)
    await register(criminal)
    given: dict[str, str | None] = {MARKER: left, TEAM: "blue", RACK: "r1"}
    await patch_node(criminal, given)
    await label(criminal, {RACK: "r9"})
    await patch_node(criminal, given)


async def a_node_is_remembered_as_what_it_was_not(criminal: Criminal) -> None:
    await register(criminal, team="blue")
    await keep(criminal, await memento(criminal, labels={TEAM: "red"}))


async def memory_goes_back(criminal: Criminal) -> None:
    await register(criminal, team="blue")
    old = await memento(criminal)
    await label(criminal, {TEAM: "red"})
    await keep(criminal, await memento(criminal))
    await keep(criminal, old)


async def a_life_that_was_given_nothing_is_kept(criminal: Criminal) -> None:
    await a_node_that_left(criminal)
    await register(criminal)
    await keep(criminal, await memento(criminal))


async def who_was_held_back_is_let_go_unremembered(criminal: Criminal) -> None:
    await register(criminal, team="blue")
    await patch_node(criminal, {MARKER: "0"})
    await criminal.client.patch(NODES, NAME, MergePatch({"metadata": {"finalizers": [FINALIZER]}}))
    await leave(criminal)
    await criminal.client.patch(NODES, NAME, MergePatch({"metadata": {"finalizers": []}}))
    await register(criminal)
    await patch_node(criminal, {MARKER: "0"})


async def a_node_has_no_marker_in_the_end(criminal: Criminal) -> None:
    await register(criminal)


CRIMES: list[tuple[str, Callable[[Criminal], Awaitable[object]], str]] = [
    ("I17", nothing_is_given_back, "got its marker and nothing else, although it is remembered"),
    ("I17", half_of_it_is_given_back, "and has {'example.com/rack': None}"),
    ("I17", something_is_made_up, "was given example.com/extra=1, which nobody remembers"),
    ("I17", what_was_removed_stays, "has example.com/spare again, which somebody had removed"),
    ("I17", what_it_brought_is_taken_away, "lost example.com/disk, which nobody had removed"),
    ("I17", it_is_given_back_twice, "was given labels once more"),
    ("I17", a_node_is_remembered_as_what_it_was_not, "is remembered with {'example.com/team': 'red'}"),
    ("I17", memory_goes_back, "already"),
    ("I17", a_life_that_was_given_nothing_is_kept, "as one that had not been given back what it was"),
    ("I17", who_was_held_back_is_let_go_unremembered, "is not remembered, and left with {'example.com/team': 'blue'}"),
    ("I18", a_node_has_no_marker_in_the_end, "the node story-own waits for its memory"),
]


@pytest.mark.parametrize(("number", "crime", "words"), CRIMES, ids=[crime.__name__ for _, crime, _ in CRIMES])
def test_the_audit_finds_out(number: str, crime: Callable[[Criminal], Awaitable[None]], words: str) -> None:
    found = found_out(crime)
    assert any(sentence.startswith(f"{number} ") and words in sentence for sentence in found), found


def test_to_give_a_node_back_what_it_was_is_no_crime() -> None:
    async def give_back(criminal: Criminal) -> None:
        left = await a_node_that_left(criminal)
        await register(criminal, spare="yes", disk="ssd")
        given: dict[str, str | None] = {TEAM: "blue", RACK: "r1", "example.com/spare": None}
        await patch_node(criminal, {MARKER: left, **given})

    assert found_out(give_back) == []


def test_nobody_need_remember_a_node_that_went_unseen_and_was_not_held_back() -> None:
    async def miss_it(criminal: Criminal) -> None:
        await register(criminal, team="blue")
        await leave(criminal)
        await register(criminal)
        await patch_node(criminal, {MARKER: "0"})

    assert found_out(miss_it) == []


def claimed_by_another(*, is_back: bool) -> Callable[[Criminal], Awaitable[None]]:
    """What a node was is claimed by the one that takes its place, which gets its marker and nothing else."""

    async def give_nothing(criminal: Criminal) -> None:
        await register(criminal, team="blue")
        await patch_node(criminal, {MARKER: "0"})
        await keep(criminal, await memento(criminal))
        if not is_back:
            await leave(criminal)
        request = {"pool": "default", "targetOffering": "kwok-small-fsn1", "replaces": NAME}
        await criminal.client.create(NODE_REQUESTS, {"metadata": {"name": "story-next"}, "spec": request})
        await criminal.play.node("next")
        uid = (await criminal.play.client.get(NODES, "story-next")).metadata.uid
        claim = MergePatch({"data": {"claimedBy": f"story-next/{uid}"}})
        await criminal.client.patch(CONFIG_MAPS, NAME, claim, SPACE)
        marker = MergePatch({"metadata": {"labels": {MARKER: "0"}}})
        await criminal.through(
            EffectPoint.PATCH_OBJECT, "story-next", lambda: criminal.client.patch(NODES, "story-next", marker)
        )

    return give_nothing


def test_who_is_back_in_service_keeps_what_its_successor_had_claimed_and_only_then() -> None:
    assert not any("got its marker and nothing else" in one for one in found_out(claimed_by_another(is_back=True)))
    assert any("got its marker and nothing else" in one for one in found_out(claimed_by_another(is_back=False)))
