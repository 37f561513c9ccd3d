"""Somebody who attaches volumes at once, where no storage driver runs: what a CSI attacher does as far as one can see.

kwok's nodes mount nothing, so this shows what the control plane does with volumes, not that data is safe.
"""

import asyncio
from typing import Any, Final

from growth.api.change import Change, ChangeType
from growth.api.kinds import VOLUME_ATTACHMENTS
from growth.api.storage import VolumeAttachment
from growth.kube.client import Client
from growth.kube.errors import Conflict, Invalid, NotFound
from growth.kube.informer import Informer
from growth.kube.patches import MergePatch

_FINALIZER: Final = "growth.dev/stand-in-attacher"
_AT_ONCE: Final = 10  # as many as the attacher beside real drivers serves, unless it is told otherwise


class Attacher:
    """Follows all VolumeAttachments; ``run`` never returns."""

    def __init__(self, client: Client) -> None:
        self._client = client
        self._work: asyncio.Queue[VolumeAttachment] = asyncio.Queue()

    async def run(self) -> None:
        """Attach what is wanted, let go what is leaving."""
        async with asyncio.TaskGroup() as tasks:
            tasks.create_task(Informer(self._client, VOLUME_ATTACHMENTS, self._hear).run())
            for _ in range(_AT_ONCE):
                tasks.create_task(self._work_on())

    async def _work_on(self) -> None:
        while True:
            await self._serve(await self._work.get())

    def _hear(self, changes: list[Change[VolumeAttachment]]) -> None:
        for change in changes:
            if change.happened is not ChangeType.DELETED:
                self._work.put_nowait(change.now)

    async def _serve(self, attachment: VolumeAttachment) -> None:
        is_leaving = attachment.metadata.deletion_timestamp is not None
        try:
            if is_leaving and _FINALIZER in attachment.metadata.finalizers:
                others = [one for one in attachment.metadata.finalizers if one != _FINALIZER]
                await self._patch(attachment, {"status": {"attached": False}}, subresource="status")
                await self._patch(attachment, {"metadata": {"finalizers": others or None}})
            elif not is_leaving and not attachment.status.attached:
                await self._patch(attachment, {"metadata": {"finalizers": [_FINALIZER]}})
                await self._patch(attachment, {"status": {"attached": True}}, subresource="status")
        except (Conflict, Invalid, NotFound):
            return  # it changed meanwhile, or is leaving and takes no finalizer; the change is on its way to us

    async def _patch(self, attachment: VolumeAttachment, patch: dict[str, Any], *, subresource: str = "") -> None:
        await self._client.patch(
            VOLUME_ATTACHMENTS, attachment.metadata.name, MergePatch(patch), subresource=subresource
        )
