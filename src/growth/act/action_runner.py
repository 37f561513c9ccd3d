"""Whether an object that is there already is the one that was wanted.

One action, carried out: the one way from a decision to the doors.

| what the server or the provider says | what that means |
|---|---|
| AlreadyExists, and it is what was wanted | done |
| AlreadyExists, and it is something else | refused: somebody took the name |
| NotFound, on delete or evict | done |
| NotFound, on patch | stale: it went |
| a failed test of a JSON patch | stale: decide anew |
| Conflict, or another uid under the name | stale: decide anew |
| another version of something else that it was decided on | stale: decide anew, nothing is sent |
| work, or no answer, on the node of a machine that should go | stale: decide anew, the provider is not asked |
| a node that is ready again, and was to go because it was not | stale: decide anew, the provider is not asked |
| TooManyRequests, on evict | refused: the disruption budget's answer |
| Invalid, Forbidden and other clear words, and a provider's OutOfStock and the like | refused |
| no answer, 5xx, a provider's Unavailable | failed: it may have happened |
"""

from collections.abc import Callable, Coroutine, Mapping, Sequence
from datetime import datetime
from typing import Any, Final, TypeVar, cast

import msgspec

from growth.act.effect_hooks import EffectHooks, EffectPoint
from growth.api.actions import (
    Action,
    CreateMachine,
    CreateObject,
    DeleteMachine,
    DeleteObject,
    EditObject,
    EvictPod,
    FenceMachine,
    OnMachine,
    Outcome,
    PatchObject,
    Precondition,
    ReadPower,
    ReadPowers,
    RecordEvent,
    ReleasePod,
    Result,
)
from growth.api.core import ObjectReference
from growth.api.growth_kinds import GROUP
from growth.api.kinds import NODES, PODS, Kind
from growth.api.machine import Machine, PowerReading
from growth.api.pod_classification import is_work
from growth.api.references import kind_of, shown
from growth.api.timestamp import format_time
from growth.cloud.errors import ProviderError, RateLimited, Unavailable
from growth.cloud.provider import Provider
from growth.kube.client import Client
from growth.kube.errors import (
    AlreadyExists,
    ApiError,
    Conflict,
    Fenced,
    Invalid,
    KubeError,
    NotFound,
    ServerTrouble,
    Unreachable,
)
from growth.kube.event_recorder import EventRecorder, EventType
from growth.kube.patches import JsonPatch, MergePatch
from growth.kube.transport import Method, Request


def contains(there: object, wanted: object) -> bool:
    """Whether everything that was wanted is there; what the server added to it (defaults, status) does not matter.

    Lists are compared item by item in their order, because the server adds to items but not between them.
    """
    if isinstance(wanted, Mapping):
        whole, part = cast("Any", there), cast("Mapping[str, Any]", wanted)
        return isinstance(there, Mapping) and all(contains(whole.get(key), value) for key, value in part.items())
    if isinstance(wanted, (list, tuple)):
        items, parts = cast("Any", there), cast("list[Any]", wanted)
        return isinstance(there, (list, tuple)) and len(items) == len(parts) and all(map(contains, items, parts))
    return there == wanted


T = TypeVar("T")

_OnObject = CreateObject | PatchObject | EditObject | DeleteObject | EvictPod | ReleasePod | RecordEvent
# How the API server (1.36) begins its answer to a JSON patch whose test fails or whose path is not there.
_CANNOT_APPLY: Final = "the server rejected our request due to an error in our request"


class Clients(msgspec.Struct, frozen=True):
    """Whom actions reach. ``client`` is behind the leader's fence where only the leader may act."""

    client: Client
    recorder: EventRecorder
    now: Callable[[], datetime]
    providers: Mapping[str, Provider] = {}
    points: EffectHooks = EffectHooks()


async def carry_out(action: Action, clients: Clients) -> Outcome:
    """Do it; whatever the other side says becomes an outcome. An action that makes no sense raises."""
    try:
        if isinstance(action, OnMachine):
            machine, readings = await _asked(action, clients)
            return Outcome(action=action, result=Result.DONE, at=clients.now(), machine=machine, readings=readings)
        await _done(action, clients)
    except (KubeError, ProviderError) as error:
        return _outcome_of(action, error, clients.now())
    return Outcome(action=action, result=Result.DONE, at=clients.now())


async def _done(action: _OnObject, clients: Clients) -> None:
    match action:
        case CreateObject():
            await _create(action, clients)
        case PatchObject():
            await _patch(action, clients)
        case EditObject():
            await _edit(action, clients)
        case DeleteObject():
            await _delete(action, clients)
        case EvictPod():
            await _evict(action, clients)
        case ReleasePod():
            await _release(action, clients)
        case RecordEvent():
            await _record(action, clients)


