"""Which permissions the actions of a decision take, and whether its capability is known to need them."""

from collections.abc import Iterable, Iterator
from typing import Any

import msgspec

from growth.api.actions import (
    Action,
    CreateObject,
    DeleteObject,
    EditObject,
    EvictPod,
    Hold,
    PatchObject,
    RecordEvent,
    ReleasePod,
)
from growth.api.core import ObjectReference
from growth.api.references import kind_of
from growth.decide.contract import AnyCapability, Decision, Inputs
from growth.kube.verbs import Permission
from growth.run.permissions import needs_of


def checked(capability: AnyCapability, surprises: set[str]) -> AnyCapability:
    """The same capability; what it wants to do without being known to need it is noted among the surprises."""

    def decide(inputs: Inputs[Any, Any, Any]) -> Decision[Any]:
        decision = capability.decide(inputs)
        known = {one.permission for one in needs_of(capability, inputs.settings)}
        surprises.update(f"{capability.name}: {one}" for one in written(decision.said) if one not in known)
        return decision

    return msgspec.structs.replace(capability, decide=decide)


def written(said: Iterable[Action | Hold]) -> Iterator[Permission]:
    """What carrying these actions out takes."""
    for one in said:
        match one:
            case CreateObject():
                yield _of(one.subject, "create")
                if not one.if_absent:
                    yield _of(one.subject, "get")
            case PatchObject():
                yield _of(one.subject, "patch", one.subresource)
                for given in one.given:
                    yield _of(given.subject, "get")
            case EditObject():
                yield _of(one.subject, "patch")
            case DeleteObject():
                yield _of(one.subject, "delete")
            case EvictPod():
                yield _of(one.subject, "create", "eviction")
            case ReleasePod():
                yield _of(one.subject, "patch", "status")
                yield _of(one.subject, "delete")
            case RecordEvent():
                yield Permission("events.k8s.io", "events", "create")
            case _:
                pass  # a hold is not carried out, and machines are the provider's


def _of(subject: ObjectReference, verb: str, subresource: str = "") -> Permission:
    kind = kind_of(subject)
    return Permission(kind.group, f"{kind.plural}/{subresource}" if subresource else kind.plural, verb)
