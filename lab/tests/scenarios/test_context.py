"""What a story has in its hands: patience that ends with a sentence, and the list of what still moves."""

import pytest

from growth.api.kinds import PODS
from growth_lab.scenarios.context import DidNotHappen, NeverSettles, NoLongerHolds, Play
from growth_lab.scenarios.simulated import play_virtually
from growth_lab.scenarios.workloads import DEPLOYMENTS


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


def test_a_promise_that_is_broken_for_a_moment_ends_the_story() -> None:
    async def tell(play: Play) -> None:
        await play.node("one")
        await play.ready("one")
        await play.pod("app")
        await play.until(play.pod_is("app"), "the pod runs")
        play.always(play.pod_is("app"), "that the pod runs")
        await play.delete(PODS, "app")
        await play.pod("app-too")
        await play.until(play.pod_is("app-too"), "another one runs")

    with pytest.raises(NoLongerHolds, match="that the pod runs no longer holds after: Pod app gone"):
        play_virtually(tell)


def test_a_promise_that_is_broken_at_the_very_end_is_noticed_too() -> None:
    async def tell(play: Play) -> None:
        await play.node("one")
        await play.ready("one")
        play.always(lambda: False, "what never holds")
        await play.pod("app")
        await play.client.list(PODS)
        await play.client.list(PODS)

    with pytest.raises(NoLongerHolds, match="what never holds"):
        play_virtually(tell)
