"""Admissions that were decided and are not seen yet: quota that is taken although no object says so."""

from collections.abc import Mapping

import msgspec

from growth.api.queue.workload import Admission
from growth.decide.queue.context import Key


class NewAdmission(msgspec.Struct, frozen=True):
    """An admission that was decided on a version of a workload."""

    version: int
    admission: Admission
    shut: str = ""
    """The flavor of which no machines could be had, so that it was given for the nodes that stand."""


class AssumedAdmission(msgspec.Struct, frozen=True):
    """What was decided and is not seen yet."""

    given: Mapping[Key, NewAdmission] = {}
    sent_back: Mapping[Key, int] = {}
    """Who is sent back for somebody else, with the version on which that was decided."""
