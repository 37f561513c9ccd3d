"""The Hetzner provider on trial, on the sandbox."""

import asyncio
from collections.abc import AsyncGenerator
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from datetime import datetime
from typing import Final

from growth.api.machine import MachineRequest
from growth.cloud.hetzner.provider import HetznerProvider
from growth_lab.hetzner_sandbox.faults import Lost, Quota, RateLimit, SoldOut
from growth_lab.provider_contract import Trial, Trouble
from tests.cloud.hetzner.rig import Rig, a_request, an_offering

# The limit comes back at one call a second, and reading lists waits until there is enough for purchases.
_RECOVERY_SECONDS: Final = 70.0
_MANY: Final = 1000


class HetznerTrial(Trial):
    """A project of its own."""

    poll_seconds = 0.5

    def __init__(self) -> None:
        super().__init__()
        self.rig = Rig()

    def opened(self) -> AbstractAsyncContextManager[HetznerProvider]:
        return self.rig.opened()

    def request(self, name: str) -> MachineRequest:
        return a_request(name)

    def other_request(self, name: str) -> MachineRequest:
        return a_request(name, an_offering("cx23", "nbg1", "amd64"))

    @asynccontextmanager
    async def trouble(self, trouble: Trouble) -> AsyncGenerator[None]:
        sandbox, tokens = self.rig.sandbox, dict(self.rig.sandbox.tokens)
        match trouble:
            case Trouble.OUTAGE:
                sandbox.order(Lost(works=False, times=_MANY))
            case Trouble.LOST_ANSWER:
                sandbox.order(Lost(method="POST", times=_MANY))
                sandbox.order(Lost(method="DELETE", times=_MANY))
            case Trouble.UNAUTHORIZED:
                sandbox.tokens = {}
            case Trouble.RATE_LIMITED:
                sandbox.order(RateLimit(left=0))
            case Trouble.OUT_OF_STOCK:
                sandbox.order(SoldOut(server_type="cax11", is_listed=True))
            case Trouble.QUOTA_EXCEEDED:
                sandbox.order(Quota(servers=len(sandbox.servers())))
        try:
            yield
        finally:
            sandbox.tokens = tokens
            sandbox.clear_faults()
            if trouble is Trouble.RATE_LIMITED:
                await asyncio.sleep(_RECOVERY_SECONDS)

    def now(self) -> datetime:
        return self.rig.clock.now()
