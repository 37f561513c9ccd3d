"""What is written on a node that a person takes out of service: the taint, and who did it, when and on what proof."""

from datetime import datetime
from typing import Final

import msgspec

from growth.api.actions import EditObject
from growth.api.machine import Power, PowerReading
from growth.api.node import Node
from growth.api.out_of_service import HARDWARE, PROOF, SHUTDOWN, Proof
from growth.decide.failover.evidence import NodeCase
from growth.decide.writes.node_patches import annotated, edited, taint_added

REASONS: Final = {taint.value: taint for taint in (SHUTDOWN, HARDWARE)}


class NodeNote(msgspec.Struct, frozen=True):
    """What a person asked for."""

    name: str
    by: str
    reason: str = ""
    """The taint's value; empty: as the provider's answer is."""
    fence: bool = False
    force: bool = False


def tainted(node: Node, proof: Proof, wish: NodeNote) -> EditObject:
    """Taint and note, in one edit of the node as it was seen."""
    usual = HARDWARE if proof.power is Power.FAILED else SHUTDOWN
    taint = REASONS.get(wish.reason, usual)
    return edited(
        node,
        [taint_added(node, taint), annotated(node, PROOF, proof.text)],
        f"{wish.by} takes it out of service",
    )


def proven(case: NodeCase, node: Node, wish: NodeNote, at: datetime) -> Proof:
    """All that is known about a machine that was proven dead."""
    answers = case.answers
    if answers is None:
        raise ValueError(f"there is no proof about {case.name}")
    return Proof(
        tainted_at=at,
        provider_id=case.provider_id,
        last_sign=case.last_sign,
        power=answers.power,
        first_reading=answers.first_at,
        last_reading=answers.last_at,
        readings=answers.count,
        boot_id=node.status.node_info.boot_id,
        was_graceful=case.was_stopping,
        by=wish.by,
    )


def forced(reading: PowerReading | None, node: Node, wish: NodeNote, at: datetime) -> Proof:
    """That there is no proof, and what a provider said, if one was asked."""
    read_at = reading.read_at if reading is not None else at
    return Proof(
        tainted_at=at,
        provider_id=node.spec.provider_id,
        last_sign=read_at,
        power=reading.power if reading is not None else Power.UNKNOWN,
        first_reading=read_at,
        last_reading=read_at,
        readings=0 if reading is None else 1,
        boot_id=node.status.node_info.boot_id,
        by=wish.by,
        is_forced=True,
    )
