"""A node that comes back is the node that left: its labels are kept, and given back before anybody uses it."""

from growth.api.kinds import NODES
from growth.api.memory import MARKER
from growth.kube.errors import NotFound
from growth.play.growing import growing
from growth.play.play import Play
from growth.play.story import Stories

STORIES = Stories("memory", alone=True)


@STORIES.story(is_first=True)
async def a_node_that_comes_back_has_its_labels(play: Play) -> None:
    """A person labels a node, and the node is deleted and registers again."""
    await play.node("steady", labels={"example.com/team": "blue"})
    async with growing(play):
        await until_marked(play, "steady")
        assert (await labels_of(play, "steady"))[MARKER] == "0", "nothing was remembered of it"
        await play.change(NODES, play.full("steady"), {"metadata": {"labels": {"example.com/rack": "r7"}}})
        await play.delete(NODES, play.full("steady"))
        await play.until(lambda: "steady" not in play.trace.nodes, "it is gone")
        await play.node("steady")
        await until_marked(play, "steady")
        labels = await labels_of(play, "steady")
        assert (labels["example.com/team"], labels["example.com/rack"]) == ("blue", "r7")


async def until_marked(play: Play, name: str) -> None:
    """Wait until a node has its memory back, or is known to have had none."""

    async def has_marker() -> bool:
        return MARKER in await labels_of(play, name)

    await play.until_found(has_marker, f"{name} has its marker")


async def labels_of(play: Play, name: str) -> dict[str, str]:
    """The labels of a node; none if it is not there."""
    try:
        return (await play.client.get(NODES, play.full(name))).metadata.labels
    except NotFound:
        return {}
