"""What a story has in its hands: patience that ends with a sentence, and the list of what still moves."""

import pytest

from growth.api.kinds import PODS
from growth.play.play import DidNotHappen, NeverSettles, Play
from growth.play.virtual import play_virtually
from growth.play.workloads import DEPLOYMENTS


def test_what_does_not_happen_is_named_with_what_was_seen_last() -> None:
    async def tell(play: Play) -> None:
        await play.pod("lonely")
        await play.until(play.pod_is("lonely"), "the pod runs")

    with pytest.raises(
        DidNotHappen, match=r"within 180 s it did not happen that the pod runs; seen last:\n.*lonely created"
    ):
        play_virtually(tell)


def test_a_story_that_never_settles_ends_with_what_still_moves() -> None:
    async def tell(play: Play) -> None:
        """Pods that end after a second, made anew for ever."""
        await play.node("busy")
        await play.ready("busy")
        template = {
            "metadata": {"labels": {"app": "restless"}, "annotations": {"growth.dev/finish-after": "1s"}},
            "spec": play.pod_spec(),
        }
        spec = {"replicas": 2, "selector": {"matchLabels": {"app": "restless"}}, "template": template}
        await play.create(DEPLOYMENTS, {"metadata": {"name": "restless"}, "spec": spec})
        await play.settled(5)

    with pytest.raises(NeverSettles, match=r"after 180 s these still move:\n.*Pod restless-\* "):
        play_virtually(tell)


def test_a_story_leaves_nothing_behind() -> None:
    async def tell(play: Play) -> None:
        await play.node("one")
        await play.pod("app")
        await play.delete(PODS, "app")
        await play.settled(1)
        assert not play.trace.pods

    assert play_virtually(tell)
