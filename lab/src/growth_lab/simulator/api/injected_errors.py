"""What a server in trouble answers instead of doing what it was asked."""

from collections.abc import Mapping
from typing import Final

from growth.kube.transport import Response
from growth_lab.simulator.api.error_responses import Refusal, refused
from growth_lab.simulator.faults import Fault, Happened

_REFUSALS: Final[Mapping[Fault, Refusal]] = {
    Fault.TOO_MANY: Refusal(
        429, "TooManyRequests", "the server has received too many requests and has asked us to try again later"
    ),
    Fault.CONFLICT: Refusal(
        409,
        "Conflict",
        "Operation cannot be fulfilled: the object has been modified; please apply your changes to the latest version "
        "and try again",
    ),
    Fault.GONE: Refusal(410, "Expired", "The resourceVersion for the provided list is too old."),
    Fault.INTERNAL: Refusal(500, "InternalError", "Internal error occurred: etcdserver: leader changed"),
    Fault.INTERNAL_AFTER: Refusal(500, "InternalError", "Internal error occurred: etcdserver: request timed out"),
    Fault.UNAVAILABLE: Refusal(503, "ServiceUnavailable", "apiserver is shutting down"),
    Fault.GATEWAY: Refusal(504, "Timeout", "Timeout: request did not complete within requested timeout"),
}


def answer_instead(fault: Happened, *, is_done: bool = False) -> Response | None:
    """The answer, if this fault is one that the server gives before (or after) the work."""
    refusal = _REFUSALS.get(fault.fault)
    if refusal is None or is_done is not (fault.fault is Fault.INTERNAL_AFTER):
        return None
    if fault.fault is Fault.TOO_MANY:
        refusal = Refusal(refusal.code, refusal.reason, refusal.message, retry_after=int(fault.seconds))
    return refused(refusal)
