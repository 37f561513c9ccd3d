"""A node that comes back is the node that left: its labels are kept, and given back before anybody uses it."""

from growth.api.kinds import NODES
from growth.api.node_memory import MARKER
from growth_lab.scenarios.context import ZONE, Play
from growth_lab.scenarios.replica import growing
from growth_lab.scenarios.scenario import Stories
from tests.stories.memory_scene import (
    CHANCE,
    RACK,
    TEAM,
    UNSEEN,
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
    write_again,
)

STORIES = Stories("memory", alone=True)
TIER = "example.com/tier"
TYPE = "node.kubernetes.io/instance-type"


@STORIES.story(is_first=True, ignores=CHANCE)
async def a_node_that_comes_back_has_its_labels(play: Play) -> None:
    """A person labels a node, and the node is deleted and registers again."""
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await label(play, "steady", {RACK: "r7"})
        await until_saved(play, "steady", {TEAM: "blue", RACK: "r7"})
        await leave(play, "steady")
        await until_remembered(play, "steady")
        await play.node("steady")
        await until_marked(play, "steady")
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels[RACK]) == ("blue", "r7")
        memory = await memory_of(play, "steady")
        assert memory is not None
        assert labels[MARKER] == str(memory.memento.version), "the marker says which version of it was stored"


@STORIES.story(ignores=CHANCE)
async def a_node_of_which_nothing_is_remembered_gets_its_marker(play: Play) -> None:
    """So whoever edits labels knows when that is safe. Its own labels stay as they are."""
    async with growing(play, settings=remembering()):
        await play.node("new", labels={TEAM: "blue"})
        await until_marked(play, "new")
        labels = await labels_of(play, "new")
        assert (labels[MARKER], labels[TEAM]) == ("0", "blue")
        await until_written(play, "new")


@STORIES.story(ignores=CHANCE, unless_stopped=UNSEEN)
async def a_node_that_leaves_again_before_its_memory_is_back_keeps_the_first_one(play: Play) -> None:
    """Deleted, added and deleted, all before anybody dealt with it: the last deletion knows nothing worth keeping."""
    await play.node("hasty", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "hasty")
        async with held_back(play, "hasty"):
            await leave(play, "hasty")
            await until_written(play, "hasty", "deleted")
            await play.node("hasty", labels={TEAM: "grey"})
            await until_written(play, "hasty", "deleted", "added")
            await leave(play, "hasty")
            await until_written(play, "hasty", "deleted", "added", "deleted")
        await until_remembered(play, "hasty")
        await until_saved(play, "hasty", {TEAM: "blue"})
        await play.node("hasty")
        await until_marked(play, "hasty")
        assert (await labels_of(play, "hasty"))[TEAM] == "blue"


@STORIES.story(ignores=CHANCE)
async def however_often_a_node_comes_and_goes_it_is_what_it_was(play: Play) -> None:
    """Faster than anybody could deal with it, and nobody waits for anything."""
    await play.node("restless", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "restless")
        await until_saved(play, "restless", {TEAM: "blue"})
        for _ in range(6):
            await play.delete(NODES, play.full("restless"))
            await play.node("restless")
        await until_marked(play, "restless")
        assert (await labels_of(play, "restless"))[TEAM] == "blue"
        await until_written(play, "restless")


@STORIES.story(ignores=CHANCE, unless_stopped=UNSEEN)
async def a_label_changed_just_before_the_deletion_is_kept(play: Play) -> None:
    """The last event of a node tells what it was in the end; nobody needs a checkpoint for that."""
    await play.node("steady", labels={TEAM: "blue", TIER: "one"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await label(play, "steady", {TEAM: "red", TIER: None, RACK: "r7"})
        await leave(play, "steady")
        await play.node("steady")
        await until_marked(play, "steady")
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels.get(TIER), labels[RACK]) == ("red", None, "r7")


@STORIES.story(ignores=CHANCE)
async def labels_set_before_the_return_is_dealt_with_are_merged(play: Play) -> None:
    """What is stored wins; keys that are new on the node stay, whoever set them."""
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering()):
        await _back_with_other_labels(play)
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels[TIER], labels[RACK]) == ("blue", "two", "r7")


@STORIES.story(ignores=CHANCE)
async def labels_set_before_the_return_is_dealt_with_are_replaced(play: Play) -> None:
    """Where ``memory.mode`` is ``replace``, as the seed has it: whatever the node came with or was given is gone."""
    await play.node("steady", labels={TEAM: "blue"})
    async with growing(play, settings=remembering(mode="replace")):
        await _back_with_other_labels(play)
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels.get(TIER), labels.get(RACK)) == ("blue", None, None)
        assert labels["kubernetes.io/hostname"] == play.full("steady"), "owned keys are never replaced"