async def _asked(action: OnMachine, clients: Clients) -> tuple[Machine | None, tuple[PowerReading, ...]]:
    """What a provider says: the machine that was bought, or how machines are."""
    match action:
        case CreateMachine():
            launching = _provider(action, clients).create(action.request)
            return await _through(EffectPoint.CREATE_MACHINE, action.subject, clients, launching), ()
        case DeleteMachine():
            if action.empty_node:
                await _check_that_nobody_works_on(action, clients)
            if action.unready_node:
                await _check_that_it_is_unready(action.unready_node, "given back", clients)
            giving_back = _provider(action, clients).delete(action.machine_id)
            await _through(EffectPoint.DELETE_MACHINE, action.subject, clients, giving_back)
            return None, ()
        case FenceMachine():
            await _check_that_it_is_unready(action.subject.name, "powered off", clients)
            fencing = _provider(action, clients).fence(action.machine_id)
            return None, (await _through(EffectPoint.FENCE_MACHINE, action.subject, clients, fencing),)
        case ReadPower():
            return None, (await _provider(action, clients).power(action.machine_id),)
        case ReadPowers():
            machines = await _provider(action, clients).list()
            return None, tuple(machine.reading for machine in machines)


async def _create(action: CreateObject, clients: Clients) -> None:
    subject, kind = action.subject, kind_of(action.subject)
    place = {"namespace": subject.namespace} if subject.namespace else {}
    body = {**action.body, "metadata": {**action.body.get("metadata", {}), "name": subject.name, **place}}
    try:
        await _through(
            EffectPoint.CREATE_OBJECT, subject, clients, clients.client.create(kind, body, subject.namespace)
        )
    except AlreadyExists as error:
        if action.if_absent:
            return
        path = kind.path(subject.name, subject.namespace)
        there = msgspec.json.decode((await clients.client.request(Request(Method.GET, path))).body)
        if not contains(there, body):
            message = f"{shown(subject)} exists and is not what was wanted: somebody else uses the name"
            raise AlreadyExists(message, status=error.status, reason=error.reason) from error


async def _patch(action: PatchObject, clients: Clients) -> None:
    subject, kind = action.subject, kind_of(action.subject)
    if kind.group == GROUP and action.subresource and action.resource_version is None:
        # Kubernetes 1.36 does not look at the uid in a patch of a custom object's status; the version says it, too.
        raise ValueError(f"{shown(subject)}/{action.subresource} is not patched: it was decided without its version")
    preconditions = {
        **({"uid": subject.uid} if subject.uid else {}),
        **({"resourceVersion": str(action.resource_version)} if action.resource_version is not None else {}),
    }
    for given in action.given:
        await _check(given, clients)
    body: dict[str, Any] = dict(action.body)
    if preconditions:
        body["metadata"] = {**body.get("metadata", {}), **preconditions}
    sending = clients.client.patch(
        kind, subject.name, MergePatch(body), subject.namespace, subresource=action.subresource
    )
    try:
        await _through(EffectPoint.PATCH_OBJECT, subject, clients, sending)
    except Invalid as error:
        # Kubernetes 1.36 takes a uid in a patch not for a precondition, but for a forbidden change of it. Either way
        # another object has the name now.
        if not subject.uid or "metadata.uid" not in str(error):
            raise
        raise Conflict(str(error), status=error.status, reason=error.reason) from error


async def _edit(action: EditObject, clients: Clients, *, subresource: str = "") -> None:
    subject = action.subject
    is_this_one = {"op": "test", "path": "/metadata/uid", "value": subject.uid}
    operations = [*([is_this_one] if subject.uid else []), *action.operations]
    sending = clients.client.patch(
        kind_of(subject), subject.name, JsonPatch(operations), subject.namespace, subresource=subresource
    )
    try:
        await _through(EffectPoint.EDIT_OBJECT, subject, clients, sending)
    except Invalid as error:
        # An operation that cannot be carried out as things are is answered like a request that makes no sense.
        if _CANNOT_APPLY not in str(error):
            raise
        raise Conflict(str(error), status=error.status, reason=error.reason) from error


async def _delete(action: DeleteObject, clients: Clients) -> None:
    subject = action.subject
    if not subject.uid:
        raise ValueError(f"{shown(subject)} is not deleted: it was decided without its uid, so it could be another one")
    sending = clients.client.delete(
        kind_of(subject),
        subject.name,
        subject.namespace,
        uid=subject.uid,
        resource_version=action.resource_version,
        grace_seconds=action.grace_seconds,
    )
    try:
        await _through(EffectPoint.DELETE_OBJECT, subject, clients, sending)
    except NotFound:
        return


async def _evict(action: EvictPod, clients: Clients) -> None:
    subject = action.subject
    sending = clients.client.evict(subject.name, subject.namespace, uid=subject.uid, grace_seconds=action.grace_seconds)
    try:
        await _through(EffectPoint.EVICT_POD, subject, clients, sending)
    except NotFound:
        return


