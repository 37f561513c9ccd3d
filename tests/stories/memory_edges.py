"""Where memory is put to the test: nobody watches, nobody can read or hold it, nobody wants it."""

from datetime import timedelta
from typing import Final

from growth.api.kinds import NODES
from growth.api.node_memory import FINALIZER, MARKER, MEMORIES, REMEMBERING
from growth.kube.errors import NotFound
from growth.kube.patches import MergePatch
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, events_of, growing, until_told
from growth_lab.scenarios.scenario import Stories
from tests.stories.memory_scene import (
    CHANCE,
    RACK,
    TEAM,
    following_transactions,
    held_back,
    label,
    labels_of,
    leave,
    memory_of,
    remembering,
    until_marked,
    until_remembered,
    until_saved,
    until_written,
)

STORIES = Stories("memory", alone=True)
CLOSED: Final = f"{REMEMBERING}:NoSchedule"
DEDICATED: Final = "example.com/dedicated=database:NoSchedule"
# So many labels of so many characters make more than the mebibyte that a ConfigMap holds, in less than the one and a
# half that etcd takes for a node, whose managed fields name all keys once more.
MANY: Final = {f"n{number}": "x" * 63 for number in range(14_500)}
# A key of 317 characters: a prefix of 253 and a name of 63.
LONGEST: Final = ".".join(("a" * 63, "b" * 63, "c" * 63, "d" * 61)) + "/" + "k" * 63
PECULIAR: Final = {
    LONGEST: "v" * 63,
    "example.com/a---SLASH---b": "token",
    "a---SLASH---b": "no-prefix",
    "a/b": "a-slash",
    "example.com/empty": "",
    "example.com/A.b_c-D": "A.b_c-D",
    "node-role.kubernetes.io/worker": "",
}


@STORIES.story(ignores=CHANCE)
async def a_node_that_left_while_nobody_watched_has_its_last_checkpoint_back(play: Play) -> None:
    """One is still gone when Growth starts again, another one has come back meanwhile."""
    for name in ("gone", "swapped"):
        await play.node(name, labels={TEAM: name})
    async with growing(play, settings=remembering()):
        await until_marked(play, "gone", "swapped")
        for name in ("gone", "swapped"):
            await label(play, name, {RACK: "r7"})
            await until_saved(play, name, {TEAM: name, RACK: "r7"})
    await leave(play, "gone", "swapped")
    await play.node("swapped", labels={TEAM: "grey"})
    async with growing(play, settings=remembering()):
        await until_remembered(play, "gone")
        await play.node("gone")
        await until_marked(play, "gone", "swapped")
        for name in ("gone", "swapped"):
            labels = await labels_of(play, name)
            assert (labels[TEAM], labels[RACK]) == (name, "r7")


@STORIES.story(ignores=CHANCE)
async def a_restart_writes_nothing_down_anew(play: Play) -> None:
    """Whoever starts finds nodes that bear their marker: they came long ago, and nothing is to be done about them."""
    names = [f"steady-{number}" for number in range(5)]
    for name in names:
        await play.node(name, labels={TEAM: name})
    await play.ready(*names)
    async with growing(play, settings=remembering()):
        await until_marked(play, *names)
        for name in names:
            await until_saved(play, name, {TEAM: name})
            await until_written(play, name)
    before = [await memory_of(play, name) for name in names]
    async with following_transactions(play) as made, growing(play, settings=remembering()):
        await play.node("new")
        await until_marked(play, "new")
        assert {one.data.node for one in made.values()} == {play.full("new")}
    assert [await memory_of(play, name) for name in names] == before


@STORIES.story(ignores=CHANCE)
async def a_node_with_the_finalizer_waits_until_it_is_written_down(play: Play) -> None:
    """It is relabelled and deleted while nobody watches: when Growth is there again, it is saved, and then it goes."""
    await play.node("held", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(finalizer=True)):
        await until_marked(play, "held")
        await play.until_found(lambda: _is_held(play, "held"), "the finalizer is there")
        await until_saved(play, "held", {TEAM: "blue"})
    await label(play, "held", {TEAM: "red", RACK: "r7"})
    await play.delete(NODES, play.full("held"))
    assert await _is_held(play, "held")
    async with growing(play, settings=remembering(finalizer=True)):
        await play.until(lambda: "held" not in play.trace.nodes, "it is gone")
        await play.node("held")
        await until_marked(play, "held")
        labels = await labels_of(play, "held")
        assert (labels[TEAM], labels[RACK]) == ("red", "r7")


@STORIES.story(ignores=CHANCE)
async def who_is_switched_off_remembers_nothing_and_holds_nobody(play: Play) -> None:
    """The finalizers of a better time go, nodes get no marker, and what is remembered stays as it is."""
    await play.node("held", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(finalizer=True)):
        await until_marked(play, "held")
        await play.until_found(lambda: _is_held(play, "held"), "the finalizer is there")
        await until_saved(play, "held", {TEAM: "blue"})
        await until_written(play, "held")
    memory = await memory_of(play, "held")
    async with following_transactions(play) as made, growing(play, settings=remembering(mode="off", finalizer=True)):
        await play.node("new")
        await play.until_found(lambda: _is_free(play, "held"), "the finalizer is gone")
        await leave(play, "held", "new")
        await play.node("held")
        await play.ready("held")
        assert MARKER not in await labels_of(play, "held")
    assert await memory_of(play, "held") == memory
    assert made == {}


