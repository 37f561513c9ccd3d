"""What failover carries over to the next pass."""

from collections.abc import Mapping
from datetime import datetime

import msgspec

from growth.api.growth_status import Timeline
from growth.decide.failover.evidence import NodeCase


class PodRecovery(msgspec.Struct, frozen=True):
    """A pod that was ended here, and should run again elsewhere under the same name."""

    uid: str
    """Of the one that was ended."""
    node: str
    last_sign: datetime
    ended_at: datetime


class FailoverCarry(msgspec.Struct, frozen=True):
    """What is lost with the process: unfinished evidence begins again. A proof is written on the node, and is not."""

    cases: Mapping[str, NodeCase] = {}
    """By uid of the node."""
    well_since: Mapping[str, datetime] = {}
    """By uid, since when nodes that are out of service are seen to be well again."""
    seen_out: Mapping[str, datetime] = {}
    """By uid, since when nodes that a person took out of service are known to be."""
    fencing: Mapping[str, datetime] = {}
    """By uid, since when machines are being powered off whose nodes are not out of service yet."""
    listed_at: Mapping[str, datetime] = {}
    """By provider, when it was last asked for all machines at once."""
    timelines: Mapping[str, Timeline] = {}
    """By the node's name: what happened to it, for people."""
    written_at: datetime | None = None
    """When those were last written down."""
    noted: Mapping[str, frozenset[str]] = {}
    """By the node's name, what was so in the last pass: it is noted once, when it begins."""
    recoveries: Mapping[tuple[str, str], PodRecovery] = {}
    """By namespace and name of the pod."""
    recovered: tuple[float, ...] = ()
    """Seconds from the last sign of life to running elsewhere, of pods that came to run since the last pass."""
    findings: Mapping[str, int] = {}
    """How many nodes are how; for the metric."""
    stuck: int = 0
    """How many volumes hang on dead nodes for longer than they should."""
