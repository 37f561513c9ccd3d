"""Creating, replacing and patching objects: who may change what, and what is made of it before it is stored."""

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from growth.kube.transport import Request
from growth_lab.simulator.api import event_rules, object_rules, pod_rules, server_side_apply
from growth_lab.simulator.api.error_responses import (
    Cause,
    Refusal,
    already_exists,
    bad_request,
    conflict,
    forbidden,
    internal,
    invalid,
    modified,
    not_found,
    required,
    wrong,
)
from growth_lab.simulator.api.json_patch import patched
from growth_lab.simulator.api.namespaces import check_may_enter
from growth_lab.simulator.api.paths import Address
from growth_lab.simulator.api.pod_defaults import PodDefaults
from growth_lab.simulator.api.policies import admitted, errors_of_policy
from growth_lab.simulator.api.pruning_nulls import without_empty_parts, without_nulls
from growth_lab.simulator.api.schema import SCHEMAS, errors_in, fitted
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.served_kinds import EVENTS, LEASES, NODES, OURS, PODS, POLICIES, Resource
from growth_lab.simulator.store import Exists, Store

MERGE: Final = "application/merge-patch+json"
JSON: Final = "application/json-patch+json"
APPLY: Final = "application/apply-patch+yaml"

# Fields of metadata that only the server sets.
_OF_THE_SERVER: Final = ("uid", "resourceVersion", "creationTimestamp", "generation", "deletionTimestamp")
_KEPT: Final = (*_OF_THE_SERVER, "deletionGracePeriodSeconds", "managedFields", "generateName")
# Kinds that are replaced only by those who say which version they saw.
_CONDITIONAL: Final = (*OURS, LEASES)


