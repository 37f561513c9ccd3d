"""A node is partitioned and its machine runs: one Event, whichever capabilities see it."""

import asyncio
from typing import Final

import msgspec
import pytest

from growth.api.core import Event
from growth.api.kinds import EVENTS
from growth.decide.pipeline import CAPABILITIES
from growth.decide.writes.unreachable_event import UNREACHABLE_REASON
from growth_lab.scenarios.context import Play
from growth_lab.scenarios.replica import QUICK, a_pool, growing
from growth_lab.scenarios.simulated import play_virtually
from tests.stories.registry import PATIENT, SCALE_DOWN, TAINTED

ALL: Final = frozenset(one.name for one in CAPABILITIES)


@pytest.mark.parametrize(
    ("capabilities", "mode"),
    [
        pytest.param(ALL, "observe", id="failover and shrink"),
        pytest.param(ALL - {"shrink"}, "observe", id="failover alone"),
        pytest.param(ALL, "off", id="shrink alone"),
    ],
)
def test_partitioned_node_whose_machine_runs_gets_one_event(capabilities: frozenset[str], mode: str) -> None:
    found: list[Event] = []

    async def tell(play: Play) -> None:
        settings = msgspec.structs.replace(QUICK, failover=msgspec.structs.replace(QUICK.failover, mode=mode))
        chosen = [one for one in CAPABILITIES if one.name in capabilities]
        for number in range(3):
            await play.node(f"other-{number}", taints=TAINTED)
        async with growing(play, settings=settings, capabilities=chosen) as growth:
            await a_pool(play, types="small", scaleDown=SCALE_DOWN)
            await play.pod("app", cpu="1500m", nodeSelector={}, tolerations=PATIENT)
            await play.until(play.pod_is("app"), "the pod runs")
            name = play.trace.pods["app"].node_name
            await growth.hurt(name, "neverReady")
            await play.until(lambda: not play.trace.nodes[name].is_ready, "the node is unready")
            await asyncio.sleep(60)  # on the virtual clock: unreadyAfter is over ten times
            events = (await play.client.list(EVENTS)).items
            found.extend(one for one in events if one.regarding.name == name and one.type == "Warning")

    play_virtually(tell, alone=True)
    (event,) = found
    assert event.reason == UNREACHABLE_REASON
    assert "--fence" in event.note
    assert "scaleDown.removeUnreachable in pool default" in event.note
    assert event.series is None, "recorded once"
