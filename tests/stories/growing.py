"""Stories of growing: from a pod that waits to a node that is ready, with Growth at work under the shipped role."""

from growth.api.growth_kinds import NODE_REQUESTS
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import a_pool, growing
from growth_lab.scenarios.scenario import Stories

STORIES = Stories("growing", alone=True)


@STORIES.story(is_first=True)
async def a_pod_waits_and_gets_a_machine(play: Play) -> None:
    """The cheapest machine that fits is bought, opened when its node is ready, and the pod runs there."""
    async with growing(play):
        await a_pool(play)
        await play.pod("app", cpu="1500m", nodeSelector={})
        await play.until(play.pod_is("app"), "the pod runs")
        await play.until(lambda: _phases(play) == ["Ready"], "the request is Ready")
    assert [one.spec.target_offering for one in play.trace.objects[NODE_REQUESTS].values()] == ["kwok-small-fsn1"]


def _phases(play: Play) -> list[str]:
    return sorted(request.status.phase for request in play.trace.objects[NODE_REQUESTS].values())
