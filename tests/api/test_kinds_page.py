"""docs/kinds.md: the NodeRequest that it shows is applied as it stands."""

import re
from typing import Any, Final

import yaml

from growth.api.growth_kinds import NODE_POOLS, NODE_REQUESTS
from lab.tests.simulator.api.worlds import World, in_a_world
from tests.repository import page_text

PAGE: Final = page_text("kinds")


def shown_commands() -> str:
    """The page's one shell block that applies a NodeRequest."""
    (block,) = (one for one in re.findall(r"```sh\n(.*?)```", PAGE, re.DOTALL) if "kind: NodeRequest" in one)
    return block


def shown_pool() -> dict[str, Any]:
    """The page's first NodePool."""
    (text,) = (one for one in re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL) if "kind: NodePool" in one)
    return yaml.safe_load(text)


def test_shown_request_applies_and_belongs_to_the_pool_that_owns_it() -> None:
    async def test(world: World) -> None:
        pool = await world.client().create(NODE_POOLS, shown_pool())
        text = shown_commands().partition("<<EOF\n")[2].partition("\nEOF\n")[0]
        filled, count = re.subn(r"\$\(kubectl get nodepool default .*\)", pool.metadata.uid, text)
        assert count == 1
        made = await world.client().create(NODE_REQUESTS, yaml.safe_load(filled))
        assert (made.pool, made.pool_problem, made.spec.pool) == ("default", "", "")
        assert made.spec.target_offering == "hetzner-cax11"

    in_a_world(test)
