"""One replica for the lease tests: contends, and while it leads writes as fast as it can.

    python -m tests.cluster.lease_replica KUBECONFIG NAMESPACE IDENTITY

Each write to the ConfigMap ``ledger`` is a patch decided on the version it read, as all writes of Growth are. After
SIGUSR1 it writes once *without* a precondition to ``bare`` and stops itself in the worst moment that there is: decided,
allowed, and about to be sent; only the fence can hold that write back when it is woken. SIGTERM is a clean stop.
"""

import asyncio
import logging
import os
import signal
import sys
from contextlib import AbstractAsyncContextManager
from datetime import UTC, datetime
from pathlib import Path

from growth.api.kinds import CONFIG_MAPS
from growth.kube.access import access_from_kubeconfig
from growth.kube.client import Client, connect
from growth.kube.errors import Conflict, Fenced, KubeError
from growth.kube.leader_election import LeaderLease, LeaseTerms
from growth.kube.patches import MergePatch
from growth.kube.transport import Request, Response, Send, Stream

TERMS = LeaseTerms(lease_duration_seconds=3, renew_deadline_seconds=2, retry_period_seconds=0.5)
LEASE, LEDGER, BARE = "leader", "ledger", "bare"

_LOG = logging.getLogger("replica")


class StopsItself:
    """A sender that can stop its own process between the decision to send and the sending."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self.is_armed = False

    async def send(self, request: Request) -> Response:
        if self.is_armed and request.path.endswith(f"/{BARE}"):
            self.is_armed = False
            _LOG.info("stops itself")
            os.kill(os.getpid(), signal.SIGSTOP)
        try:
            return await self._send.send(request)
        except Fenced:
            _LOG.info("the fence held")
            raise

    def stream(self, request: Request) -> AbstractAsyncContextManager[Stream]:
        return self._send.stream(request)

    def clock(self) -> float:
        return self._send.clock()

    async def close(self) -> None:
        await self._send.close()


async def main(kubeconfig: Path, namespace: str, identity: str) -> None:
    access = access_from_kubeconfig(kubeconfig)
    async with connect(access) as client, connect(access) as work:
        send = StopsItself(work.transport)
        lease = LeaderLease(
            client, LEASE, namespace, identity, work=Client(send), terms=TERMS, now=lambda: datetime.now(UTC)
        )
        run = asyncio.create_task(lease.run(lambda leading: lead(leading, send, namespace, identity)))
        loop = asyncio.get_running_loop()
        loop.add_signal_handler(signal.SIGTERM, run.cancel)
        loop.add_signal_handler(signal.SIGUSR1, lambda: setattr(send, "is_armed", True))
        await asyncio.wait({run})
        _LOG.info("has ended")


async def lead(client: Client, send: StopsItself, namespace: str, identity: str) -> None:
    writes = 0
    _LOG.info("leads")
    try:
        while True:
            try:
                if send.is_armed:
                    await client.patch(CONFIG_MAPS, BARE, MergePatch({"data": {"by": identity}}), namespace)
                seen = await client.get(CONFIG_MAPS, LEDGER, namespace)
                precondition = {"resourceVersion": str(seen.metadata.resource_version)}
                body = {"metadata": precondition, "data": {"by": identity, "number": str(writes)}}
                await client.patch(CONFIG_MAPS, LEDGER, MergePatch(body), namespace)
                writes += 1
            except Fenced:
                raise
            except Conflict:
                _LOG.info("had a conflict")
            except KubeError as error:
                _LOG.info("failed: %s", error)
                await asyncio.sleep(0.1)
    finally:
        _LOG.info("leads no more")


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, stream=sys.stdout, format="%(message)s")
    asyncio.run(main(Path(sys.argv[1]), sys.argv[2], sys.argv[3]))