class Writing:
    """The ways in which an object comes to be or changes."""

    def __init__(self, clock: Clock, store: Store, pods: PodDefaults) -> None:
        self._clock, self._store, self._pods = clock, store, pods

    def existing(self, at: Address) -> Json:
        """The object that a path names. Raises Refusal."""
        found = self._store.get(at.resource, at.name, at.namespace)
        if found is None:
            raise not_found(at.resource, at.name)
        return found

    # Create

    def create(self, at: Address, request: Request) -> Json:
        """Make what the body says."""
        body = _decoded(at.resource, request.body)
        if body["metadata"].get("resourceVersion"):
            raise internal("resourceVersion should not be set on objects to be created")
        return self._create(at, body)

    def _create(self, at: Address, body: Json) -> Json:
        resource, meta = at.resource, body["metadata"]
        if resource.is_namespaced:
            if meta.get("namespace", at.namespace) != at.namespace:
                raise _other_namespace()
            meta = {**meta, "namespace": at.namespace}
        name: str = meta.get("name", "")
        if not name and not meta.get("generateName"):
            raise self._invalid(resource, "", object_rules.errors_of_meta(meta))
        if resource.is_namespaced:
            check_may_enter(self._store, resource, at.namespace, name)
        meta = {key: value for key, value in meta.items() if key not in _OF_THE_SERVER}
        thing = {**body, "apiVersion": resource.api_version, "kind": resource.kind, "metadata": meta}
        thing = without_empty_parts(thing)
        if resource.has_status and resource is not NODES:  # a kubelet registers with its status
            thing.pop("status", None)
        thing = admitted(self._store, resource, thing)
        if resource is PODS:
            self._check_priority(thing)
        if default := self._store.defaulting.get(resource):
            thing = default(thing)
        if causes := self._errors(resource, thing, None):
            raise self._invalid(resource, name, causes)
        try:
            return self._store.create(resource, thing)
        except Exists:
            raise already_exists(resource, name) from None

    def _check_priority(self, pod: Json) -> None:
        spec, name = part(pod, "spec"), pod["metadata"].get("name", "")
        found = self._pods.priority_class(spec)
        if spec.get("priorityClassName") and found is None:
            raise forbidden(PODS, name, f"no PriorityClass with name {spec['priorityClassName']} was found")
        computed = found["value"] if found else 0
        if spec.get("priority", computed) != computed:
            raise forbidden(
                PODS,
                name,
                f"the integer value of priority ({spec['priority']}) must not be provided in pod spec; "
                f"priority admission controller computed {computed} from the given PriorityClass name",
            )

    # Replace and patch

    def replace(self, at: Address, request: Request) -> Json:
        """Put the body in the object's place."""
        body = _decoded(at.resource, request.body)
        before = self.existing(at)
        known, meta = before["metadata"], body["metadata"]
        if meta.get("uid", known["uid"]) != known["uid"]:
            key = f"/registry/{at.resource.plural}/{at.namespace}/{at.name}"
            why = (
                f"StorageError: invalid object, Code: 4, Key: {key}, ResourceVersion: 0, AdditionalErrorMsg: "
                f"Precondition failed: UID in precondition: {meta['uid']}, UID in object meta: {known['uid']}"
            )
            raise conflict(at.resource, at.name, why)
        if not meta.get("resourceVersion"):
            if at.resource in _CONDITIONAL:
                causes = [wrong("metadata.resourceVersion", 0, "must be specified for an update")]
                raise invalid(at.resource.group, at.resource.plural, at.name, causes)
            body = {**body, "metadata": {**meta, "resourceVersion": known["resourceVersion"]}}
        return self._update(at, before, body)

    def patch(self, at: Address, request: Request) -> tuple[Json, bool]:
        """Change what the patch names; gives the object and whether it is new."""
        match request.content_type:
            case "application/merge-patch+json":
                before = self.existing(at)
                return self._update(at, before, merged(before, _json(request.body, dict))), False
            case "application/json-patch+json":
                before = self.existing(at)
                return self._update(at, before, patched(before, _json(request.body, list))), False
            case "application/apply-patch+yaml":
                return self._apply(at, request)
            case other:
                known = f"{JSON}, {MERGE}, {APPLY}"
                message = f"the body of the request was in an unknown format - accepted media types include: {known}"
                raise Refusal(415, "UnsupportedMediaType", f"{message} ({other})", {})

    def _apply(self, at: Address, request: Request) -> tuple[Json, bool]:
        query = dict(request.query)
        manager = query.get("fieldManager", "")
        if not manager:
            causes = [required("fieldManager", "is required for apply patch")]
            raise invalid("meta.k8s.io", "PatchOptions", "", causes)
        wish = _decoded(at.resource, request.body)
        name = wish["metadata"].get("name")
        if not name:
            raise bad_request(
                f"the name of the object ({at.name} based on URL) was undeterminable: name must be provided"
            )
        if name != at.name:
            raise _other_name(name, at.name)
        before = self._store.get(at.resource, at.name, at.namespace)
        version = wish["metadata"].get("resourceVersion")
        if before and version and version != before["metadata"]["resourceVersion"]:
            raise modified(at.resource, at.name)
        is_forced = query.get("force") == "true"
        after = server_side_apply.applied(before, wish, manager, self._clock.stamp(), is_forced=is_forced)
        if before is None:
            if uid := wish["metadata"].get("uid"):
                why = f"uid mismatch: the provided object specified uid {uid}, and no existing object was found"
                raise conflict(at.resource, at.name, why)
            return self._create(at, after), True
        return self._update(at, before, after, is_apply=True), False

    def _update(self, at: Address, before: Json, after: Json, *, is_apply: bool = False) -> Json:
        if after is before:
            return before
        if not isinstance(after.get("metadata"), dict):
            raise bad_request("metadata must be an object")
        resource = at.resource
        meta: Json = after["metadata"]
        known: Json = before["metadata"]
        if meta.get("name", at.name) != at.name:
            raise _other_name(meta["name"], at.name)
        if meta.get("namespace", at.namespace) != at.namespace:
            raise _other_namespace()
        if meta.get("resourceVersion", known["resourceVersion"]) != known["resourceVersion"]:
            raise modified(resource, at.name)
        kept = {key: known[key] for key in _KEPT if key in known and (key not in meta or key in _NEVER_CHANGED)}
        kept |= {key: known[key] for key in ("name", "namespace") if key in known}
        changed = {**after, "apiVersion": before["apiVersion"], "kind": before["kind"], "metadata": {**meta, **kept}}
        changed = without_empty_parts(changed)
        changed = self._within(at, before, changed)
        if causes := self._errors(resource, changed, before, is_status=at.subresource == "status"):
            raise self._invalid(resource, at.name, causes)
        if not is_apply:
            changed = server_side_apply.after_change(before, changed)
        return self._store.replace(resource, changed)

    def _within(self, at: Address, before: Json, changed: Json) -> Json:
        """Only what this path is for: a status changes nothing else, and nothing else changes a status."""
        resource = at.resource
        if at.subresource == "status":
            own = before if resource in OURS else {**changed, **_only(before, "spec")}
            changed = {**own, **_only(changed, "status")}
        elif resource.has_status:
            changed = {**{key: value for key, value in changed.items() if key != "status"}, **_only(before, "status")}
        if resource in SCHEMAS:
            return fitted(SCHEMAS[resource], changed)
        if resource is PODS and changed["spec"] is not before["spec"]:
            return {**changed, "spec": self._pods(changed)["spec"]}
        return changed

    def _errors(self, resource: Resource, thing: Json, before: Json | None, *, is_status: bool = False) -> list[Cause]:
        found = object_rules.errors_of_meta(thing["metadata"])
        found += object_rules.errors_of_plain(resource, thing)
        if resource is POLICIES:
            found += errors_of_policy(thing)
        if resource is EVENTS:
            found += event_rules.errors_of_event(thing)
            found += [] if before is None else event_rules.errors_of_event_change(before, thing)
        if before is not None:
            found += object_rules.errors_of_meta_change(before["metadata"], thing["metadata"])
            found += object_rules.errors_of_plain_change(resource, before, thing)
        if resource in SCHEMAS:
            found += errors_in(SCHEMAS[resource], thing, before, is_status=is_status)
        elif resource is PODS and before is None:
            found += pod_rules.errors_of_new(thing)
        elif resource is PODS and before is not None:
            found += pod_rules.errors_of_change(before, thing) + pod_rules.errors_of_status(before, thing)
        return found

    def _invalid(self, resource: Resource, name: str, causes: list[Cause]) -> Refusal:
        # The real server registers this kind in two groups, and names none of them here.
        return invalid("" if resource is EVENTS else resource.group, resource.kind, name, causes)


