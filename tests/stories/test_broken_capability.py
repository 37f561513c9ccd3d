"""Each capability raises in turn: the others go on, and a pending pod still gets its node where no fact is missing."""

import asyncio
from typing import Any, Final

import msgspec
import pytest

from growth.decide.contract import AnyCapability, Decision, Inputs
from growth.decide.pipeline import CAPABILITIES
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.registry import TAINTED

SETTINGS: Final = msgspec.structs.replace(QUICK, queue=msgspec.structs.replace(QUICK.queue, enabled=True))
NEEDED_FOR_A_NODE: Final = {"memory", "pools", "grow", "provision"}
"""A new node stays closed until node memory has said what it was."""
SKIPPED: Final = {"queue": {"consolidate", "shrink"}, "failover": {"consolidate", "shrink"}, "grow": {"shrink"}}
"""By the capability that raises, those that cannot decide without its facts."""


def broken(capability: AnyCapability) -> AnyCapability:
    def decide(_: Inputs[Any, Any, Any]) -> Decision[Any]:
        raise ZeroDivisionError(f"{capability.name} is broken")

    return msgspec.structs.replace(capability, decide=decide)


@pytest.mark.parametrize("name", [one.name for one in CAPABILITIES])
def test_pending_pod_gets_its_node_although_another_capability_raises(name: str) -> None:
    metrics: list[str] = []

    async def tell(play: Play) -> None:
        capabilities = [broken(one) if one.name == name else one for one in CAPABILITIES]
        await play.node("other", taints=TAINTED)
        async with growing(play, settings=SETTINGS, capabilities=capabilities) as growth:
            await a_pool(play, "default", types="small")
            await play.pod("web", cpu="1500m", nodeSelector={})
            if name in NEEDED_FOR_A_NODE:
                await asyncio.sleep(60)
            else:
                await play.until(play.pod_is("web"), "the pod runs")
            metrics.append(growth.metrics())

    play_virtually(tell, alone=True)
    (text,) = metrics
    held = {
        capability.name
        for capability in CAPABILITIES
        if f'growth_holds{{capability="{capability.name}",reason="DependencyFailed"}} 1.0' in text
    }
    assert held == SKIPPED.get(name, set())
    assert f'growth_decider_failures_total{{capability="{name}"}}' in text
