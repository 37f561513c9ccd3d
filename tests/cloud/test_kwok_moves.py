"""What the played cloud does next, from what is there."""

from datetime import timedelta

import msgspec
import pytest

from growth.api.node import Node
from growth.cloud.kwok.machine_record import MachineRecord
from growth.cloud.kwok.transitions import (
    Enliven,
    Forget,
    Move,
    Register,
    Remove,
    Silence,
    next_move,
)
from tests.cloud.kwok_records import BOOT, MADE, a_record, its_node

UP = a_record()
OFF = a_record(faults="powerOff")
SILENT = a_record(faults="neverReady")
MUTE = a_record(faults="neverRegisters")
VANISHED = a_record(faults="vanishes")
EARLIER = a_record(uid="uid-0")


@pytest.mark.parametrize(
    ("record", "node", "move"),
    [
        pytest.param(UP, None, Register(UP), id="a machine that is up registers"),
        pytest.param(UP, its_node(UP, played=False), Enliven(UP, its_node(UP, played=False)), id="then it speaks"),
        pytest.param(UP, its_node(UP), None, id="then all is done"),
        pytest.param(UP, its_node(UP, ready=False), None, id="whether it is Ready is kwok's business"),
        pytest.param(OFF, None, None, id="without power nothing registers"),
        pytest.param(OFF, its_node(OFF), Silence(OFF, its_node(OFF)), id="without power nobody speaks"),
        pytest.param(OFF, its_node(OFF, played=False), None, id="the node of a machine without power stays"),
        pytest.param(SILENT, None, Register(SILENT), id="who is never Ready registers"),
        pytest.param(SILENT, its_node(SILENT, played=False), None, id="and stays silent"),
        pytest.param(SILENT, its_node(SILENT), Silence(SILENT, its_node(SILENT)), id="a partition silences"),
        pytest.param(MUTE, None, None, id="who never registers does not"),
        pytest.param(VANISHED, None, Forget(VANISHED), id="what vanished is forgotten"),
        pytest.param(VANISHED, its_node(VANISHED), Forget(VANISHED), id="first itself, then its node"),
        pytest.param(None, its_node(UP), Silence(None, its_node(UP)), id="a node without a machine falls silent"),
        pytest.param(None, its_node(UP, played=False), None, id="it stays until the control plane has noticed"),
        pytest.param(
            None,
            its_node(UP, played=False, ready=False),
            Remove(its_node(UP, played=False, ready=False)),
            id="then it is removed",
        ),
        pytest.param(UP, its_node(EARLIER), Silence(None, its_node(EARLIER)), id="an earlier one is another one"),
        pytest.param(
            UP,
            its_node(EARLIER, played=False, ready=False),
            Remove(its_node(EARLIER, played=False, ready=False)),
            id="it makes room for the new one",
        ),
        pytest.param(None, None, None, id="nothing is nothing"),
    ],
)
def test_the_next_move_follows_from_what_is_there(
    record: MachineRecord | None, node: Node | None, move: Move | None
) -> None:
    assert next_move(record, node, MADE + BOOT) == move
    if move is not None:
        assert move.name == "default-1"


def test_a_node_that_has_not_rebooted_since_the_power_cut_is_enlivened_anew() -> None:
    rebooted = a_record(power_cut_at="2026-03-01T10:00:00.000000Z")
    assert next_move(rebooted, its_node(rebooted), MADE + BOOT) == Enliven(rebooted, its_node(rebooted))


def test_nothing_is_done_before_its_time() -> None:
    assert next_move(UP, None, MADE + BOOT - timedelta(microseconds=1)) is None


def test_a_node_that_is_deleted_while_its_machine_runs_registers_again() -> None:
    assert next_move(UP, None, MADE + timedelta(days=1)) == Register(UP)


def test_a_node_that_never_reported_and_lost_its_machine_is_removed_at_once() -> None:
    node = its_node(UP, played=False)
    bare = msgspec.structs.replace(node, status=msgspec.structs.replace(node.status, conditions=()))
    assert next_move(None, bare, MADE) == Remove(bare)