_NEVER_CHANGED: Final = ("creationTimestamp", "generation", "resourceVersion")


def _only(thing: Json, key: str) -> Json:
    return {key: thing[key]} if key in thing else {}


def _other_name(given: str, wanted: str) -> Refusal:
    return bad_request(f"the name of the object ({given}) does not match the name on the URL ({wanted})")


def _other_namespace() -> Refusal:
    return bad_request("the namespace of the provided object does not match the namespace sent on the request")


def _json(body: bytes, expected: type[Any]) -> Any:  # noqa: ANN401 - any JSON
    try:
        value = msgspec.json.decode(body)
    except msgspec.DecodeError as error:
        raise bad_request(f"error decoding patch: {error}") from None
    if not isinstance(value, expected):
        raise bad_request(f"json: cannot unmarshal into Go value of type {expected.__name__}")
    return value


def _decoded(resource: Resource, body: bytes) -> Json:
    """A whole object, of the kind that the path is about."""
    thing: Json = _json(body, dict)
    for field, expected in (("apiVersion", resource.api_version), ("kind", resource.kind)):
        if thing.get(field, expected) != expected:
            raise bad_request(f"the {field} in the data ({thing[field]}) does not match the expected one ({expected})")
    if not isinstance(thing.get("metadata", {}), Mapping):
        raise bad_request(f"{resource.kind} cannot be handled as a {resource.kind}: metadata must be an object")
    return without_nulls({**thing, "metadata": thing.get("metadata") or {}})
