"""The stand-in for a storage driver's attacher: says that a volume is attached, and that it is no more.

``is_stuck`` makes it fall silent, as a driver does whose provider does not answer; what piled up is done on release.
"""

from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.served_kinds import ATTACHMENTS
from growth_lab.simulator.store import Event, Key, Store
from growth_lab.simulator.timings import Timings
from growth_lab.simulator.work_queue import WorkQueue


class Attacher:
    """Answers for every driver."""

    def __init__(self, clock: Clock, store: Store, timings: Timings) -> None:
        self._store = store
        self._is_stuck = False
        self._attaching: WorkQueue[Key] = WorkQueue(clock, timings.volume_attach, self._attach)
        self._detaching: WorkQueue[Key] = WorkQueue(clock, timings.volume_detach, self._detach)
        store.listen(ATTACHMENTS, self._hear)
        self._look_at_all()

    @property
    def is_stuck(self) -> bool:
        """Whether it does nothing."""
        return self._is_stuck

    @is_stuck.setter
    def is_stuck(self, is_stuck: bool) -> None:
        self._is_stuck = is_stuck
        if not is_stuck:
            self._look_at_all()

    def _look_at_all(self) -> None:
        for attachment in self._store.all(ATTACHMENTS):
            self._hear(Event(0, "ADDED", ATTACHMENTS, attachment, None))

    def _hear(self, event: Event) -> None:
        if event.what == "DELETED":
            return
        if "deletionTimestamp" in event.object["metadata"]:
            self._detaching.add(event.key)
        elif not part(event.object, "status").get("attached"):
            self._attaching.add(event.key)

    def _attach(self, key: Key) -> None:
        attachment = self._store.get(ATTACHMENTS, key[1])
        if attachment is None or self._is_stuck or "deletionTimestamp" in attachment["metadata"]:
            return
        finalizer = f"external-attacher/{attachment['spec']['attacher'].replace('.', '-')}"
        finalizers = [*(attachment["metadata"].get("finalizers") or ())]
        if finalizer not in finalizers:
            self._store.patch(ATTACHMENTS, key[1], patch={"metadata": {"finalizers": [*finalizers, finalizer]}})
        self._store.patch(ATTACHMENTS, key[1], patch={"status": {"attached": True}})

    def _detach(self, key: Key) -> None:
        attachment = self._store.get(ATTACHMENTS, key[1])
        if attachment is None or self._is_stuck or "deletionTimestamp" not in attachment["metadata"]:
            return
        self._store.patch(ATTACHMENTS, key[1], patch={"status": {"attached": False}})
        others = [
            name for name in attachment["metadata"].get("finalizers") or () if not name.startswith("external-attacher/")
        ]
        self._store.patch(ATTACHMENTS, key[1], patch={"metadata": {"finalizers": others or None}})
