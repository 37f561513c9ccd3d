"""The KWOK provider keeps the contract on the virtual API server, under the shipped role."""

import asyncio

import pytest

from growth_lab.provider_contract import CHECKS, Check, run_check
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.kwok_trial import KwokTrial
from tests.cloud.virtual import GROWTH, NAMESPACE, VirtualKwok


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_kwok_provider_keeps_the_contract(check: Check) -> None:
    async def trial() -> None:
        world = VirtualKwok()
        await run_check(check, KwokTrial(world.client(GROWTH).transport, NAMESPACE, world.clock.now, asyncio.sleep))

    run_virtually(trial())
