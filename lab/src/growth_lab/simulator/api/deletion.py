"""Deleting objects, for those who meant these very objects, and binding and evicting pods."""

from typing import Any, Final, cast

import msgspec

from growth.kube.transport import Request
from growth_lab.simulator.api.error_responses import (
    Refusal,
    bad_request,
    invalid,
    not_found,
    precondition_failed,
    success,
    unsupported,
)
from growth_lab.simulator.api.eviction import evict
from growth_lab.simulator.api.namespaces import NamespaceEnd
from growth_lab.simulator.api.paths import Address
from growth_lab.simulator.clock import Clock
from growth_lab.simulator.json_parts import part, parts
from growth_lab.simulator.merge_patch import Json, merged
from growth_lab.simulator.pod_deletion import delete_pod
from growth_lab.simulator.served_kinds import (
    ATTACHMENTS,
    CLAIMS,
    CSI_DRIVERS,
    CSI_NODES,
    JOBS,
    NAMESPACES,
    PODS,
    STORAGE_CLASSES,
    VOLUMES,
    Resource,
)
from growth_lab.simulator.store import Store

# Kinds whose deletion answers with the object instead of a word of success.
_SHOWN: Final = (PODS, CLAIMS, VOLUMES, STORAGE_CLASSES, CSI_NODES, CSI_DRIVERS, ATTACHMENTS)
_FINALIZERS: Final = {"Foreground": "foregroundDeletion", "Orphan": "orphan"}
_POLICIES: Final = ("Foreground", "Background", "Orphan")
_DONE: Final[Json] = {"kind": "Status", "apiVersion": "v1", "metadata": {}, "status": "Success", "code": 201}


class Deleting:
    """The ways in which an object goes."""

    def __init__(self, clock: Clock, store: Store, namespaces: NamespaceEnd) -> None:
        self._clock, self._store, self._namespaces = clock, store, namespaces

    def delete(self, at: Address, request: Request) -> Json:
        """Delete one object; gives what the answer shows."""
        options = options_of(request)
        thing = self._store.get(at.resource, at.name, at.namespace)
        if thing is None:
            raise not_found(at.resource, at.name)
        _check_preconditions(at.resource, thing, options)
        left = self.remove(at.resource, thing, options)
        is_gone = self._store.get(at.resource, at.name, at.namespace) is None
        return (
            success(at.resource, at.name, thing["metadata"]["uid"]) if is_gone and at.resource not in _SHOWN else left
        )

    def remove(self, resource: Resource, thing: Json, options: Json) -> Json:
        """Delete an object, or mark it where somebody still has to do something first; gives its last state."""
        meta = thing["metadata"]
        finalizers: list[str] = list(meta.get("finalizers") or ())
        policy: str = options.get("propagationPolicy") or ("Orphan" if resource is JOBS else "Background")
        if (added := _FINALIZERS.get(policy)) and added not in finalizers:
            finalizers.append(added)
        if resource is NAMESPACES:
            if "deletionTimestamp" not in meta:
                self._namespaces.begin(meta["name"])
            return self._store.get(NAMESPACES, meta["name"]) or thing
        if resource is PODS:
            if finalizers:
                thing = self._store.replace(PODS, merged(thing, {"metadata": {"finalizers": finalizers}}))
            return delete_pod(self._store, thing, options.get("gracePeriodSeconds"))
        if not finalizers:
            return self._store.delete(resource, meta["name"], meta.get("namespace", ""))
        if "deletionTimestamp" in meta:
            return thing
        marks = {
            "finalizers": finalizers,
            "deletionTimestamp": self._clock.stamp(),
            "deletionGracePeriodSeconds": 0,
            "generation": meta["generation"] + 1,
        }
        return self._store.replace(resource, merged(thing, {"metadata": marks}))

    def evict(self, at: Address, request: Request) -> Json:
        """Let a pod go, if its budget allows that."""
        pod = self._store.get(PODS, at.name, at.namespace)
        if pod is None:
            raise not_found(PODS, at.name)
        options = part(_body(request), "deleteOptions")
        _check_preconditions(PODS, pod, options)
        evict(self._clock, self._store, pod, options.get("gracePeriodSeconds"))
        return _DONE

    def bind(self, at: Address, request: Request) -> Json:
        """Put a pod on a node, once and for all."""
        pod = self._store.get(PODS, at.name, at.namespace)
        if pod is None:
            raise not_found(PODS, at.name)
        why = ""
        if "deletionTimestamp" in pod["metadata"]:
            why = f"pod {at.name} is being deleted, cannot be assigned to a host"
        elif pod["spec"].get("nodeName"):
            why = f'pod {at.name} is already assigned to node "{pod["spec"]["nodeName"]}"'
        elif pod["spec"].get("schedulingGates"):
            why = f"pod {at.name} has non-empty .spec.schedulingGates"
        if why:
            message = f'Operation cannot be fulfilled on pods/binding "{at.name}": {why}'
            raise Refusal(409, "Conflict", message, {"name": at.name, "kind": "pods/binding"})
        placed = {"type": "PodScheduled", "status": "True", "lastProbeTime": None}
        placed["lastTransitionTime"] = self._clock.stamp()
        conditions = [one for one in parts(pod, "status", "conditions") if one["type"] != "PodScheduled"]
        node = part(_body(request), "target").get("name")
        status = {"conditions": [*conditions, placed], "nominatedNodeName": None}
        self._store.replace(PODS, merged(pod, {"spec": {"nodeName": node}, "status": status}))
        return _DONE


def _body(request: Request) -> Json:
    try:
        value: Any = msgspec.json.decode(request.body) if request.body else {}
    except msgspec.DecodeError as error:
        raise bad_request(f"couldn't get version/kind; json parse error: {error}") from None
    return cast("Json", value) if isinstance(value, dict) else {}


def options_of(request: Request) -> Json:
    """What a deletion says about itself, in its body or its query."""
    query = dict(request.query)
    options = _body(request)
    if "gracePeriodSeconds" in query:
        options = {"gracePeriodSeconds": int(query["gracePeriodSeconds"]), **options}
    if "propagationPolicy" in query:
        options = {"propagationPolicy": query["propagationPolicy"], **options}
    policy = options.get("propagationPolicy")
    if policy is not None and policy not in _POLICIES:
        cause = unsupported("propagationPolicy", policy, (*_POLICIES, "nil"))
        raise invalid("meta.k8s.io", "DeleteOptions", "", [cause])
    return options


def _check_preconditions(resource: Resource, thing: Json, options: Json) -> None:
    meta, wanted = thing["metadata"], part(options, "preconditions")
    if (uid := wanted.get("uid")) and uid != meta["uid"]:
        why = (
            f"the UID in the precondition ({uid}) does not match the UID in record ({meta['uid']}). "
            "The object might have been deleted and then recreated"
        )
        raise precondition_failed(resource, meta["name"], why)
    if (version := wanted.get("resourceVersion")) and version != meta["resourceVersion"]:
        why = (
            f"the ResourceVersion in the precondition ({version}) does not match the ResourceVersion in record "
            f"({meta['resourceVersion']}). The object might have been modified"
        )
        raise precondition_failed(resource, meta["name"], why)
