"""What the played cloud must do next about one machine and its node: pure, one move at a time.

A node is registered silent, and kwok's label is put on it last, when everything else is there. So wherever this is
interrupted, what is still to be done can be seen from what is there, and doing it twice changes nothing.

| machine                   | its node             | move |
|---------------------------|----------------------|---|
| vanished                  | any                  | forget it |
| on                        | missing              | register |
| kubelet speaks            | without kwok's label, or not rebooted since the last power cut | enliven |
| kubelet silent, or no power | with kwok's label  | silence |
| gone                      | with kwok's label    | silence |
| gone                      | silent and not Ready | remove, as cloud controllers do |
"""

from datetime import datetime

from growth.api.kwok import KWOK_LABEL, KWOK_VALUE
from growth.api.machine import Power
from growth.api.meta import FrozenValue
from growth.api.node import Node
from growth.cloud.kwok.machine_record import POWER_CUT_AT, MachineRecord, state_of


class Forget(FrozenValue, frozen=True):
    """A machine that vanished leaves nothing behind."""

    record: MachineRecord

    @property
    def name(self) -> str:
        """The machine's and the node's name."""
        return self.record.name


class Register(FrozenValue, frozen=True):
    """A machine has booted: its node appears, silent."""

    record: MachineRecord

    @property
    def name(self) -> str:
        """The machine's and the node's name."""
        return self.record.name


class Enliven(FrozenValue, frozen=True):
    """The kubelet of a node begins to speak, for the first time or again."""

    record: MachineRecord
    node: Node

    @property
    def name(self) -> str:
        """The machine's and the node's name."""
        return self.node.metadata.name


class Silence(FrozenValue, frozen=True):
    """The kubelet of a node is heard no more; ``record`` is None if its machine is gone."""

    record: MachineRecord | None
    node: Node

    @property
    def name(self) -> str:
        """The machine's and the node's name."""
        return self.node.metadata.name


class Remove(FrozenValue, frozen=True):
    """A node whose machine is gone for good."""

    node: Node

    @property
    def name(self) -> str:
        """The machine's and the node's name."""
        return self.node.metadata.name


Move = Forget | Register | Enliven | Silence | Remove


def next_move(record: MachineRecord | None, node: Node | None, now: datetime) -> Move | None:
    """What must be done now, if anything. ``node`` has the machine's name and is one of this cloud's."""
    if record is not None and state_of(record, now).power is Power.GONE:
        return Forget(record)
    if node is not None and (record is None or node.spec.provider_id != record.provider_id):
        return _left_behind(node)
    if record is None:
        return None
    state = state_of(record, now)
    if node is None:
        return Register(record) if state.registers else None
    if state.speaks and (not _is_played(node) or has_yet_to_reboot(record, node)):
        return Enliven(record, node)
    if not state.speaks and _is_played(node):
        return Silence(record, node)
    return None


def has_yet_to_reboot(record: MachineRecord, node: Node) -> bool:
    """Whether the machine lost its power since its node last came to life, seen by us or not."""
    return node.metadata.annotations.get(POWER_CUT_AT, "") != record.power_cut_at


def _left_behind(node: Node) -> Move | None:
    """The node of a machine that is gone falls silent; when the control plane has noticed, it is removed."""
    if _is_played(node):
        return Silence(None, node)
    return None if node.is_ready else Remove(node)


def _is_played(node: Node) -> bool:
    return node.metadata.labels.get(KWOK_LABEL) == KWOK_VALUE