async def _back_with_other_labels(play: Play) -> None:
    await until_marked(play, "steady")
    await until_saved(play, "steady", {TEAM: "blue"})
    await leave(play, "steady")
    await until_remembered(play, "steady")
    async with held_back(play, "steady"):
        await play.node("steady", labels={TEAM: "grey", TIER: "two"})
        await play.ready("steady")
        await label(play, "steady", {RACK: "r7"})
        assert MARKER not in await labels_of(play, "steady")
    await until_marked(play, "steady")


@STORIES.story(ignores=CHANCE)
async def a_label_that_a_person_removed_stays_removed(play: Play) -> None:
    """Even if the new node brings it along; one that comes anew later is kept again."""
    await play.node("steady", labels={TEAM: "blue", TIER: "one"})
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TIER: "one"})
        await label(play, "steady", {TIER: None})
        await until_saved(play, "steady", {TIER: None})
        await leave(play, "steady")
        await play.node("steady", labels={TIER: "one"})
        await until_marked(play, "steady")
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels.get(TIER)) == ("blue", None)

        await label(play, "steady", {TIER: "two"})
        await until_saved(play, "steady", {TIER: "two"})
        await leave(play, "steady")
        await play.node("steady")
        await until_marked(play, "steady")
        assert (await labels_of(play, "steady"))[TIER] == "two"


@STORIES.story(ignores=CHANCE)
async def a_transaction_that_is_written_again_changes_nothing(play: Play) -> None:
    """A label edited after the return stays edited, whatever is dealt with a second time."""
    await play.node("steady", labels={TEAM: "blue", TIER: "one"})
    async with growing(play, settings=remembering()), following_transactions(play) as made:
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue"})
        await leave(play, "steady")
        await until_remembered(play, "steady")
        await play.node("steady")
        await until_marked(play, "steady")
        await label(play, "steady", {TEAM: "red", TIER: None})
        await until_saved(play, "steady", {TEAM: "red", TIER: None})
        await until_written(play, "steady")
        before, memory = await play.client.get(NODES, play.full("steady")), await memory_of(play, "steady")
        assert {one.data.type for one in made.values()} == {"added", "deleted"}
        for transaction in list(made.values()):
            await write_again(play, transaction)
        await until_written(play, "steady")
        after = await play.client.get(NODES, play.full("steady"))
        assert after.metadata.labels == before.metadata.labels
        assert await memory_of(play, "steady") == memory
        await leave(play, "steady")
        await play.node("steady")
        await until_marked(play, "steady")
        labels = await labels_of(play, "steady")
        assert (labels[TEAM], labels.get(TIER)) == ("red", None)


@STORIES.story(ignores=CHANCE)
async def owned_keys_come_from_the_new_node(play: Play) -> None:
    """A machine knows its zone and its type better than a memory does."""
    async with growing(play, settings=remembering()):
        await _back_elsewhere(play)
        labels = await labels_of(play, "moved")
        assert (labels[ZONE], labels[TYPE], labels[TEAM]) == ("zone-b", "large", "blue")
        await until_saved(play, "moved", {ZONE: "zone-b", TYPE: "large"})


@STORIES.story(ignores=CHANCE)
async def without_owned_keys_all_labels_are_given_back(play: Play) -> None:
    """Where ``memory.ownedKeys`` is empty, as the seed has it."""
    async with growing(play, settings=remembering(owned_keys=())):
        await _back_elsewhere(play)
        labels = await labels_of(play, "moved")
        assert (labels[ZONE], labels[TYPE], labels[TEAM]) == ("zone-a", "small", "blue")


async def _back_elsewhere(play: Play) -> None:
    await play.node("moved", zone="zone-a", labels={TYPE: "small", TEAM: "blue"})
    await until_marked(play, "moved")
    await until_saved(play, "moved", {ZONE: "zone-a", TYPE: "small"})
    await leave(play, "moved")
    await play.node("moved", zone="zone-b", labels={TYPE: "large"})
    await until_marked(play, "moved")


@STORIES.story(ignores=CHANCE)
async def another_machine_under_an_old_name_is_the_node_of_that_name(play: Play) -> None:
    """The name is the identity: it does not matter which machine is behind it."""
    await play.node("steady", labels={TEAM: "blue"}, provider_id="other://machines/1")
    async with growing(play, settings=remembering()):
        await until_marked(play, "steady")
        await until_saved(play, "steady", {TEAM: "blue"})
        await leave(play, "steady")
        await play.node("steady", provider_id="other://machines/2")
        await until_marked(play, "steady")
        assert (await labels_of(play, "steady"))[TEAM] == "blue"
        await play.node("steadier", provider_id="other://machines/1")
        await until_marked(play, "steadier")
        assert TEAM not in await labels_of(play, "steadier"), "who has another name is another node"
