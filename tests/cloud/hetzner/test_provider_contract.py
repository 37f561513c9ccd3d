"""The Hetzner provider keeps the contract on the sandbox."""

import pytest

from growth_lab.provider_contract import CHECKS, Check, run_check
from growth_lab.simulator.virtual_loop import run_virtually
from tests.cloud.hetzner.trial import HetznerTrial


@pytest.mark.parametrize("check", CHECKS, ids=lambda check: check.__name__)
def test_the_hetzner_provider_keeps_the_contract(check: Check) -> None:
    async def trial() -> None:
        await run_check(check, HetznerTrial())

    run_virtually(trial())
