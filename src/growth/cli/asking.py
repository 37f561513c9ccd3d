"""One question to the cluster, for commands that ask and end."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import TypeVar

from growth.api.settings.model import KubeSettings
from growth.cli.failures import UsageError, sentence_for
from growth.cli.interrupts import run_interruptible
from growth.kube.access import find_access
from growth.kube.client import Client, connect
from growth.kube.errors import KubeError

T = TypeVar("T")


def asking(kube: KubeSettings, ask: Callable[[Client], Awaitable[T]]) -> T:
    """What comes of it, or the sentence that says why nothing does."""

    async def connected() -> T:
        access = find_access(Path(kube.kubeconfig) if kube.kubeconfig else None, kube.context or None)
        async with connect(access, max_concurrent_requests=kube.max_concurrent_requests) as client:
            return await ask(client)

    try:
        return run_interruptible(connected())
    except KubeError as error:
        raise UsageError(sentence_for(error)) from error