@STORIES.story(ignores=CHANCE)
async def a_foreign_node_can_be_closed_until_it_has_its_memory(play: Play) -> None:
    """It registers with a taint of ours, which goes in the write that gives it back what it was."""
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue"})
        await leave(play, "steady")
        await until_remembered(play, "steady")
        play.always(lambda: _is_closed(play, "steady") or _has_team(play, "steady"), "that it is closed or remembered")
        async with held_back(play, "steady"):
            await play.node("steady", taints=(CLOSED,))
            await play.ready("steady")
            assert _is_closed(play, "steady")
        await play.until(lambda: not _is_closed(play, "steady"), "it is open")
        assert (await labels_of(play, "steady"))[TEAM] == "blue"


@STORIES.story(ignores=CHANCE)
async def every_legal_label_comes_back_as_it_was(play: Play) -> None:
    """Keys of 317 characters, with and without a slash, and with what the seed writes in the place of one."""
    await play.node("peculiar", labels=PECULIAR)
    async with growing(play, settings=remembering()):
        await until_marked(play, "peculiar")
        await until_saved(play, "peculiar", PECULIAR)
        await leave(play, "peculiar")
        await play.node("peculiar")
        await until_marked(play, "peculiar")
        labels = await labels_of(play, "peculiar")
        assert PECULIAR.items() <= labels.items()
        assert len(LONGEST) == 317


@STORIES.story(ignores=CHANCE)
async def annotations_and_taints_are_remembered_if_so_set(play: Play) -> None:
    """Those whose keys begin as the settings say, and no others."""
    notes = {"example.com/owner": "anna", "example.org/visits": "7"}
    await play.node("noted", annotations=notes, taints=(DEDICATED, "example.org/broken:NoSchedule"))
    async with growing(play, settings=remembering(annotations=("example.com/",), taints=("example.com/",))):
        await until_marked(play, "noted")
        await until_saved(play, "noted", {})
        await leave(play, "noted")
        await play.node("noted")
        await until_marked(play, "noted")
        node = await play.client.get(NODES, play.full("noted"))
        assert {key: node.metadata.annotations.get(key) for key in notes} == {**notes, "example.org/visits": None}
        assert [str(taint) for taint in node.spec.taints if "example" in taint.key] == [DEDICATED]


@STORIES.story(ignores=CHANCE)
async def a_node_that_has_been_gone_for_long_is_forgotten(play: Play) -> None:
    """After the time that is set; one of that name that comes later begins anew."""
    await play.node("former", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(forget_after=timedelta(seconds=2))):
        await until_marked(play, "former")
        await until_saved(play, "former", {TEAM: "blue"})
        await leave(play, "former")
        await play.until_found(lambda: _is_forgotten(play, "former"), "it is forgotten")
        await play.node("former")
        await until_marked(play, "former")
        labels = await labels_of(play, "former")
        assert (labels[MARKER], labels.get(TEAM)) == ("0", None)


@STORIES.story(ignores=CHANCE)
async def what_no_config_map_holds_is_refused_and_the_last_memory_kept(play: Play) -> None:
    """People are told. A node with the finalizer does not wait for ever, and that is told, too."""
    await play.node("large", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(finalizer=True)):
        await until_marked(play, "large")
        await play.until_found(lambda: _is_held(play, "large"), "the finalizer is there")
        await until_saved(play, "large", {TEAM: "blue"})
        await label(play, "large", {**MANY, TEAM: "red"})
        await until_told(play, play.full("large"), "MemoryTooLarge")
        await leave(play, "large")
        await until_told(play, play.full("large"), "MemoryGivesWay")
        await until_saved(play, "large", {TEAM: "blue"})
        await play.node("large")
        await until_marked(play, "large")
        assert (await labels_of(play, "large"))[TEAM] == "blue"


@STORIES.story(ignores=CHANCE)
async def a_memory_that_cannot_be_read_is_left_alone_until_it_is_mended(play: Play) -> None:
    """The node waits for its marker, people are told, and nothing is written over what somebody may mend."""
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue"})
        await leave(play, "steady")
        await until_remembered(play, "steady")
        whole = (await play.client.get(MEMORIES, play.full("steady"), QUICK.memory.namespace)).data.memory
        await _write(play, "steady", whole[:-1])
        await play.node("steady")
        await until_told(play, play.full("steady"), "MemoryUnreadable")
        assert MARKER not in await labels_of(play, "steady")
        await _write(play, "steady", whole)
        await until_marked(play, "steady")
        assert (await labels_of(play, "steady"))[TEAM] == "blue"
        assert await events_of(play, "kube-root-ca.crt") == set(), (
            "what Kubernetes puts into every namespace is no memory"
        )


async def _write(play: Play, name: str, memory: str) -> None:
    patch = MergePatch({"data": {"memory": memory}})
    await play.client.patch(MEMORIES, play.full(name), patch, QUICK.memory.namespace)


async def _is_held(play: Play, name: str) -> bool:
    return FINALIZER in (await play.client.get(NODES, play.full(name))).metadata.finalizers


async def _is_free(play: Play, name: str) -> bool:
    return not await _is_held(play, name)


async def _is_forgotten(play: Play, name: str) -> bool:
    try:
        await play.client.get(MEMORIES, play.full(name), QUICK.memory.namespace)
    except NotFound:
        return True
    return False


def _is_closed(play: Play, name: str) -> bool:
    node = play.trace.nodes.get(name)
    return node is None or any(str(taint) == CLOSED for taint in node.spec.taints)


def _has_team(play: Play, name: str) -> bool:
    return play.trace.nodes[name].metadata.labels.get(TEAM) == "blue"