async def _release(action: ReleasePod, clients: Clients) -> None:
    """Two effects in one lane: once it has failed, a pod is not among those that deciders look at.

    Jobs may forgive a pod that was disrupted (``podFailurePolicy``), so that is said as Kubernetes' own controllers do.
    """
    subject, words = action.subject, {"reason": "NodeOutOfService", "message": action.why}
    disrupted = {
        "type": "DisruptionTarget",
        "status": "True",
        **words,
        "lastTransitionTime": format_time(clients.now()),
    }
    stated = {"phase": "Failed", **words}
    operations = [{"op": "add", "path": f"/status/{name}", "value": value} for name, value in stated.items()]
    noted = {"op": "add", "path": "/status/conditions/-", "value": disrupted}
    failing = EditObject(subject=subject, why=action.why, operations=(*operations, noted))
    try:
        try:
            await _edit(failing, clients, subresource="status")
        except Conflict:
            # It has no conditions yet, or it is another pod, which the next one finds out.
            body = {"status": {**stated, "conditions": [disrupted]}}
            await _patch(PatchObject(subject=subject, why=action.why, body=body, subresource="status"), clients)
    except NotFound:
        return
    await _delete(DeleteObject(subject=subject, why=action.why, grace_seconds=0), clients)


async def _record(action: RecordEvent, clients: Clients) -> None:
    async def note() -> None:
        clients.recorder.record(action.subject, EventType(action.type), action.reason, action.action, action.why)

    await _through(EffectPoint.RECORD_EVENT, action.subject, clients, note())


async def _check(given: Precondition, clients: Clients) -> None:
    """Streams of two kinds may lag by different times; the server itself never does."""
    kind, there = kind_of(given.subject), None
    try:
        found = await clients.client.get(kind, given.subject.name, given.subject.namespace)
        there = found.metadata.resource_version
    except NotFound:
        pass
    if there != given.resource_version:
        words = f"{shown(given.subject)} has changed since this was decided"
        raise Conflict(words, status=409, reason="Conflict")


async def _check_that_nobody_works_on(action: DeleteMachine, clients: Clients) -> None:
    """What is decided on may be older than a pod that moved in; the server knows better than any picture of it."""
    node = action.empty_node
    pods = await _seen_live(PODS, f"spec.nodeName={node}", f"whether a pod works on node {node}", clients)
    counted = [pod for pod in pods if pod.status.phase == "Running" or not action.ignores_unstarted]
    working = [pod.metadata for pod in counted if is_work(pod)]
    if working:
        raise _left_alone(f"pod {working[0].namespace}/{working[0].name} works on node {node}")


async def _check_that_it_is_unready(name: str, what: str, clients: Clients) -> None:
    """A node may come back in the last second."""
    nodes = await _seen_live(NODES, f"metadata.name={name}", f"whether node {name} is ready", clients, what)
    if any(node.is_ready for node in nodes):
        raise _left_alone(f"node {name} is ready again", what)


async def _seen_live(
    kind: Kind[T], selector: str, question: str, clients: Clients, what: str = "given back"
) -> Sequence[T]:
    """These objects as the server has them now."""
    try:
        return (await clients.client.list(kind, field_selector=selector)).items
    except Fenced:
        raise
    except KubeError as error:
        raise _left_alone(f"nobody says {question} ({error})", what) from error


def _left_alone(why: str, what: str = "given back") -> Conflict:
    """The provider was not asked, so this was no attempt that failed."""
    return Conflict(f"{why}: its machine is not {what}", status=409, reason="Conflict")


def _provider(action: OnMachine, clients: Clients) -> Provider:
    """The provider; not after the fence, which the client minds for itself and a provider knows nothing about."""
    if clients.client.is_fenced_off:
        raise Fenced(f"{action.provider} was not asked: the leader's lease ran out")
    provider = clients.providers.get(action.provider)
    if provider is None:
        known = ", ".join(sorted(clients.providers)) or "none"
        raise Unavailable(f"the provider {action.provider!r} is not open; open are: {known}", may_have_acted=False)
    return provider


async def _through(point: EffectPoint, subject: ObjectReference, clients: Clients, effect: Coroutine[Any, Any, T]) -> T:
    """The one way out."""
    try:
        clients.points.before(point, subject)
    except BaseException:
        effect.close()  # it was never begun
        raise
    try:
        return await effect
    finally:
        clients.points.after(point, subject)


def _outcome_of(action: Action, error: KubeError | ProviderError, at: datetime) -> Outcome:
    is_change = isinstance(action, PatchObject | EditObject)
    is_stale = isinstance(error, Conflict) or (isinstance(error, NotFound) and is_change)
    match error:
        case Fenced():
            result = Result.FENCED
        case _ if is_stale:
            result = Result.STALE
        case ServerTrouble() | Unreachable() | Unavailable():
            result = Result.FAILED
        case _:
            result = Result.REFUSED
    return Outcome(
        action=action,
        result=result,
        at=at,
        error=type(error).__name__,
        message=str(error),
        retry_after_seconds=error.retry_after if isinstance(error, ApiError | RateLimited) else None,
    )
